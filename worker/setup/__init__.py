"""Setting up a box: what to propose, the explained settings file, folders, users and units.

`worker/cli/init.py` asks and calls; nothing here talks to a person.
"""
