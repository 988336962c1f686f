"""What a matter's folder needs of the disk: whole files, durable names, one owner."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from protocol.errors import Unavailable


def write_durably(path: Path, content: bytes) -> None:
    """Writes a file so that after a crash it holds all of the content or what it held before."""
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.chmod(0o600)
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Puts a folder's names on disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def take_lock(path: Path) -> int:
    """The matter's lock as an open file descriptor; closing it gives the lock back."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
        os.close(handle)
        raise Unavailable(
            f"the matter is open in process {owner or 'unknown'}",
            next_step="ask through the worker that has it, or stop that process",
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle
