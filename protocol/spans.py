"""Places in text.

A span means something only for the canonical text it was made from; whoever stores one keeps that
text's hash beside it.
"""

from __future__ import annotations

import msgspec

from protocol.ids import DocumentId


class SourceSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A half-open character range in one document.

    ``start`` and ``end`` count Unicode code points in the canonical text, from 0. ``page`` is the
    physical page on which the span starts, from 1.
    """

    document: DocumentId
    start: int
    end: int
    page: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError("a span runs forward from 0 or later")
        if self.page < 1:
            raise ValueError("pages count from 1")


def contains(outer: SourceSpan, inner: SourceSpan) -> bool:
    """Whether every character of ``inner`` lies in ``outer``."""
    same = outer.document == inner.document
    return same and outer.start <= inner.start and inner.end <= outer.end


def shift(span: SourceSpan, by_chars: int, *, page: int) -> SourceSpan:
    """The span moved by ``by_chars``; the caller knows on which page it then starts.

    Raises:
        ValueError: The span would start before the text.
    """
    return SourceSpan(
        document=span.document, start=span.start + by_chars, end=span.end + by_chars, page=page
    )
