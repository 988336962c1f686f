"""Files into a matter: copied by hash, durably, each with its row in the ledger.

The copy is on disk before the row, so a row never points at nothing; a copy without a row is made
anew by the next run.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Final

from protocol.errors import NotFound
from protocol.record import LedgerState
from rag.disk import sync_folder
from rag.ledger import settle
from rag.matters import OpenMatter
from rag.progress import IngestProgress, OnProgress, quiet
from rag.record import drop_documents_of

REMOVED: Final = "taken out of the matter for good, on a reviewer's order"
_CLUTTER: Final = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})


def take_in(
    matter: OpenMatter, folder: Path, *, under: str = "", on_progress: OnProgress = quiet
) -> int:
    """Copies new and changed files of a folder into the matter; how many were new.

    A file that has gone from the folder, or cannot be opened any more, stays in the matter:
    removing is `rag.removal`'s. Another folder's file of the same name but other bytes does not
    take its place: it gets a number behind its name.

    Args:
        matter: The open matter.
        folder: Everything under it.
        under: Stands before the names of its files, as a folder of that name would.
        on_progress: Called between files.

    Raises:
        NotFound: There is no such folder.
    """
    if not folder.is_dir():
        raise NotFound("there is no such folder")
    found = list(_files_under(folder))
    origin = _origin(matter, folder)
    new = 0
    for at, path in enumerate(found):
        on_progress(IngestProgress(stage="copying", done=at, total=len(found)))
        new += _take_file(matter, path, _given(folder, path, under), origin)
    on_progress(IngestProgress(stage="copying", done=len(found), total=len(found)))
    return new


def news(matter: OpenMatter, folder: Path, *, under: str = "") -> frozenset[tuple[str, int, int]]:
    """The files of a folder that `take_in` would look at, with size in bytes and time in ns.

    Raises:
        NotFound: There is no such folder.
    """
    if not folder.is_dir():
        raise NotFound("there is no such folder")
    origin = _origin(matter, folder)
    new = set()
    for path in _files_under(folder):
        with suppress(OSError):  # gone meanwhile
            given, stat = _given(folder, path, under), path.lstat()
            name = _known(matter, origin, given)
            if name is None or not _same(matter, name, path.stat()):
                new.add((given, stat.st_size, stat.st_mtime_ns))
    return frozenset(new)


def _files_under(folder: Path) -> Iterator[Path]:
    """Every file, in a fixed order; links to folders are not followed."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield Path(base) / name


def _origin(matter: OpenMatter, folder: Path) -> str:
    """Which folder this is, without saying where it lies; the matter's own wherever it moves to."""
    whole = folder.resolve()
    if whole.is_relative_to(matter.folder.resolve()):
        return whole.relative_to(matter.folder.resolve()).as_posix()
    return hashlib.sha256(os.fsencode(whole)).hexdigest()


def _given(folder: Path, path: Path, under: str) -> str:
    name = (PurePosixPath(under) / path.relative_to(folder).as_posix()).as_posix()
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _known(matter: OpenMatter, origin: str, given: str) -> str | None:
    """The name in the ledger of a file that came from this folder before."""
    found = matter.store.one(
        "SELECT name FROM came_from WHERE folder = ? AND given = ?", (origin, given)
    )
    if found is None and not matter.store.one("SELECT 1 FROM came_from WHERE name = ?", (given,)):
        # A record of before knows no folders: the name alone tells.
        found = matter.store.one("SELECT name FROM files WHERE name = ?", (given,))
    return None if found is None else str(found)


def _same(matter: OpenMatter, name: str, stat: os.stat_result) -> bool:
    held = matter.store.rows("SELECT size_bytes, mtime_ns FROM files WHERE name = ?", (name,))
    return bool(held) and (held[0][0], held[0][1]) == (stat.st_size, stat.st_mtime_ns)


def _take_file(matter: OpenMatter, path: Path, given: str, origin: str) -> bool:
    store = matter.store
    known = _known(matter, origin, given)
    try:
        stat = path.stat()
        if known is not None and _same(matter, known, stat):
            return False
        reason = _left_out(path)
        sha = "" if reason else _copy(path, matter.originals)
        if sha and store.one("SELECT 1 FROM removed WHERE sha256 = ?", (sha,)):
            (matter.originals / sha).unlink(missing_ok=True)
            reason = REMOVED
    except OSError as error:
        stat, sha, reason = None, "", f"the file could not be opened ({error.strerror})"
    size, time = (stat.st_size, stat.st_mtime_ns) if stat else (-1, -1)
    with store.writing():
        name = _name(matter, known, origin, given, sha)
        held = store.one("SELECT original_sha256 FROM files WHERE name = ?", (name,))
        if held and not sha:  # it cannot be opened now
            return False  # what was read of it stays; a later run may open it again
        store.run("INSERT OR REPLACE INTO came_from VALUES (?, ?, ?)", (origin, given, name))
        if held == sha and sha:
            store.run(
                "UPDATE files SET size_bytes = ?, mtime_ns = ? WHERE name = ?", (size, time, name)
            )
            return False
        store.run(
            "put_file",
            {"name": name, "original_sha256": sha, "size_bytes": size, "mtime_ns": time},
        )
        if held and not store.one("SELECT 1 FROM files WHERE original_sha256 = ?", (held,)):
            drop_documents_of(matter, held)  # the file has other bytes now
        if reason:
            state = LedgerState.SKIPPED if stat else LedgerState.FAILED
            settle(matter, name, state, reason=reason)
    return True


def _name(matter: OpenMatter, known: str | None, origin: str, given: str, sha: str) -> str:
    """The name a file has in the ledger: its own, with a number where another folder's has it."""
    name = given if known is None else known
    held = matter.store.one("SELECT original_sha256 FROM files WHERE name = ?", (name,))
    if held is None or held == sha:
        return name
    others = matter.store.one(
        "SELECT 1 FROM came_from WHERE name = ? AND NOT (folder = ? AND given = ?)",
        (name, origin, given),
    )
    if not others:
        return name
    path = PurePosixPath(given)
    for number in count(2):
        free = path.with_name(f"{path.stem} ({number}){path.suffix}").as_posix()
        if not matter.store.one("SELECT 1 FROM files WHERE name = ?", (free,)):
            return free
    raise AssertionError("numbers do not end")


def _left_out(path: Path) -> str:
    """Why a file is not taken in; empty when it is."""
    if path.is_symlink():
        return "a link, not a file"
    if not path.is_file():
        return "not a regular file"
    if path.name.casefold() in _CLUTTER or path.name.startswith(("~$", "._")):
        return "a file of the operating system or an editor, not of the matter"
    return ""


def _copy(path: Path, originals: Path) -> str:
    """Copies a file to its hash's name, durably; a second copy of the same bytes is not kept."""
    digest = hashlib.sha256()
    handle, fresh = tempfile.mkstemp(prefix=".incoming-", dir=originals)
    try:
        with path.open("rb") as source, os.fdopen(handle, "wb") as target:
            while block := source.read(1 << 20):
                digest.update(block)
                target.write(block)
            target.flush()
            os.fsync(target.fileno())
        kept = originals / digest.hexdigest()
        if kept.exists():
            Path(fresh).unlink()
        else:
            Path(fresh).rename(kept)
            sync_folder(originals)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise
    return digest.hexdigest()


def keep_part(content: bytes, originals: Path) -> None:
    """Keeps an attachment's bytes among the originals."""
    kept = originals / hashlib.sha256(content).hexdigest()
    if kept.exists():
        return
    handle, fresh = tempfile.mkstemp(prefix=".incoming-", dir=originals)
    with os.fdopen(handle, "wb") as target:
        target.write(content)
        target.flush()
        os.fsync(target.fileno())
    Path(fresh).rename(kept)
    sync_folder(originals)
