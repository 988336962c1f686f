"""Merges ranked lists, removes repeats, joins neighbours."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

RRF_K: Final = 60
"""The usual constant of reciprocal rank fusion; it keeps a first place from outweighing all else.

Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual
Rank Learning Methods", SIGIR 2009.
"""


def fuse(
    lists: Iterable[tuple[float, Sequence[T]]], *, constant: float = RRF_K
) -> list[tuple[T, float]]:
    """Reciprocal rank fusion of weighted lists, best first; ties keep the order of arrival."""
    scores: dict[T, float] = {}
    for weight, ranked in lists:
        for rank, item in enumerate(dict.fromkeys(ranked), start=1):
            scores[item] = scores.get(item, 0.0) + weight / (constant + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def without_repeats(
    ranked: Sequence[T], words: Mapping[T, str], *, least_chars: int = 60
) -> list[T]:
    """Drops later items that say the same words as an earlier one (a mail quoted in each reply)."""
    seen: set[str] = set()
    out = []
    for item in ranked:
        folded = " ".join(words[item].casefold().split())
        if len(folded) >= least_chars:
            if folded in seen:
                continue
            seen.add(folded)
        out.append(item)
    return out
