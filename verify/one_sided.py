"""Words that only one side says around a date or a figure, and that turn it round.

"May" for "shall", "each" for "all", "will be paid" for "will pay", another subject before the same
verb: a bag of words sees no difference. Each difference is named in words; none means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

from verify.clauses import Clause
from verify.surroundings import ITEM
from verify.word_forms import carries_event, stem
from verify.wordlists import IRREGULAR, PARTIES

_STRONG: Final = frozenset("shall must will required obliged obligated muss doit".split())
_WEAK: Final = frozenset("may can could might darf kann peut".split())
_MODALS: Final = _STRONG | _WEAK | frozenset("should would".split())
_SINGLE: Final = frozenset("each every either per".split())
_WHOLE: Final = frozenset("all both together altogether combined".split())
_MARKS: Final = frozenset(
    "fiscal gross net estimated projected budgeted forecast average maximum minimum".split()
)
"""Words of the record that say what sort of date or figure it is."""
_BE: Final = frozenset("be is are was were been being".split())
_BESIDE: Final = 5
"""Words on either side of an item that may say what sort it is."""
_REACH: Final = 2
"""Words before the repeated ones that still govern them."""


def one_sided(clause: Clause, own: Sequence[str], start: int, end: int) -> str:
    """What one side alone says, in words; empty when nothing does.

    Args:
        clause: What the reply says.
        own: The words of the item's own part of the record's sentence, `ITEM` where it stands.
        start: The part that the clause repeats begins here in ``own``.
        end: It ends before this.
    """
    governing = _without_months(own[max(0, start - _REACH) : end])
    said = _without_months(clause.ordered)
    return (
        _strength(said, governing)
        or _quantity(said, governing)
        or _marks(said, own)
        or _subject(said, own)
        or _passive(said, own, PARTIES | {*clause.names})
    )


def _without_months(words: Sequence[str]) -> list[str]:
    """The words without a "May" that is followed by a day or a year."""
    return [
        word
        for word, after in pairwise((*words, ""))
        if not (word == "may" and after[:1].isdigit())
    ]


def _strength(said: Sequence[str], held: Sequence[str]) -> str:
    ours, theirs = _MODALS & {*said}, _MODALS & {*held}
    for kind, other in ((_WEAK, _STRONG), (_STRONG, _WEAK)):
        if ours & kind and not ours & other and theirs & other and not theirs & kind:
            return f'the record says "{min(theirs & other)}", the reply "{min(ours & kind)}"'
    return ""


def _quantity(said: Sequence[str], held: Sequence[str]) -> str:
    ours, theirs = {*said}, {*held}
    for kind, other in ((_SINGLE, _WHOLE), (_WHOLE, _SINGLE)):
        if ours & kind and not ours & other and theirs & other and not theirs & kind:
            return f'the record says "{min(theirs & other)}", the reply "{min(ours & kind)}"'
    return ""


def _marks(said: Sequence[str], held: Sequence[str]) -> str:
    middle = held.index(ITEM)
    beside = held[max(0, middle - _BESIDE) : middle + _BESIDE]
    marked = [word for word in beside if word in _MARKS and word not in said]
    return f'the record says "{marked[0]}" of it, the reply does not' if marked else ""


def _subject(said: Sequence[str], held: Sequence[str]) -> str:
    """ "Tenant shall repay" where the record says "Landlord shall repay"."""
    ours, theirs = _doers(said), _doers(held)
    for verb, who in ours.items():
        known = theirs.get(verb)
        if known and not who & known:
            return f'the record says that "{min(known)}" does so'
    return ""


def _doers(words: Sequence[str]) -> dict[str, set[str]]:
    """The verb after each modal, and the parties right before that modal."""
    found: dict[str, set[str]] = {}
    for at, word in enumerate(words):
        if word not in _MODALS or not 0 < at < len(words) - 1:
            continue
        verb = next((w for w in words[at + 1 : at + 4] if carries_event(w) and w != ITEM), "")
        who = words[at - 1]
        if verb and who in PARTIES:
            found.setdefault(stem(verb), set()).add(who)
    return found


def _passive(said: Sequence[str], held: Sequence[str], who: Collection[str]) -> str:
    """The same subject before "pay" on one side and "be paid" on the other."""
    for at, word in enumerate(said[1:], start=1):
        if said[at - 1] not in _BE or not _participle(word):
            continue
        bare = stem(word)
        before = {stem(w) for w in said[: at - 1] if carries_event(w)}
        does = [
            k
            for k, w in enumerate(held)
            if k and stem(w) == bare and (held[k - 1] in _MODALS or held[k - 1] in who)
        ]
        if does and before & {stem(w) for k in does for w in held[:k]}:
            return f'the reply says "{said[at - 1]} {word}", the record "{held[does[0]]}"'
    return ""


def _participle(word: str) -> bool:
    return (len(word) > 4 and word.endswith("ed")) or (word in IRREGULAR and word != "payment")
