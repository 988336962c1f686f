"""A backup of a box: one archive a matter, one for the box itself, and a sealed list.

The worker may run meanwhile. The queue is copied first, then the matters, then the journals: what
the queue names is in the matters' copies, and nothing is in a copy that its journal does not know.
Each archive is for its owner alone; the vector and quotation indexes are left out, since they are
made anew from the record. A backup that was cut off has no list and is swept by the next one.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import AppError, Conflict, Damaged, NotFound, Unavailable
from protocol.ids import MatterId, matter_id
from rag.disk import sync_folder
from worker import audit
from worker.keeping.copies import add_file, add_journal, add_matter, add_sqlite, new_tar
from worker.keeping.manifest import (
    FORMAT,
    Journal,
    Manifest,
    Part,
    check_parts,
    read_manifest,
    write_manifest,
)
from worker.keeping.version import refuse_newer

BOX: Final = "box.tar"
AUDIT: Final = "audit.tar"
SETTINGS: Final = "worker.toml.restored"
"""The settings file's name in a backup: a restored box may lie elsewhere, so it is only shown."""
_PARTIAL: Final = ".partial-"
_BOX_FILES: Final = ("version.json", "boards.toml")
_BOX_FOLDERS: Final = ("registry", "templates", "gateway", "engines", "measurements")

Hook = Callable[[str], None]
"""Called with the name of each part when it is written; tests end the process there."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup came to."""

    folder: Path
    sha256: str
    """Of the sealed list: note it elsewhere, and nobody can exchange the backup unseen."""
    size_bytes: int
    matters: int
    left_out: tuple[str, ...]
    """What could not be read, one sentence each."""


def make_backup(
    state: Path,
    place: Path,
    *,
    now: dt.datetime,
    config: Path | None = None,
    hook: Hook = lambda _: None,
) -> Made:
    """Makes ``place/<time>/``.

    Args:
        state: The box's state folder.
        place: The folder of backups.
        now: The time, which names the backup.
        config: The settings file, kept beside the rest.
        hook: See `Hook`.

    Raises:
        NotFound: There is no state folder.
        Conflict: The state is newer than this program, or a backup of this second is there.
        Unavailable: The disk is full, or another backup is being made at the place.
        Damaged: A matter's database is no database any more; it is named.
    """
    if not (state / "registry").is_dir():
        raise NotFound("there is no state folder to back up")
    version = refuse_newer(state).version
    name = now.strftime("%Y%m%dT%H%M%SZ")
    with _place(place):
        if (place / name).exists():
            raise Conflict("there is a backup of this second already")
        folder = place / f"{_PARTIAL}{name}"
        folder.mkdir(mode=0o700)
        (folder / "matters").mkdir(mode=0o700)
        parts: list[Part] = []
        left_out: list[str] = []

        def done(part: str, sha256: str, size_bytes: int) -> None:
            parts.append(Part(name=part, sha256=sha256, size_bytes=size_bytes))
            hook(part)

        host_keys = _box(state, folder, done, left_out, config)
        matters = _matters(state, folder, done)
        journals = _journals(state, folder, done)
        manifest = Manifest(
            format=FORMAT,
            program=metadata.version("secondchair"),
            state_version=version,
            made_at=now,
            parts=tuple(parts),
            journals=journals,
            matters=matters,
            host_keys=host_keys,
        )
        sha256 = write_manifest(folder, manifest)
        hook("manifest")
        folder.rename(place / name)
        sync_folder(place)
    size = sum(part.size_bytes for part in parts)
    return Made(
        folder=place / name,
        sha256=sha256,
        size_bytes=size,
        matters=len(matters),
        left_out=tuple(left_out),
    )


def backups_in(place: Path) -> list[Path]:
    """Every whole backup of a place, the newest last."""
    return sorted(path.parent for path in place.glob("[0-9]*Z/manifest.json"))


def the_backup(place: Path) -> Path:
    """A backup's own folder, or the newest one of a place.

    Raises:
        NotFound: There is none.
    """
    if (place / "manifest.json").is_file():
        return place
    found = backups_in(place)
    if not found:
        raise NotFound("there is no whole backup in this folder")
    return found[-1]


def verify_backup(folder: Path) -> list[str]:
    """What is wrong with a backup, one sentence each.

    Raises:
        NotFound: It is none.
        BadRequest: A newer program made it.
    """
    try:
        manifest = read_manifest(folder)
    except Damaged as error:
        return [error.message]
    return check_parts(folder, manifest)


@contextmanager
def _place(place: Path) -> Iterator[None]:
    """The folder of backups, ours alone, without what was cut off."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(place / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(f"the folder of backups cannot be used ({error.strerror})") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unavailable("another backup is being made there") from None
        for stray in place.glob(f"{_PARTIAL}*"):
            shutil.rmtree(stray)
        yield
    finally:
        os.close(handle)


_Done = Callable[[str, str, int], None]


def _box(state: Path, folder: Path, done: _Done, left_out: list[str], config: Path | None) -> bool:
    """Queue, registry, host keys, templates; True when the private host keys are in it."""
    keys = True
    with new_tar(folder / BOX) as (tar, sealed):
        if (state / "queue.sqlite").exists():
            add_sqlite(tar, "queue.sqlite", state / "queue.sqlite", folder)
        if config is not None and config.is_file():
            add_file(tar, SETTINGS, config)
        for name in _BOX_FILES:
            if (state / name).is_file():
                add_file(tar, name, state / name)
        for name in _BOX_FOLDERS:
            for path in sorted((state / name).rglob("*")):
                if path.is_symlink() or not path.is_file() or path.name.startswith("."):
                    continue
                try:
                    add_file(tar, str(path.relative_to(state)), path)
                except PermissionError:
                    keys = keys and name != "gateway"
                    left_out.append(f"{path.relative_to(state)}: only root can read it")
    done(BOX, sealed.sha256, sealed.size_bytes)
    return keys and any((state / "gateway").glob("host_*"))


def _matters(state: Path, folder: Path, done: _Done) -> tuple[str, ...]:
    codes = []
    for path in sorted((state / "matters").glob("*/matter.json")):
        code = _code(path.parent.name)
        if code is None:
            continue
        name = f"matters/{code}.tar"
        try:
            with new_tar(folder / name) as (tar, sealed):
                add_matter(tar, path.parent, folder)
        except FileNotFoundError:
            continue  # closed meanwhile
        except AppError as error:
            raise type(error)(f"matter {code}: {error.message}", next_step=error.next_step) from (
                error
            )
        done(name, sealed.sha256, sealed.size_bytes)
        codes.append(code)
    return tuple(codes)


def _journals(state: Path, folder: Path, done: _Done) -> tuple[Journal, ...]:
    """Every journal, the box's own too, and then the anchors, which speak of them."""
    found = []
    with new_tar(folder / AUDIT) as (tar, sealed):
        files = [path for path in (state / "audit").glob("[!.]*") if path.is_file()]
        for path in sorted(files, key=lambda one: (one.suffix != ".jsonl", one.name)):
            if path.is_symlink():
                continue
            report = audit.verify(path) if path.suffix == ".jsonl" else None
            add_journal(tar, path.name, path)  # after the look: what is added meanwhile is in it
            if report is not None and (path.stem == audit.BOX or _code(path.stem)):
                whole = report.broken_at is None
                found.append(
                    Journal(matter=path.stem, entries=report.entries, head=report.head, whole=whole)
                )
    done(AUDIT, sealed.sha256, sealed.size_bytes)
    return tuple(found)


def _code(name: str) -> MatterId | None:
    try:
        return matter_id(name)
    except ValueError:
        return None
