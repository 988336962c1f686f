"""Waiting files to documents: read one by one, each appearing whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from protocol.errors import AppError
from protocol.record import LedgerState, Reading
from rag.intake import keep_part
from rag.ledger import settle
from rag.loaders import LoadOptions, load
from rag.matters import OpenMatter
from rag.paged import PagedText
from rag.progress import IngestProgress, OnProgress, quiet
from rag.record import drop_documents_of, keep_aside, put_document, set_aside


class Reader(Protocol):
    """Reads one file; keeps the promise of `rag.loaders.load`."""

    def load(
        self, path: Path, *, name: str | None = None, options: LoadOptions | None = None
    ) -> tuple[PagedText, ...]:
        """The documents in a file."""
        ...


class DirectReader:
    """Reads in this process: quick, and only as safe as the files are."""

    def load(
        self, path: Path, *, name: str | None = None, options: LoadOptions | None = None
    ) -> tuple[PagedText, ...]:
        return load(path, name=name, options=options)


class _Stopped(BaseException):
    """Carries what came out of ``on_progress`` past all that takes exceptions for a file's damage.

    No `Exception`: loaders and readers catch those, and the file would be marked as failed.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


def read_waiting(matter: OpenMatter, *, reader: Reader, on_progress: OnProgress = quiet) -> None:
    """Loads every file that waits, in the order of names.

    An exception from ``on_progress`` ends it; the file that was being read then waits as before.
    """
    try:
        _read_all(matter, reader, on_progress)
    except _Stopped as stopped:
        raise stopped.cause from None


def _read_all(matter: OpenMatter, reader: Reader, on_progress: OnProgress) -> None:
    store = matter.store
    waiting = store.rows(
        "SELECT name, original_sha256 FROM files WHERE state = 'pending' ORDER BY name"
    )
    for at, (name, sha) in enumerate(waiting):
        on_progress(IngestProgress(stage="reading", done=at, total=len(waiting)))

        def page(done: int, pages: int, at: int = at) -> None:
            progress = IngestProgress(
                stage="reading", done=at, total=len(waiting), page=done, pages=pages
            )
            try:
                on_progress(progress)
            except Exception as error:
                raise _Stopped(error) from None

        manifest = matter.manifest
        options = LoadOptions(
            languages=manifest.languages, admitted=name in manifest.admitted, on_page=page
        )
        _read_file(matter, name, sha, reader, options)
    on_progress(IngestProgress(stage="reading", done=len(waiting), total=len(waiting)))


def _read_file(
    matter: OpenMatter, name: str, sha: str, reader: Reader, options: LoadOptions
) -> None:
    store = matter.store
    twin = store.one(
        "SELECT name FROM files WHERE original_sha256 = ? AND name <> ?"
        " AND state IN ('indexed', 'failed') ORDER BY name LIMIT 1",
        (sha, name),
    )
    if twin is not None:
        document = store.one("SELECT document FROM files WHERE name = ?", (twin,))
        with store.writing():
            settle(
                matter,
                name,
                LedgerState.DUPLICATE,
                document=document,
                reason=f"the same bytes as {twin}",
            )
        return
    try:
        parts = reader.load(matter.originals / sha, name=name, options=options)
    except AppError as error:
        with store.writing():
            settle(matter, name, LedgerState.FAILED, reason=error.message)
        return
    except Exception as error:  # a reader's own fault must not stop the other files
        with store.writing():
            reason = f"the reader failed on this file ({type(error).__name__})"
            settle(matter, name, LedgerState.FAILED, reason=reason)
        return
    for part in parts:
        if part.original is not None:
            keep_part(part.original, matter.originals)
    with store.writing():
        aside = set_aside(matter, sha)
        drop_documents_of(matter, sha)
        documents = [
            put_document(matter, part, file_sha256=sha, file_name=name, ordinal=at)
            for at, part in enumerate(parts)
        ]
        if aside:
            keep_aside(matter, documents)
        settle(matter, name, document=documents[0] if documents else None, **_outcome(parts))
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
