"""Joins passages that stand side by side: a reader gets one stretch instead of two halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from protocol.ids import DocumentId, passage_id
from protocol.record import Hit, Passage
from protocol.spans import SourceSpan
from rag.chunking import MAX_CHARS

FIRST: Final = 5
"""Only the first few are joined: there a neighbour is likely the rest of the answer. Joined further
down, passages grow without getting better."""


def join_neighbours(
    hits: Sequence[Hit], text: Callable[[DocumentId], str], *, first: int = FIRST
) -> list[Hit]:
    """Hits in their order; among the first ones, neighbours of one section become one hit.

    A joined hit takes the better place and score, and says the reasons of both. It is never longer
    than `MAX_CHARS`, and its text is the text between its offsets.

    Args:
        hits: Best first.
        text: The canonical text of a document.
        first: How many of the first hits may be joined.
    """
    head = list(hits[:first])
    out: list[Hit] = []
    while head:
        hit = head.pop(0)
        # Each addition may bring the next neighbour within reach.
        while (other := next((h for h in head if _adjoin(hit, h, text)), None)) is not None:
            head.remove(other)
            hit = _joined(hit, other, text)
        out.append(hit)
    return out + list(hits[first:])


def _adjoin(one: Hit, other: Hit, text: Callable[[DocumentId], str]) -> bool:
    a, b = sorted((one.passage, other.passage), key=lambda passage: passage.span.start)
    if a.span.document != b.span.document or a.heading != b.heading:
        return False
    if not a.span.end <= b.span.start or b.span.end - a.span.start > MAX_CHARS:
        return False
    return not text(a.span.document)[a.span.end : b.span.start].strip()


def _joined(one: Hit, other: Hit, text: Callable[[DocumentId], str]) -> Hit:
    a, b = sorted((one.passage, other.passage), key=lambda passage: passage.span.start)
    document, start, end = a.span.document, a.span.start, b.span.end
    return Hit(
        passage=Passage(
            id=passage_id(document, start, end),
            span=SourceSpan(document=document, start=start, end=end, page=a.span.page),
            text=text(document)[start:end],
            heading=a.heading,
        ),
        score=one.score,
        why=tuple(dict.fromkeys((*one.why, *other.why))),
    )
