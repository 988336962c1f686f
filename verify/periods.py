"""By what a figure is counted: "for each week of delay" is not "for each day of delay".

The period may stand far from the figure, so that what stands beside it does not show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_EACH: Final = frozenset("each every per any jede jeder jedes pro chaque par".split())
_PERIODS: Final = {
    word: period
    for period, words in {
        "day": "day days daily tag jour",
        "week": "week weeks weekly woche semaine",
        "month": "month months monthly monat mois",
        "quarter": "quarter quarters quarterly quartal trimestre",
        "year": "year years yearly annum annually jahr an année",
        "hour": "hour hours hourly stunde heure",
    }.items()
    for word in words.split()
}


def counted_otherwise(said: Sequence[str], held: Sequence[str]) -> str:
    """That the record counts by another period than the reply, in words; empty when it does not.

    Args:
        said: Folded words of the reply's clause, in order.
        held: Those of the record's own part of the sentence.
    """
    ours, theirs = _periods(said), _periods(held)
    if ours and theirs and ours.isdisjoint(theirs):
        return f"the record counts by the {min(theirs)}, the reply by the {min(ours)}"
    return ""


def _periods(words: Sequence[str]) -> set[str]:
    """ "each week", "per annum": the periods by which something is counted."""
    return {
        _PERIODS[word] for before, word in pairwise(words) if before in _EACH and word in _PERIODS
    }
