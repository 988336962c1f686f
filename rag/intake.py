"""Files into a matter: copied by hash, durably, each with its row in the ledger.

The copy is on disk before the row, so a row never points at nothing; a copy without a row is made
anew by the next run.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from protocol.errors import NotFound
from protocol.record import LedgerState
from rag.disk import sync_folder
from rag.ledger import settle
from rag.matters import OpenMatter
from rag.progress import IngestProgress, OnProgress, quiet
from rag.record import drop_documents_of

_CLUTTER: Final = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})


def take_in(matter: OpenMatter, folder: Path, *, on_progress: OnProgress = quiet) -> int:
    """Copies new and changed files of a folder into the matter; how many were new.

    A file that has gone from the folder stays in the matter: removing is `rag.removal`'s.

    Raises:
        NotFound: There is no such folder.
    """
    if not folder.is_dir():
        raise NotFound("there is no such folder")
    found = list(_files_under(folder))
    new = 0
    for at, path in enumerate(found):
        on_progress(IngestProgress(stage="copying", done=at, total=len(found)))
        new += _take_file(matter, path, path.relative_to(folder).as_posix())
    on_progress(IngestProgress(stage="copying", done=len(found), total=len(found)))
    return new


def _files_under(folder: Path) -> Iterator[Path]:
    """Every file, in a fixed order; links to folders are not followed."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield Path(base) / name


def _take_file(matter: OpenMatter, path: Path, name: str) -> bool:
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    store = matter.store
    try:
        stat = path.stat()
        same = store.rows("SELECT size_bytes, mtime_ns FROM files WHERE name = ?", (name,))
        if same and (same[0][0], same[0][1]) == (stat.st_size, stat.st_mtime_ns):
            return False
        reason = _left_out(path)
        sha = "" if reason else _copy(path, matter.originals)
    except OSError as error:
        stat, sha, reason = None, "", f"the file could not be opened ({error.strerror})"
    row = {
        "name": name,
        "original_sha256": sha,
        "size_bytes": stat.st_size if stat else -1,
        "mtime_ns": stat.st_mtime_ns if stat else -1,
    }
    with store.writing():
        held = store.one("SELECT original_sha256 FROM files WHERE name = ?", (name,))
        if held == sha and sha:
            store.run(
                "UPDATE files SET size_bytes = :size_bytes, mtime_ns = :mtime_ns"
                " WHERE name = :name",
                {key: row[key] for key in ("name", "size_bytes", "mtime_ns")},
            )
            return False
        store.run("put_file", row)
        if held and not store.one("SELECT 1 FROM files WHERE original_sha256 = ?", (held,)):
            drop_documents_of(matter, held)  # the file has other bytes now
        if reason:
            state = LedgerState.SKIPPED if stat else LedgerState.FAILED
            settle(matter, name, state, reason=reason)
    return True


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
