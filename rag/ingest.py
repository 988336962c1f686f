"""Files to index: copy in, read, cut into passages, embed. Safe to run twice and to be killed.

Each step ends in one transaction, and the next run goes on from the last one that ended:

1. `rag.intake` copies new files to ``originals/`` by hash, then writes their ledger rows.
2. `rag.reading` loads each waiting file; its documents, pages, passages and terms appear together.
3. `embed_waiting` gives every passage its vectors; equal words reuse them.
4. The vector index gets what it has not got.

Word search works after step 2, so a matter can be asked before its vectors are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from protocol.errors import NotFound
from protocol.record import Ledger
from rag.chunking import windows
from rag.embedding import Embedder
from rag.intake import take_in
from rag.ledger import ledger
from rag.loaders.child import ChildReader
from rag.matters import OpenMatter
from rag.progress import IngestProgress, OnProgress, quiet
from rag.reading import Reader, read_waiting
from rag.record import apply_manifest
from rag.removal import finish_removal
from rag.repair import rebuild, stale
from rag.store import unpack

__all__ = ["IngestProgress", "OnProgress", "embed_waiting", "ingest", "ledger"]

_EMBED_BATCH: Final = 128
"""Passages a transaction: some seconds of work on one core, all that a kill can lose."""


def ingest(
    matter: OpenMatter,
    *,
    embedder: Embedder,
    folder: Path | None = None,
    followed: Mapping[str, Path] = MappingProxyType({}),
    reader: Reader | None = None,
    on_progress: OnProgress = quiet,
) -> Ledger:
    """Reads what is new and makes all of it findable.

    Args:
        matter: The open matter.
        embedder: Must be the model that made the matter's vectors so far.
        folder: Files to take in first; without it only what waits is done.
        followed: Further folders by the name that stands before their files' names; one that is
            not there now is passed over.
        reader: Reads the files; None reads them in a child process with bounds on time and memory,
            so that a hostile file cannot end this one.
        on_progress: Called between files and batches; an exception from it stops the run, and the
            next run goes on from there.

    Returns:
        The whole ledger, earlier files included.

    Raises:
        Conflict: The matter's vectors were made by another model.
        Unavailable: The model cannot be used; what was read stays, word search works.
    """
    finish_removal(matter)
    if stale(matter):
        rebuild(matter)
    apply_manifest(matter)
    if folder is not None:
        take_in(matter, folder, on_progress=on_progress)
    for under, each in followed.items():
        with suppress(NotFound):
            take_in(matter, each, under=under, on_progress=on_progress)
    if reader is not None:
        read_waiting(matter, reader=reader, on_progress=on_progress)
    else:
        with ChildReader() as child:
            read_waiting(matter, reader=child, on_progress=on_progress)
    embed_waiting(matter, embedder=embedder, on_progress=on_progress)
    index = matter.index()
    total = int(matter.store.one("SELECT count(*) FROM passages") or 0)
    on_progress(IngestProgress(stage="indexing", done=0, total=total))
    matter.fill_index(index)
    on_progress(IngestProgress(stage="indexing", done=total, total=total))
    return ledger(matter)


def embed_waiting(
    matter: OpenMatter, *, embedder: Embedder, on_progress: OnProgress = quiet
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
