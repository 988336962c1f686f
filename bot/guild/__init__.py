"""The face in Discord: a channel per matter, over the same line as every other face.

What a server may be shown is decided once, when the bot is set up (`settings.Mode`), and enforced
at one door (`gate`). This folder is the only one that knows Discord.
"""
