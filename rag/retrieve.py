"""Question in, passages out: which documents first, then words and meaning inside them.

Two searches run side by side, BM25 over terms and cosine over vectors, and are merged by rank.
Without an embedder, or before the vectors are made, words alone answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from protocol.ids import DocumentId, PassageId
from protocol.record import DocumentClass, Hit
from rag.embedding import Embedder
from rag.fusion import fuse, without_repeats
from rag.matters import OpenMatter
from rag.routing import Route, route
from rag.terms import match_any, terms

_POOL: Final = 100
"""Candidates each search gives to the fusion."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What of a matter to search. Empty means everything that may be cited."""

    documents: tuple[DocumentId, ...] = ()
    classes: tuple[DocumentClass, ...] = ()
    custodians: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Parts of original names; any of them."""


def retrieve(
    matter: OpenMatter,
    question: str,
    *,
    embedder: Embedder | None,
    top_k: int = 12,
    filters: Filters | None = None,
) -> tuple[Hit, ...]:
    """The passages that answer a question best, best first.

    Args:
        matter: The open matter.
        question: As the person wrote it.
        embedder: The model that made the matter's vectors; None searches by words only.
        top_k: Passages wanted; fewer come when fewer fit.
        filters: Where to look.

    Raises:
        Conflict: The embedder is not the one that made the matter's vectors.
    """
    allowed = selection(matter, filters or Filters())
    if not allowed:
        return ()
    plan = route(matter.store, question, among=allowed)
    scope = plan.documents or allowed
    asked = plan.asked
    by_words = _words(matter, asked, scope)
    by_meaning = _meaning(matter, asked, scope, embedder) if embedder else []
    ranked = fuse([(1.0, by_meaning), (1.0, by_words)])
    return _hits(matter, ranked, by_words, by_meaning, asked, plan, top_k)


def selection(matter: OpenMatter, filters: Filters) -> tuple[DocumentId, ...]:
    """The documents a filter lets through, quarantined ones and our own output never."""
    out = []
    for info in matter.documents():
        if info.document_class is DocumentClass.MODEL_OUTPUT:
            continue
        if filters.documents and info.id not in filters.documents:
            continue
        if filters.classes and info.document_class not in filters.classes:
            continue
        if filters.custodians and info.custodian not in filters.custodians:
            continue
        folded = info.name.casefold()
        if filters.names and not any(name.casefold() in folded for name in filters.names):
            continue
        out.append(info.id)
    return tuple(out)


def _words(matter: OpenMatter, asked: str, scope: Sequence[DocumentId]) -> list[int]:
    expression = match_any(terms(asked))
    if not expression:
        return []
    inside = set(scope)
    rows = matter.store.rows("keyword_search", (expression, 5000))
    return [row["n"] for row in rows if row["document"] in inside][:_POOL]


def _meaning(
    matter: OpenMatter, asked: str, scope: Sequence[DocumentId], embedder: Embedder
) -> list[int]:
    matter.store.claim_embedder(embedder.identity)
    vector = embedder.embed_question(asked)
    vectors, numbers, _ = matter.store.vectors(scope)
    if not numbers:
        return []
    order = np.argsort(-(vectors @ vector), kind="stable")
    return list(dict.fromkeys(numbers[at] for at in order))[:_POOL]


def _hits(
    matter: OpenMatter,
    ranked: Sequence[tuple[int, float]],
    by_words: Sequence[int],
    by_meaning: Sequence[int],
    asked: str,
    plan: Route,
    top_k: int,
) -> tuple[Hit, ...]:
    scores = dict(ranked)
    passages = matter.store.passages([n for n, _ in ranked[: top_k * 2]])
    order = without_repeats(
        [n for n, _ in ranked if n in passages], {n: p.text for n, p in passages.items()}
    )
    wanted = dict(zip(terms(asked), terms(asked), strict=True))
    near = set(by_meaning[: top_k * 2])
    out = []
    for n in order[:top_k]:
        passage = passages[n]
        why = []
        if plan.why:
            why.append(plan.why)
        shared = [term for term in dict.fromkeys(terms(passage.text)) if term in wanted]
        if shared and n in by_words:
            why.append("words: " + ", ".join(shared[:6]))
        if n in near:
            why.append("near in meaning")
        out.append(Hit(passage=passage, score=scores[n], why=tuple(why)))
    return tuple(out)


def document_of(passage: PassageId) -> DocumentId:
    """The document a passage id points into."""
    return DocumentId(passage.rpartition(":")[0])
