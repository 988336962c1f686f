"""What a request asked for, in words: for whoever looks back at what was asked in a matter."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final

from protocol.ids import DocumentId
from protocol.jobs import (
    Ask,
    Chronology,
    CiteCheck,
    Extract,
    Find,
    Summarize,
    WorkRequest,
    WriteDraft,
)

SHOWN_CHARS: Final = 400
"""Of a question in a list; the whole of it stands in its reply."""


def words_of(request: WorkRequest, titles: Mapping[DocumentId, str]) -> str:
    """The words of a request as one would type them; empty for a plain one.

    Args:
        request: What was asked.
        titles: The matter's documents by id; one that is gone is named by its id.
    """
    match request:
        case Ask(question=said) | Find(text=said):
            parts = [said]
        case Summarize(only=only, documents=documents):
            parts = [*_named(documents, titles), only]
        case Chronology(only=only, documents=documents):
            parts = [*_named(documents, titles), only]
        case Extract(what=what, columns=columns, only=only, documents=documents):
            wanted = f"columns: {', '.join(columns)}" if columns else what
            parts = [wanted, *_named(documents, titles), only]
        case CiteCheck(document=document, text=text):
            parts = [*_named(() if document is None else (document,), titles), text]
        case WriteDraft(form=form, about=about, witness=witness, documents=documents):
            parts = [form, about, witness, *_named(documents, titles)]
        case _:
            parts = []
    return " ".join(part for part in parts if part.strip())


def holds(said: str, words: str) -> bool:
    """Whether all of some words stand in what was asked, in any order, large or small."""
    where = _folded(said)
    return all(word in where for word in _folded(words).split())


def shown(said: str) -> str:
    """The beginning of what was asked; what is left out is said to be."""
    return said if len(said) <= SHOWN_CHARS else said[: SHOWN_CHARS - 1] + "…"


def _named(documents: tuple[DocumentId, ...], titles: Mapping[DocumentId, str]) -> list[str]:
    return [", ".join(titles.get(document, document) for document in documents)]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
