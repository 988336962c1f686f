"""What an engine's unit says to the worker on its control line: one JSON object a line.

The worker says nothing back. It holds the line for as long as it uses the engine and closes it to
be rid of it; the unit then ends that server and proves a fresh one.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from protocol.errors import NotFound
from worker.boards.model_file import shards_of

CONTROL = "unit.sock"
"""The control line's socket in the folder of an engine's unit."""


class Mark(msgspec.Struct, frozen=True, kw_only=True, tag="mark"):
    """What was loaded, without reading it again: size, and when it was changed last."""

    size_bytes: int
    changed_ns: int


class Serves(msgspec.Struct, frozen=True, kw_only=True, tag="serves"):
    """A fresh server that answered a real completion is the worker's until the line closes."""

    pid: int
    socket: str
    """Where it listens."""
    program: tuple[str, ...]
    flags: tuple[str, ...]
    """As in the unit, without what the unit adds: sockets and folders."""
    environment: dict[str, str]
    """What was added to the server's environment."""
    model: Mark
    binary: Mark


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The server ended by itself, with the reason in one of our sentences."""

    reason: str


class InUse(msgspec.Struct, frozen=True, kw_only=True, tag="in_use"):
    """Another program holds the engine."""


Said = Serves | Ended | InUse


def mark_of(path: Path) -> Mark:
    """The mark now, of a file or of all files of a split model.

    Raises:
        NotFound: One is not there, or cannot be looked at.
    """
    try:
        found = [part.stat() for part in shards_of(path)]
    except OSError as error:
        raise NotFound("a file that the engine needs cannot be read") from error
    return Mark(
        size_bytes=sum(one.st_size for one in found),
        changed_ns=max(one.st_mtime_ns for one in found),
    )
