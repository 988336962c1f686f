"""Keeping what a box holds: versions of its state, backups, and matters that move between boxes.

Everything here works on folders and files; the command line files in `worker/cli` call it.
"""
