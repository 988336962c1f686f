"""Copies of what programs are writing: SQLite files, journals, folders, into one tar file.

A tar is written with its SHA-256 at the same time. Extraction takes plain files and folders of the
names we write and nothing else: no links, no absolute paths, no way up.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from protocol.errors import Damaged, Unavailable
from rag.disk import sync_folder

_SQLITE: Final = frozenset({"record.sqlite", "work.sqlite"})
_LEFT_OUT: Final = frozenset({"index", "slots", "incoming", "lock", "read"})
"""Of a matter: what is made anew from the record, half uploads, and marks of running programs."""
_BLOCK_BYTES: Final = 1024 * 1024


class Sealed:
    """A file being written: counts and hashes what goes through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size_bytes += len(data)
        return self._file.write(data)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def new_tar(path: Path) -> Iterator[tuple[tarfile.TarFile, Sealed]]:
    """A tar file for its owner alone, on disk when the block ends; removed when it fails."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            sealed = Sealed(file)
            with tarfile.open(
                fileobj=cast(IO[bytes], sealed), mode="w|", format=tarfile.PAX_FORMAT
            ) as tar:
                yield tar, sealed
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise Unavailable(
            f"the copy could not be written ({error.strerror})", next_step="make room and try again"
        ) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def add_bytes(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Adds a file of this content."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))


def add_file(tar: tarfile.TarFile, name: str, path: Path) -> None:
    """Adds a plain file as it is now, whoever owns it; a link is not followed."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        info = tarfile.TarInfo(name)
        found = os.fstat(file.fileno())
        info.size, info.mode, info.mtime = found.st_size, 0o600, int(found.st_mtime)
        tar.addfile(info, file)


def add_sqlite(tar: tarfile.TarFile, name: str, path: Path, scratch: Path) -> None:
    """Adds a SQLite file as of one moment, while another process may be writing it.

    Raises:
        Damaged: It is no SQLite file.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        copy = Path(folder) / "copy"
        copy_sqlite(path, copy)
        add_file(tar, name, copy)


def copy_sqlite(path: Path, copy: Path) -> None:
    """Copies a database with SQLite's own backup call: one moment, log folded in.

    Raises:
        Damaged: It is no SQLite file.
        Unavailable: It is locked, or the disk is full.
    """
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    source, target = sqlite3.connect(path, timeout=30.0), sqlite3.connect(copy)
    try:
        source.execute("PRAGMA query_only = ON")
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        full = error.sqlite_errorname.startswith(("SQLITE_FULL", "SQLITE_IOERR"))
        raise Unavailable(
            "a database could not be copied: the disk is full or failing"
            if full
            else "a database could not be copied right now",
            next_step="make room and try again" if full else "try again",
        ) from error
    except sqlite3.DatabaseError as error:
        raise Damaged(f"{path.name} is no database any more") from error
    finally:
        target.close()
        source.close()


def add_journal(tar: tarfile.TarFile, name: str, path: Path) -> None:
    """Adds a journal's whole lines, with nobody adding meanwhile."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        fcntl.flock(handle, fcntl.LOCK_SH)
        content = file.read()
    add_bytes(tar, name, content[: content.rfind(b"\n") + 1])


def add_matter(tar: tarfile.TarFile, folder: Path, scratch: Path) -> None:
    """Adds a matter: manifest, originals, record, work, inbox, exports; not what can be made anew.

    Rows first, then the files they name: a file is there before its row is.
    """
    for path in sorted(folder.iterdir(), key=lambda one: (one.name not in _SQLITE, one.name)):
        if path.name in _LEFT_OUT or path.name.startswith(".") or path.is_symlink():
            continue
        if path.name in _SQLITE:
            add_sqlite(tar, path.name, path, scratch)
        elif path.is_dir():
            _add_folder(tar, path.name, path)
        elif not path.name.endswith(("-wal", "-shm", "-journal")):
            add_file(tar, path.name, path)


def _add_folder(tar: tarfile.TarFile, name: str, folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.name.startswith("."):
            continue
        try:
            add_file(tar, f"{name}/{path.relative_to(folder)}", path)
        except FileNotFoundError:
            continue  # removed meanwhile


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def extract(path: Path, folder: Path, *, allowed: Callable[[str], bool]) -> list[str]:
    """Unpacks a tar of ours into a new folder; everything in it is for its owner alone.

    Args:
        path: The tar file.
        folder: Made by this call.
        allowed: Says of a member's name whether it is one of ours.

    Raises:
        Damaged: The tar cannot be read, or holds something that we do not write.
        Unavailable: The disk is full.
    """
    folder.mkdir(mode=0o700, parents=True)
    names = []
    try:
        with tarfile.open(path, mode="r:") as tar:
            for member in tar:
                parts = Path(member.name).parts
                plain = member.isfile() and not Path(member.name).is_absolute()
                if not plain or ".." in parts or not allowed(member.name):
                    raise Damaged("the archive holds something that we do not write")
                target = folder / member.name
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                source = tar.extractfile(member)
                assert source is not None  # a plain file has content
                handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(handle, "wb") as file:
                    shutil.copyfileobj(source, file, _BLOCK_BYTES)
                    file.flush()
                    os.fsync(file.fileno())
                names.append(member.name)
    except (tarfile.TarError, EOFError, FileExistsError) as error:
        raise Damaged("the archive cannot be read") from error
    except OSError as error:
        raise Unavailable(
            f"the archive could not be unpacked ({error.strerror})", next_step="make room"
        ) from error
    return names


def sqlite_is_whole(path: Path) -> bool:
    """SQLite's own check of a file that nobody has open."""
    db = sqlite3.connect(path)
    try:
        return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
    except sqlite3.DatabaseError:
        return False
    finally:
        db.close()
