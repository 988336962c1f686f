"""Who may or must do it, and how often: what governs a figure or a date in its clause.

The words around a value may all be the record's and the statement still another one, when the party
before the verb, the verb's "may" or "shall", or the period it counts by is exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from verify.wordlists import PARTIES

_MAY: Final = frozenset(
    "may might can could permitted entitled darf dürfen kann können peut".split()
)
_MUST: Final = frozenset(
    "shall must required requires obliged obligated muss müssen soll sollen doit".split()
)
_VERBS: Final = _MAY | _MUST | frozenset("will should would".split())
_EACH: Final = frozenset("each every per jede jeder jedes pro chaque par".split())
_PERIODS: Final = {
    "day": "day", "days": "day", "daily": "day", "tag": "day", "jour": "day",
    "week": "week", "weeks": "week", "weekly": "week", "woche": "week", "semaine": "week",
    "month": "month", "months": "month", "monthly": "month", "monat": "month", "mois": "month",
    "quarter": "quarter", "quarterly": "quarter", "quartal": "quarter", "trimestre": "quarter",
    "year": "year", "years": "year", "yearly": "year", "annum": "year", "annually": "year",
    "jahr": "year", "an": "year",
    "hour": "hour", "hours": "hour", "hourly": "hour", "stunde": "hour", "heure": "hour",
}  # fmt: skip


def governed_otherwise(said: Sequence[str], held: Sequence[str]) -> str:
    """What governs the clause in the record and not in the reply, in words; empty when nothing.

    Args:
        said: Folded words of the reply's clause, in order.
        held: Those of the record's own part of the sentence.
    """
    ours, theirs = _verbs(said), _verbs(held)
    if ours and theirs and ours.isdisjoint(theirs):
        word = next(w for w in held if _class(w) in theirs)
        return f'the record says "{word}", the reply does not'
    subject, other = _subject(said), _subject(held)
    if subject and other and subject != other:
        return f"the record says it of the {other}, the reply of the {subject}"
    period, counted = _periods(said), _periods(held)
    if period and counted and period.isdisjoint(counted):
        return f"the record counts by the {min(counted)}, the reply by the {min(period)}"
    return ""


def _class(word: str) -> str:
    return "may" if word in _MAY else "must" if word in _MUST else ""


def _verbs(words: Sequence[str]) -> set[str]:
    """Permission, duty or both; "May 9" is a month."""
    return {
        _class(word)
        for word, after in pairwise((*words, ""))
        if _class(word) and not after[:1].isdigit() and after != "\ufffc"
    }


def _subject(words: Sequence[str]) -> str:
    """The party right before the last verb of permission or duty."""
    found = ""
    for before, word in pairwise(words):
        if word in _VERBS and before in PARTIES:
            found = before
    return found


def _periods(words: Sequence[str]) -> set[str]:
    return {
        _PERIODS[word] for before, word in pairwise(words) if before in _EACH and word in _PERIODS
    }
