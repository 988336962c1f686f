"""The clause of a reply around one date or amount: which words say what happened then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verify.namelists import COMMON_CAPITALS
from verify.surroundings import LEFT_CHARS, LIST_GAP, RIGHT_CHARS, Span, words_before
from verify.word_forms import (
    carries_event,
    fold,
    negations,
    sentence_end,
    sentence_start,
    stem,
    words_of,
)
from verify.wordlists import (
    DEADLINE_WORDS,
    OBLIGATIONS,
    POSITIONS,
    REPORTING_WORDS,
    SEQUENCE_WORDS,
)

BESIDE_ITEM = 3
"""A "before" or "after" within so many words left of an item binds the item itself and is compared
as its modifier; elsewhere it belongs to the event ("5% after default")."""

_CAPITALISED = re.compile(r"(?<![\w'’])[A-ZÀ-Þ][a-zß-ÿ]+(?:['’][A-Za-z]+)?(?!\w)")
_AS_FILED = re.compile(
    r",\s+as\s+(?:filed|recorded|written|printed|produced|docketed)(?=\s*(?:[.;)]|$))"
)
"""Says that the paper is given as it lies in the file, and of no event that it was filed."""
_WAS_TO_BE = re.compile(r"(?i)\b(?:is|are|was|were)\s+to\s+(?:be|have)\b")
_WAS_TO = re.compile(r"(?i)\b(?:is|are|was|were|has|have|had)\s+to\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseWord:
    """A word of the clause, folded, and its stem."""

    word: str
    stem: str
    weight: float
    """Nearer words weigh more, 1.0 to 0.3."""
    beyond: bool
    """It stands beyond another item of the same sort."""


@dataclass(frozen=True, kw_only=True)
class Clause:
    """What the reply says around one item."""

    words: tuple[ClauseWord, ...]
    keys: tuple[str, ...]
    """The content words nearest to the item, left before right: mostly its verb or noun."""
    run: tuple[str, ...]
    """The plain words directly before the item, nearest first."""
    left: int
    """How many plain words of the clause stand before the item."""
    right: int
    """How many stand after it."""
    plain: frozenset[str]
    """Every word of the clause as it stands."""
    ordered: tuple[str, ...]
    """The same words in their order."""
    negations: frozenset[str]
    sequence: frozenset[str]
    """Words of order: first, again, last."""
    names: tuple[str, ...]
    """Capitalised words, folded, in their order: who or what the clause is about."""
    deadline: bool
    obliged: bool
    """It speaks of what shall or may be, not of what was."""
    pending: bool
    """It says that something was still to be ("was to be replaced")."""
    fragment: bool
    """A stretch of words after a colon, no sentence of its own: "Lease: dated as of ..."."""


def clause_of(
    reply: str, item: Span, others: Sequence[Span] = (), masked: Sequence[Span] = ()
) -> Clause:
    """The clause of the reply that holds ``item``.

    Args:
        reply: The whole reply.
        item: The date or amount.
        others: Other items of the same sort in the reply.
        masked: Stretches that are not about the event: document titles, record cites.
    """
    text = reply
    for a, b in masked:
        text = text[:a] + " " * (b - a) + text[b:]
    for phrase in _AS_FILED.finditer(reply, item[1], min(len(reply), item[1] + RIGHT_CHARS)):
        a, b = phrase.span()
        text = text[:a] + " " * (b - a) + text[b:]
    whole = sentence_start(text, item[0], max(0, item[0] - LEFT_CHARS))
    end = sentence_end(text, item[1], min(len(text), item[1] + RIGHT_CHARS))
    start = _after_colon(text, whole, item[0])
    start, end = _between_semicolons(text, start, item, end)
    before = _weighed(text, start, item[0], others, backward=True)
    after = _weighed(text, item[1], end, others, backward=False)
    left, right = words_of(fold(text[start : item[0]])), words_of(fold(text[item[1] : end]))
    own = _own_part(text, start, item, end, others)
    nearest = [
        next(word.stem for word in side if word.stem not in POSITIONS)
        for side in (before, after)
        if any(word.stem not in POSITIONS and not word.beyond for word in side)
    ]
    first_letter = re.search(r"[^\W\d_]", text[start : item[0]])
    return Clause(
        words=(*before, *after),
        keys=tuple(nearest or [side[0].stem for side in (before, after) if side][:1]),
        run=words_before(reply, item[0]),
        left=len(left),
        right=len(right),
        plain=frozenset((*left, *right)),
        ordered=(*left, *right),
        negations=negations(own),
        sequence=frozenset(own) & SEQUENCE_WORDS,
        names=_names(text, start, item, end, frozenset(map(stem, own))),
        deadline=any(map(_is_deadline, (*left, *right))),
        obliged=bool(OBLIGATIONS & {*left, *right}) or bool(_WAS_TO.search(text[start:end])),
        pending=bool(_WAS_TO_BE.search(text[start:end])),
        fragment=start > whole and not (first_letter and first_letter.group().isupper()),
    )


def _names(text: str, start: int, item: Span, end: int, own: frozenset[str]) -> tuple[str, ...]:
    """Capitalised words that are no common words; all capitals say nothing."""
    words = _CAPITALISED.findall(text[start : item[0]] + " " + text[item[1] : end])
    folded = [fold(word) for word in words]
    names = (
        word
        for word in folded
        if word not in COMMON_CAPITALS and word not in REPORTING_WORDS and carries_event(word)
    )
    return tuple(dict.fromkeys(name for name in names if stem(name) in own))


def _after_colon(text: str, start: int, at: int) -> int:
    """Where the clause starts when a colon introduces it: "The lease says: rent is due on ..."."""
    left = text[start:at]
    colon = max(left.rfind(": "), left.rfind(":\n"), left.rfind("："))
    if colon >= 0 and any(map(carries_event, words_of(fold(left[colon:])))):
        return start + colon + 1
    return start


def _between_semicolons(text: str, start: int, item: Span, end: int) -> tuple[int, int]:
    """The part of the clause between semicolons that holds the item, if it says anything."""
    low = text.rfind("; ", start, item[0])
    high = text.find("; ", item[1], end)
    low = start if low < 0 else low + 1
    high = end if high < 0 else high
    said = text[low : item[0]] + " " + text[item[1] : high]
    return (low, high) if any(map(carries_event, words_of(fold(said)))) else (start, end)


def _own_part(text: str, start: int, item: Span, end: int, others: Sequence[Span]) -> list[str]:
    """The words of the clause up to the next other item on either side, lists kept together."""
    for a, b in sorted(others, reverse=True):
        if start <= a and b <= item[0] and not LIST_GAP.fullmatch(text[b : item[0]]):
            start = b
            break
    for a, b in sorted(others):
        if item[1] <= a and b <= end and not LIST_GAP.fullmatch(text[item[1] : a]):
            end = a
            break
    return words_of(fold(text[start : item[0]] + " " + text[item[1] : end]))


def _weighed(
    text: str, start: int, end: int, others: Sequence[Span], *, backward: bool
) -> list[ClauseWord]:
    """The words of one side, nearest first."""
    inside = sorted((a, b) for a, b in others if start <= a and b <= end)
    edges = [start, *(edge for span in inside for edge in span), end]
    pieces = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    if backward:
        pieces.reverse()
    found: list[ClauseWord] = []
    for beyond, piece in enumerate(pieces):
        words = words_of(fold(piece))
        if backward:
            words.reverse()
        for distance, word in enumerate(words):
            bound = backward and not beyond and distance < BESIDE_ITEM
            if _counts(word, bound=bound):
                weight = max(0.3, 1.0 - 0.08 * len(found))
                found.append(
                    ClauseWord(word=word, stem=stem(word), weight=weight, beyond=bool(beyond))
                )
    return found


def _counts(word: str, *, bound: bool) -> bool:
    if word in POSITIONS:
        return not bound
    return carries_event(word) and word not in REPORTING_WORDS and not _is_deadline(word)


def _is_deadline(word: str) -> bool:
    return word in DEADLINE_WORDS or stem(word) in DEADLINE_WORDS
