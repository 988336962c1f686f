"""Files to index: copy in, read, cut into passages, embed. Safe to run twice and to be killed.

Each step ends in one transaction, and the next run goes on from the last one that ended:

1. `take_in` copies new files to ``originals/`` by hash, then writes their ledger rows.
2. `read_waiting` loads each waiting file; its documents, pages, passages and terms appear together.
3. `embed_waiting` gives every passage its vectors; equal words reuse them.
4. The vector index gets what it has not got.

Word search works after step 2, so a matter can be asked before its vectors are made.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from protocol.errors import AppError, NotFound
from protocol.ids import DocumentId
from protocol.record import Ledger, LedgerRow, LedgerState, Reading
from rag.chunking import windows
from rag.embedding import Embedder
from rag.loaders import LoadOptions, load
from rag.matters import OpenMatter, sync_folder
from rag.paged import PagedText
from rag.record import drop_documents_of, keep_aside, put_document, set_aside
from rag.repair import rebuild, stale
from rag.store import unpack

_EMBED_BATCH: Final = 128
"""Passages a transaction: some seconds of work on one core, all that a kill can lose."""
_CLUTTER: Final = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})


@dataclass(frozen=True, kw_only=True)
class IngestProgress:
    """How far an ingest is."""

    stage: str
    """copying, reading, embedding, indexing."""
    done: int
    total: int


OnProgress = Callable[[IngestProgress], None]


def _quiet(_: IngestProgress) -> None:
    pass


def ingest(
    matter: OpenMatter,
    *,
    embedder: Embedder,
    folder: Path | None = None,
    on_progress: OnProgress = _quiet,
) -> Ledger:
    """Reads what is new and makes all of it findable.

    Args:
        matter: The open matter.
        embedder: Must be the model that made the matter's vectors so far.
        folder: Files to take in first; without it only what waits is done.
        on_progress: Called between files and batches; an exception from it stops the run, and the
            next run goes on from there.

    Returns:
        The whole ledger, earlier files included.

    Raises:
        Conflict: The matter's vectors were made by another model.
        Unavailable: The model cannot be used; what was read stays, word search works.
    """
    if stale(matter):
        rebuild(matter)
    if folder is not None:
        take_in(matter, folder, on_progress=on_progress)
    read_waiting(matter, on_progress=on_progress)
    embed_waiting(matter, embedder=embedder, on_progress=on_progress)
    index = matter.index()
    total = int(matter.store.one("SELECT count(*) FROM passages") or 0)
    on_progress(IngestProgress(stage="indexing", done=0, total=total))
    matter.fill_index(index)
    on_progress(IngestProgress(stage="indexing", done=total, total=total))
    return ledger(matter)


# --- 1. copying ---


def take_in(matter: OpenMatter, folder: Path, *, on_progress: OnProgress = _quiet) -> int:
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
            _settle(matter, name, state, reason=reason)
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


def _settle(
    matter: OpenMatter,
    name: str,
    state: LedgerState,
    *,
    document: DocumentId | None = None,
    pages: int = 0,
    pages_read: int = 0,
    reason: str = "",
) -> None:
    matter.store.run(
        "settle_file",
        {
            "name": name,
            "state": state.value,
            "document": document,
            "pages": pages,
            "pages_read": pages_read,
            "reason": reason,
        },
    )


# --- 2. reading ---


def read_waiting(matter: OpenMatter, *, on_progress: OnProgress = _quiet) -> None:
    """Loads every file that waits, in the order of names."""
    store = matter.store
    waiting = store.rows(
        "SELECT name, original_sha256 FROM files WHERE state = 'pending' ORDER BY name"
    )
    for at, (name, sha) in enumerate(waiting):
        on_progress(IngestProgress(stage="reading", done=at, total=len(waiting)))
        _read_file(matter, name, sha)
    on_progress(IngestProgress(stage="reading", done=len(waiting), total=len(waiting)))


def _read_file(matter: OpenMatter, name: str, sha: str) -> None:
    store = matter.store
    twin = store.one(
        "SELECT name FROM files WHERE original_sha256 = ? AND name <> ?"
        " AND state IN ('indexed', 'failed') ORDER BY name LIMIT 1",
        (sha, name),
    )
    if twin is not None:
        document = store.one("SELECT document FROM files WHERE name = ?", (twin,))
        with store.writing():
            _settle(
                matter,
                name,
                LedgerState.DUPLICATE,
                document=document,
                reason=f"the same bytes as {twin}",
            )
        return
    options = LoadOptions(languages=matter.manifest.languages)
    try:
        parts = load(matter.originals / sha, name=name, options=options)
    except AppError as error:
        with store.writing():
            _settle(matter, name, LedgerState.FAILED, reason=error.message)
        return
    except Exception as error:  # a reader's own fault must not stop the other files
        with store.writing():
            reason = f"the reader failed on this file ({type(error).__name__})"
            _settle(matter, name, LedgerState.FAILED, reason=reason)
        return
    for part in parts:
        if part.original is not None:
            _keep_part(part.original, matter.originals)
    with store.writing():
        aside = set_aside(matter, sha)
        drop_documents_of(matter, sha)
        documents = [
            put_document(matter, part, file_sha256=sha, ordinal=at) for at, part in enumerate(parts)
        ]
        if aside:
            keep_aside(matter, documents)
        _settle(matter, name, document=documents[0] if documents else None, **_outcome(parts))
    matter.forget_texts()


def read_again(matter: OpenMatter, names: Sequence[str] | None = None) -> None:
    """Marks files to be read again by the next ingest, for a loader that reads better.

    Ids stay. A text that comes out different is a new version; the old one is kept for the answers
    that cite it. A quarantined family stays set aside.

    Args:
        matter: The open matter.
        names: Files by the names in the ledger; all when None.
    """
    with matter.store.writing():
        for row in matter.store.rows(
            "SELECT name FROM files WHERE state IN ('indexed', 'failed') ORDER BY name"
        ):
            if names is None or row["name"] in names:
                matter.store.run(
                    "UPDATE files SET state = 'pending' WHERE name = ?", (row["name"],)
                )


def _outcome(parts: Sequence[PagedText]) -> dict[str, Any]:
    pages = [page for part in parts for page in part.pages]
    read = [page for page in pages if page.reading is not Reading.UNREADABLE]
    reasons = list(dict.fromkeys(page.reason for page in pages if page.reason))
    reasons = reasons or [warning for part in parts for warning in part.warnings]
    state = LedgerState.INDEXED if read else LedgerState.FAILED
    if read and not any(part.text.strip() for part in parts):
        state, reasons = LedgerState.SKIPPED, ["the file holds no words"]
    return {
        "state": state,
        "pages": len(pages),
        "pages_read": len(read),
        "reason": "; ".join(reasons[:3]) or ("" if read else "no text could be read"),
    }


def _keep_part(content: bytes, originals: Path) -> None:
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


# --- 3. embedding ---


def embed_waiting(
    matter: OpenMatter, *, embedder: Embedder, on_progress: OnProgress = _quiet
) -> None:
    """Makes the vectors that are missing, in batches, each durable when the next begins.

    Raises:
        Conflict: The matter's vectors were made by another model.
        Unavailable: The model cannot be used.
    """
    store = matter.store
    total = int(store.one("SELECT count(*) FROM passages") or 0)
    waiting = int(store.one("SELECT count(*) FROM passages WHERE embedded = 0") or 0)
    if not waiting:
        return
    store.claim_embedder(embedder.identity)
    while True:
        on_progress(IngestProgress(stage="embedding", done=total - waiting, total=total))
        rows = store.rows(
            "SELECT n, words_sha256 FROM passages WHERE embedded = 0 ORDER BY n LIMIT ?",
            (_EMBED_BATCH,),
        )
        if not rows:
            return
        _embed_batch(matter, embedder, rows)
        matter.sheets.clear()
        waiting -= len(rows)


def _embed_batch(matter: OpenMatter, embedder: Embedder, rows: Sequence[Any]) -> None:
    store = matter.store
    passages = store.passages([row["n"] for row in rows])
    ready: dict[int, Any] = {}
    pieces: list[str] = []
    owners: list[int] = []
    for row in rows:
        same = store.rows("same_words", (row["words_sha256"],))
        if same:
            ready[row["n"]] = np.stack([unpack(vector) for _, vector in same])
            continue
        made = windows(
            passages[row["n"]].heading,
            passages[row["n"]].text,
            count=embedder.count_tokens,
            max_tokens=embedder.max_tokens,
        )
        pieces += made
        owners += [row["n"]] * len(made)
    vectors = embedder.embed(pieces)
    for n in dict.fromkeys(owners):
        ready[n] = vectors[[at for at, owner in enumerate(owners) if owner == n]]
    with store.writing():
        for n, found in ready.items():
            store.put_vectors(n, found)


# --- the ledger ---


def ledger(matter: OpenMatter) -> Ledger:
    """What became of every file; a file that still waits is counted as skipped, and says so."""
    rows = []
    for row in matter.store.rows("SELECT * FROM files ORDER BY name"):
        waits = row["state"] == "pending"
        rows.append(
            LedgerRow(
                name=row["name"],
                original_sha256=row["original_sha256"],
                state=LedgerState.SKIPPED if waits else LedgerState(row["state"]),
                document=DocumentId(row["document"]) if row["document"] else None,
                pages=row["pages"],
                pages_read=row["pages_read"],
                reason="not read yet" if waits else row["reason"],
            )
        )
    return Ledger(rows=tuple(rows))
