"""A stand-in for Discord on loopback: REST and gateway in one process, for tests and benches.

It speaks to stock discord.py, keeps every byte it receives, holds every request and every reply of
its own against Discord's published description, and breaks on demand. Nothing here leaves the
machine. `Double` is the whole; `Person` is somebody who types and clicks.
"""

from bench.guild_double.double import Double
from bench.guild_double.person import Answered, Person
from bench.guild_double.world import World

__all__ = ["Answered", "Double", "Person", "World"]
