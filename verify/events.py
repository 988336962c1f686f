"""Whether a reply and the record speak of the same event around a date or an amount.

The words of the reply's clause are compared with the words around the item in the record. A bag of
words would pass a true date beside the wrong event, so the record's words are weighted by where
they stand (`surroundings`), the word nearest to the item must be among the item's own, and another
item of the record that fits the clause better wins. Nothing here gives a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verify.namelists import COMMON_CAPITALS
from verify.surroundings import (
    ITEM,
    LEFT_CHARS,
    LIST_GAP,
    OTHER_SENTENCE,
    OWN_PART,
    RIGHT_CHARS,
    Span,
    Surroundings,
    words_before,
)
from verify.word_forms import (
    CJK,
    carries_event,
    fold,
    negations,
    sentence_end,
    sentence_start,
    stem,
    words_of,
)
from verify.wordlists import DEADLINE_WORDS, REPORTING_WORDS, SEQUENCE_WORDS

AGREES = 0.65
"""Share of the clause's weight that must be found around the item for a green mark."""
DISAGREES = 0.45
"""Below this the words are about something else."""
BETTER_BY = 0.12
"""By how much another item must fit the clause better to be the one that was meant."""
_QUESTION_MARK = re.compile(
    r"(?m)^[ \t]*(?:\d{1,2}[ \t]+)?(?P<who>Q|A|QUESTION|ANSWER|문|답)(?:\.|:|\)|[ \t]{2,})"
)
_CAPITALISED = re.compile(r"(?<![\w'’])[A-ZÀ-Þ][a-zß-ÿ]+(?:['’][A-Za-z]+)?(?!\w)")
VERBATIM_WORDS = 5
"""So many equal words in a row before an item are a quotation of its place."""
BEYOND_ANOTHER = 0.3
"""Weight of a word of the reply that stands beyond another item of the same sort."""
CUT_OFF_WORDS = 1
"""How far before the repeated words a negation of the record still belongs to them."""


@dataclass(frozen=True, kw_only=True)
class Clause:
    """What the reply says around one item, as weighted word stems."""

    words: tuple[tuple[str, float], ...]
    key: str | None
    """The content word nearest to the item: mostly its verb or noun of event."""
    run: tuple[str, ...]
    """The plain words directly before the item, nearest first."""
    plain: frozenset[str]
    """Every word of the clause as it stands."""
    negations: frozenset[str]
    sequence: frozenset[str]
    """Words of order: first, again, last."""
    names: frozenset[str]
    """Stems of capitalised words: who or what the clause is about."""
    deadline: bool


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far a clause and the surroundings of an item agree."""

    score: float
    """Share of the clause's weight found, 0 to 1."""
    key: bool
    """Whether the word nearest to the item stands in the item's own part of the sentence."""
    run: int
    """How many plain words directly before the item are the same."""
    verbatim: bool
    """The words before the item stand before it in the record too, word for word and long enough
    to be no accident."""
    missing: tuple[str, ...]
    negation: str
    """The negation that one side has and the other lacks, empty when there is none."""
    sequence: str
    """A word of order that the reply has and the record lacks."""
    unnamed: tuple[str, ...] = ()
    """Names of the clause that do not stand in the item's own part of the sentence."""

    @property
    def rank(self) -> float:
        """For sorting places: the share found, the order of words, the nearest word."""
        return self.score + 0.03 * self.run + 0.1 * self.key

    @property
    def good(self) -> bool:
        """Enough of the clause stands there, its nearest word included."""
        return self.score >= AGREES and self.key


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
    start = sentence_start(text, item[0], max(0, item[0] - LEFT_CHARS))
    end = sentence_end(text, item[1], min(len(text), item[1] + RIGHT_CHARS))
    start = _after_colon(text, start, item[0])
    before = _weighed(text, start, item[0], others, backward=True)
    after = _weighed(text, item[1], end, others, backward=False)
    first = before if before and before[0][1] == 1.0 else after or before
    plain = words_of(fold(text[start : item[0]])) + words_of(fold(text[item[1] : end]))
    own = _own_part(text, start, item, end, others)
    return Clause(
        words=(*before, *after),
        key=first[0][0] if first else None,
        run=words_before(reply, item[0]),
        plain=frozenset(plain),
        negations=negations(own),
        sequence=frozenset(own) & SEQUENCE_WORDS,
        names=_names(text, start, item, end, frozenset(map(stem, own))),
        deadline=any(map(_is_deadline, plain)),
    )


def _names(text: str, start: int, item: Span, end: int, own: frozenset[str]) -> frozenset[str]:
    """Capitalised words that are no common words; all capitals say nothing."""
    words = _CAPITALISED.findall(text[start : item[0]] + " " + text[item[1] : end])
    folded = {fold(word) for word in words if fold(word) not in COMMON_CAPITALS}
    names = {stem(word) for word in folded if carries_event(word) and word not in REPORTING_WORDS}
    return frozenset(names & own)


def _after_colon(text: str, start: int, at: int) -> int:
    """Where the clause starts when a colon introduces it: "The lease says: rent is due on ..."."""
    left = text[start:at]
    colon = max(left.rfind(": "), left.rfind(":\n"), left.rfind("："))
    if colon >= 0 and any(map(carries_event, words_of(fold(left[colon:])))):
        return start + colon + 1
    return start


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
) -> list[tuple[str, float]]:
    """The stems of one side, nearest first: nearer words weigh more, those beyond another item
    little."""
    inside = sorted((a, b) for a, b in others if start <= a and b <= end)
    edges = [start, *(edge for span in inside for edge in span), end]
    pieces = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    if backward:
        pieces.reverse()
    found: list[tuple[str, float]] = []
    for beyond, piece in enumerate(pieces):
        words = words_of(fold(piece))
        for word in reversed(words) if backward else words:
            if not carries_event(word) or word in REPORTING_WORDS or _is_deadline(word):
                continue
            weight = max(0.3, 1.0 - 0.08 * len(found)) * (BEYOND_ANOTHER if beyond else 1.0)
            found.append((stem(word), weight))
    return found


def _is_deadline(word: str) -> bool:
    return word in DEADLINE_WORDS or stem(word) in DEADLINE_WORDS


def compare(clause: Clause, around: Surroundings) -> Agreement:
    """How far the reply's clause agrees with what stands around an item of the record."""
    total = held = 0.0
    missing = []
    for word, weight in clause.words:
        found = around.weight_of(word)
        total += weight
        held += weight * (1.0 if found >= OWN_PART else found)
        if found < OTHER_SENTENCE:
            missing.append(word)
    run = _equal_run(clause.run, around.run)
    verbatim = run >= VERBATIM_WORDS and sum(map(carries_event, clause.run[:run])) >= 2
    score = held / total if total else 0.0
    there = _negations_there(clause, around)
    unnamed = {word for word in clause.names if around.weight_of(word) < OWN_PART}
    order = {word for word in clause.sequence if around.weight_of(stem(word)) < OWN_PART}
    if verbatim:
        score = max(score, 0.9)
        there |= clause.negations & negations(around.run[run - 1 :: -1])
        order -= set(around.run[:run])
        unnamed -= set(map(stem, around.run[:run]))
    key = clause.key is not None and around.weight_of(clause.key) >= OWN_PART
    return Agreement(
        score=score,
        key=key or verbatim,
        run=run,
        verbatim=verbatim,
        missing=tuple(missing),
        negation=", ".join(sorted(clause.negations ^ there)),
        sequence=", ".join(sorted(order)),
        unnamed=tuple(sorted(unnamed)),
    )


def _equal_run(said: Sequence[str], held: Sequence[str]) -> int:
    run = 0
    for a, b in zip(said, held, strict=False):
        if a != b:
            break
        run += 1
    return run


def _negations_there(clause: Clause, around: Surroundings) -> frozenset[str]:
    """The negations of the record within the stretch that the clause repeats.

    A "not" just before the stretch counts, since a reply may have cut it off; so does one just
    after it in the languages that put it there.
    """
    own = around.own
    middle = own.index(ITEM)
    nearest: dict[str, int] = {}
    said = {word for word, _ in clause.words}
    for at, word in enumerate(own):
        for one in _said(word, said):
            if one not in nearest or abs(at - middle) < abs(nearest[one] - middle):
                nearest[one] = at
    start = min((middle, *nearest.values()))
    end = max((middle, *nearest.values())) + 1
    while start > 0 and own[start - 1] in clause.plain:
        start -= 1
    if end < len(own) and (CJK.search(own[end]) or own[end] in ("nicht", "pas", "jamais")):
        end += 1
    return negations(own[max(0, start - CUT_OFF_WORDS) : end])


def _said(word: str, said: set[str]) -> list[str]:
    if CJK.search(word):
        return [one for one in said if len(one) > 1 and one in word]
    return [stem(word)] if stem(word) in said else []


def _in_question(text: str, at: int) -> bool:
    """Whether the nearest mark of question or answer before ``at`` is a question's."""
    marks = _QUESTION_MARK.findall(text, max(0, at - 1_500), at)
    return (
        bool(marks)
        and marks[-1] in ("Q", "QUESTION", "문")
        and {"A", "ANSWER", "답"} & {*_QUESTION_MARK.findall(text, max(0, at - 5_000), at + 5_000)}
        != set()
    )


# --- weighing one place against another ---


def fits_better(rival: Agreement, own: Agreement) -> bool:
    """Whether the clause belongs to another item of the document rather than to this one."""
    if rival.verbatim and rival.run >= own.run + 2:
        return True
    if own.verbatim or rival.score < DISAGREES:
        return False
    better_words = rival.score >= own.score + BETTER_BY and rival.key
    own_key = rival.key and not own.key and rival.score >= own.score - 0.05
    return better_words or own_key


def fits_as_well(rival: Agreement, own: Agreement, clause: Clause) -> bool:
    """Whether another item fits so well that the clause does not tell the two apart."""
    if own.verbatim:
        return False
    thin = len(clause.words) < 2 and rival.key and rival.run >= own.run
    return thin or (rival.score >= own.score and rival.run > own.run)


def disagreement(clause: Clause, words: Agreement, title: str, text: str, at: int) -> str:
    """Why the words around a held item do not carry a green mark; empty when they do.

    Args:
        clause: The reply's clause.
        words: How it agrees with the place.
        title: The title of the document: who it names speaks in it, but for quoted mail.
        text: The document.
        at: Where the item stands in it.
    """
    line = text[text.rfind("\n", 0, at) + 1 : at]
    speakers = set() if line.lstrip().startswith(">") else set(map(stem, words_of(fold(title))))
    strangers = sorted(set(words.unnamed) - speakers)
    if _in_question(text, at):
        return "Found in a question put to a witness, not in an answer"
    if strangers and words.score >= DISAGREES:
        return f"Found, but the record does not name {strangers[0].title()} there"
    if clause.key is None and not words.verbatim:
        return "Found, but the reply says too little around it to compare"
    if words.negation:
        return f'Found, but one side says "{words.negation}" and the other does not'
    if words.sequence:
        return f'Found, but the record does not say "{words.sequence}" there'
    if words.score < DISAGREES:
        return "Found, but the record's words there do not speak of this"
    if not words.good:
        missing = ", ".join(words.missing[:4])
        reason = "Found, but the words around it agree only in part"
        return f"{reason}: {missing}" if missing else reason
    return ""
