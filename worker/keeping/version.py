"""Which version the state folder is, in a file of its own.

A folder without the file is version 0: the shape before versions were counted. The version changes
when a program of before could misread what a newer one wrote, or the other way round. Databases
have versions of their own besides (`queue.sqlite`, `record.sqlite`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import Conflict, Damaged, Unavailable
from rag.disk import write_durably

CURRENT: Final = 1
"""The version this program writes."""

_FILE: Final = "version.json"


class StateVersion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the version file says."""

    version: int
    under_way: int | None = None
    """The version that a migration was going to when it was cut off; None when none was."""


def read_version(state: Path) -> StateVersion:
    """The version of a state folder; 0 where the file is missing.

    Raises:
        Damaged: The file is there and says nothing that can be understood.
    """
    try:
        return msgspec.json.decode((state / _FILE).read_bytes(), type=StateVersion)
    except FileNotFoundError:
        return StateVersion(version=0)
    except (OSError, msgspec.MsgspecError) as error:
        raise Damaged(
            "the version file of the state folder cannot be read",
            next_step="compare it with a backup; nothing was changed",
        ) from error


def write_version(state: Path, version: StateVersion) -> None:
    """Writes the file; it is on disk when this returns."""
    write_durably(state / _FILE, msgspec.json.encode(version) + b"\n")


def refuse_newer(state: Path) -> StateVersion:
    """The version, when this program may work on the folder.

    Raises:
        Conflict: A newer program wrote it, or a migration was cut off in the middle.
        Damaged: The version file cannot be read.
    """
    found = read_version(state)
    if found.version > CURRENT:
        raise Conflict(
            f"this state folder is of version {found.version}; this program knows versions up to"
            f" {CURRENT} and leaves it alone",
            next_step="install the newer secondchair again, or restore a backup from before it",
        )
    if found.under_way is not None:
        raise Conflict(
            f"a change of this state folder to version {found.under_way} was cut off",
            next_step="secondchair-worker upgrade",
        )
    return found


@contextlib.contextmanager
def worker_stopped(state: Path) -> Iterator[None]:
    """Keeps the worker from starting until the block ends.

    Raises:
        Unavailable: The worker is running on this state folder.
    """
    handle = os.open(state / "queue.sqlite.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unavailable(
                "the worker is running on this state folder",
                next_step="stop it first: systemctl stop secondchair-worker",
            ) from None
        yield
    finally:
        os.close(handle)
