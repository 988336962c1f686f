"""What one check says of one item, before it becomes a `Finding` with numbers and pin cites."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.answers import Verdict
from protocol.ids import DocumentId


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Characters ``[start, end)`` of one document's canonical text, in code points."""

    document: DocumentId
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A verdict and everything needed to show it."""

    verdict: Verdict
    reason: str
    """One line a lawyer would write."""
    places: tuple[Stretch, ...] = ()
    """Where the item stands in the record; several for the parts of one quotation."""
    also_in: tuple[Stretch, ...] = ()
    nearest: tuple[Stretch, ...] = ()
    """The closest place when the item was not found; it supports nothing."""
    diff: str = ""
    """The difference in words: ``record "shall not" / reply "shall"``."""
    steps: tuple[str, ...] = ()
    """Calculation steps, or the disclosed changes that were undone."""
