"""Which document a question is about, before what it asks.

Most legal questions name a document ("the lease between A and B") and then ask for something in it.
Searched as one sentence, the names pull up every preamble and signature page. So documents are
ranked by title and opening first; where the question clearly names one, the search stays inside it
and the reference is taken out of what is searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from protocol.ids import DocumentId
from rag.store import Store
from rag.terms import match_any, terms

_LEAST_TERMS: Final = 2
"""A document is named by at least two of its own words; one is chance."""
_MARGIN: Final = 1.15
"""The first document's score over the second's from which the first alone is meant."""
_SPLIT: Final = re.compile(
    r"[;:?!]\s+|,\s+(?=(?:what|who|when|where|which|how|why|is|are|do|does|may|can|must)\b)", re.I
)


@dataclass(frozen=True, kw_only=True)
class Route:
    """Where to search and for what."""

    documents: tuple[DocumentId, ...]
    """Documents that are meant, best first; empty means the whole matter."""
    asked: str
    """The question without its reference to a document."""
    why: str
    """In words, for the person who sees the hit; empty when the whole matter is searched."""


def route(store: Store, question: str, *, among: Sequence[DocumentId] | None = None) -> Route:
    """Finds the document that a question names, if it names one."""
    parts = [part for part in _SPLIT.split(question) if part and part.strip()]
    if len(parts) < 2:
        return Route(documents=(), asked=question, why="")
    ranked = _rank(store, parts[0], among)
    if not ranked:
        return Route(documents=(), asked=question, why="")
    first, score = ranked[0]
    second = ranked[1][1] if len(ranked) > 1 else 0.0
    if score < _MARGIN * second or len(set(terms(parts[0]))) < _LEAST_TERMS:
        return Route(documents=(), asked=question, why="")
    return Route(documents=(first,), asked=" ".join(parts[1:]), why="the document that is named")


def _rank(
    store: Store, reference: str, among: Sequence[DocumentId] | None
) -> list[tuple[DocumentId, float]]:
    expression = match_any(terms(reference))
    if not expression:
        return []
    allowed = None if among is None else set(among)
    return [
        (DocumentId(row["document"]), -float(row["score"]))
        for row in store.rows("card_search", (expression, 50))
        if allowed is None or row["document"] in allowed
    ]
