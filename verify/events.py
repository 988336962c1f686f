"""Whether two texts speak of the same event around a date or an amount.

The words of the reply's clause are compared with the words around the item in the record. A bag
of words would pass a true date beside the wrong event, so distance counts on both sides: words
across a sentence end, or across another item of the same sort, belong mostly to that other item.
Nothing here gives a verdict; `Agreement` says what agreed and what did not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from verify.wordlists import (
    DEADLINE_WORDS,
    FUNCTION_WORDS,
    IRREGULAR,
    KOREAN_ENDINGS,
    KOREAN_NEGATIONS,
    NEGATIONS,
    REPORTING_WORDS,
    SEQUENCE_WORDS,
    WEEKDAYS,
)

LEFT_CHARS = 900
RIGHT_CHARS = 400
"""How much of the record is read around an item: about 120 words before and 60 after, enough to
jump a page end with its running heads."""

OTHER_ITEM = 0.4
OTHER_SENTENCE = 0.5
NEXT_SENTENCE = 0.3
SAME_SENTENCE_AFTER = 0.9
"""Weights of a record word by where it stands. A word across another date counts less than half,
so that it can never carry a match alone."""

CUT_OFF_WORDS = 2
"""How far before the repeated words a negation of the record still belongs to them."""
VERBATIM_WORDS = 5
"""So many equal words in a row before an item are a quotation of its place."""
RUN_WORDS = 14
"""How many words before an item are compared one by one."""
ITEM = "\ufffc"
"""Stands for the item itself in a list of words."""

Span = tuple[int, int]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_HYPHEN_AT_LINE_END = re.compile(r"(?<=\w)(?:[-‐]\s*\n\s*|\u00ad\s*)(?=[a-zà-ÿ])")
_SUFFIXES = (
    "ations ation itions ition ements ement ments ment ions ion ings ing ied ies ed es s e ly"
).split()
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:v|vs|No|Nos|Mr|Mrs|Ms|Dr|Inc|Corp|Co|Ltd|L\.?L\.?C|Cir|Sec|Fed|Ex|Exh|Dec|Jan|Feb|Mar|Apr|Aug|Sept?|Oct"
    r"|Nov|St|Jr|Sr|al|Id|Cal|Dist|App|Supp|Rev|Civ|Crim|Proc|Dep|Tr|Decl|Dkt|art|p|pp|cf|e\.g|i\.e|[A-Z])|\d)\.$"
)
_SENTENCE_END = re.compile(
    r"[.!?。][\"')\]”’]{0,2}\d{0,2}(?=\s)|다\.(?=\s)|。|\n\s*\n(?=\s*(?:\d+\.|[A-Z]{2,}|[가-힣]\.))"
)
_CLAUSE_END = re.compile(
    r"[;:]|—|--|,\s+(?:and|but|which|who|while|whereas|or|at which|when|where|then|after|before)\b"
    r"|\s(?:and|but|while|whereas)\s+(?:was|were|is|had|has|on|by|in|he|she|it|they|then|again)\b"
    r"|(?:고|며|나|서),?\s"
)
_LIST_GAP = re.compile(
    r"[\s,]*(?:(?:and|or|to|through|until|thru|bis|et|au|und|-|–|—|&)[\s,]*){1,3}"
)
_HEADER_DATE = re.compile(r"(?im)^[> \t]*(?:date|sent|datum|날짜|보낸 날짜|日付)\s*:[^\n]*$")
_HEADER_FROM = re.compile(r"(?im)^[> \t]*(?:from|von|de|보낸 ?사람|差出人)\s*:\s*(?P<who>[^\n]+)$")
HEADER_WORDS = ("write", "send", "email", "e-mail", "mail", "messag")


def fold(text: str) -> str:
    """Letters as compared here: compatibility forms, lower case, broken words joined."""
    return unicodedata.normalize("NFKC", _HYPHEN_AT_LINE_END.sub("", text)).lower()


def stem(word: str) -> str:
    """One form for the inflections of a word; words about people keep their endings.

    "employer" and "employee", "lessor" and "lessee" stay apart; "terminated" and "termination" do
    not.
    """
    word = re.sub(r"['’]s?$", "", word)
    if _CJK.search(word):
        return _korean_stem(word)
    if word in IRREGULAR:
        return IRREGULAR[word]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            shorter = word[: -len(suffix)]
            if suffix in ("ied", "ies"):
                shorter += "y"
            elif len(shorter) > 3 and shorter[-1] == shorter[-2] and suffix in ("ed", "ing"):
                shorter = shorter[:-1]
            shorter = shorter.removesuffix("e") if len(shorter) > 3 else shorter
            return IRREGULAR.get(shorter, shorter)
    return word


def _korean_stem(word: str) -> str:
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            return word[: -len(ending)]
    return word


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _content(word: str) -> bool:
    return len(word) > 1 and not (
        word in FUNCTION_WORDS
        or word in NEGATIONS
        or word in WEEKDAYS
        or word.endswith(("n't", "n’t"))
    )


def sentence_start(text: str, at: int, limit: int) -> int:
    """Where the sentence around ``at`` starts, not before ``limit``."""
    start = limit
    for end in _SENTENCE_END.finditer(text, limit, at):
        if not _ABBREVIATION.search(text, max(limit, end.start() - 8), end.start() + 1):
            start = end.end()
    return start


def sentence_end(text: str, at: int, limit: int) -> int:
    """Where the sentence around ``at`` ends, not after ``limit``."""
    for end in _SENTENCE_END.finditer(text, at, limit):
        if not _ABBREVIATION.search(text, max(at, end.start() - 8), end.start() + 1):
            return end.end()
    return limit


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
    deadline: bool


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the record says around one item: regions of words, each with its weight."""

    regions: tuple[tuple[float, frozenset[str], str], ...]
    own: tuple[str, ...]
    """The words of the item's own part of the sentence in order, `ITEM` where it stands."""
    run: tuple[str, ...]
    header: bool


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
    """The words before the item stand before it in the record, word for word and long enough to be
    no accident."""
    missing: tuple[str, ...]
    negation: str
    """The negation that one side has and the other lacks, empty when there is none."""
    sequence: str
    """A word of order ("first", "again") that the reply has and the record lacks."""


def _masked(text: str, spans: Sequence[Span]) -> str:
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


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
    text = _masked(reply, masked)
    start = sentence_start(text, item[0], max(0, item[0] - LEFT_CHARS))
    end = sentence_end(text, item[1], min(len(text), item[1] + RIGHT_CHARS))
    left, right = text[start : item[0]], text[item[1] : end]
    colon = max(left.rfind(": "), left.rfind(":\n"), left.rfind("：") - 1)
    if colon >= 0 and any(map(_content, _words(fold(left[colon:])))):
        left = left[colon + 2 :]
        start = item[0] - len(left)
    weighted: list[tuple[str, float]] = []
    _weigh(weighted, text, start, item[0], others, backward=True)
    key = weighted[0] if weighted and weighted[0][1] == 1.0 else None
    _weigh(weighted, text, item[1], end, others, backward=False)
    key = key or (weighted[0] if weighted else None)
    plain = _words(fold(left))
    around = plain + _words(fold(right))
    own = _own_part(text, start, item, end, others)
    return Clause(
        words=tuple(weighted),
        key=key[0] if key else None,
        run=_run(text, item[0], item[0] - len(left) if colon >= 0 else max(0, item[0] - 200)),
        plain=frozenset(around),
        negations=_negations(own, _words(own)),
        sequence=frozenset(word for word in _words(own) if word in SEQUENCE_WORDS),
        deadline=any(word in DEADLINE_WORDS or stem(word) in DEADLINE_WORDS for word in around),
    )


def _run(text: str, at: int, limit: int) -> tuple[str, ...]:
    """The plain words directly before ``at``, nearest first, sentence ends ignored."""
    return tuple(reversed(_words(fold(text[limit:at]))[-RUN_WORDS:]))


def _own_part(text: str, start: int, item: Span, end: int, others: Sequence[Span]) -> str:
    """The clause up to the next item of the same sort on either side, unless they form a list."""
    for a, b in sorted(others, reverse=True):
        if start <= a and b <= item[0] and not _LIST_GAP.fullmatch(text[b : item[0]]):
            start = b
            break
    for a, b in sorted(others):
        if item[1] <= a and b <= end and not _LIST_GAP.fullmatch(text[item[1] : a]):
            end = a
            break
    return fold(text[start : item[0]] + " " + text[item[1] : end])


def _negations(folded: str, words: Sequence[str]) -> frozenset[str]:
    following = (*words[1:], "")
    found = {
        word
        for word, then in zip(words, following, strict=False)
        if (word in NEGATIONS or word.endswith(("n't", "n’t")))
        and not (word == "no" and then[:1].isdigit())
    }
    if _CJK.search(folded):
        found.update(sign for sign in KOREAN_NEGATIONS if sign in folded)
    return frozenset("not" if word.endswith(("n't", "n’t")) else word for word in found)


def _weigh(
    into: list[tuple[str, float]],
    text: str,
    start: int,
    end: int,
    others: Sequence[Span],
    *,
    backward: bool,
) -> None:
    """Weighs the words of one side: nearer words count more, words beyond another item little."""
    found = [
        (match.group(), match.start())
        for match in _WORD.finditer(text, start, end)
        if not any(a <= match.start() < b for a, b in others)
    ]
    words = [(fold(word), at) for word, at in found]
    if backward:
        words.reverse()
    item_at = end if backward else start
    distance = 0
    for word, at in words:
        for part in _words(word):
            if not _content(part) or part in REPORTING_WORDS or part in DEADLINE_WORDS:
                continue
            weight = max(0.3, 1.0 - 0.08 * distance)
            low, high = min(at, item_at), max(at, item_at)
            if any(low <= a < high for a, _ in others):
                weight *= 0.3
            into.append((stem(part), weight))
            distance += 1


def surroundings(text: str, item: Span, neighbours: Sequence[Span]) -> Surroundings:
    """What stands around an item of the record; ``neighbours`` are other items of its sort."""
    before = [span for span in neighbours if item[0] - LEFT_CHARS <= span[1] <= item[0]]
    after = [span for span in neighbours if item[1] <= span[0] <= item[1] + RIGHT_CHARS]
    left, right = _left(text, item, before), _right(text, item, after)
    pieces = [*left, *right]
    header = _header(text, item)
    if header:
        pieces.insert(0, (1.0, header))
    regions = []
    for weight, piece in pieces:
        folded = fold(piece)
        stems = frozenset(stem(word) for word in _words(folded))
        joined = re.sub(r"\s+", "", folded) if _CJK.search(folded) else ""
        regions.append((weight, stems, joined))
    regions.sort(key=lambda region: -region[0])
    return Surroundings(
        regions=tuple(regions),
        own=_own_words(left, right),
        run=_run(text, item[0], max(0, item[0] - 200)),
        header=bool(header),
    )


def _own_words(left: list[tuple[float, str]], right: list[tuple[float, str]]) -> tuple[str, ...]:
    before = [_words(fold(piece)) for weight, piece in left if weight >= SAME_SENTENCE_AFTER]
    after = [_words(fold(piece)) for weight, piece in right if weight >= SAME_SENTENCE_AFTER]
    words = [word for piece in reversed(before) for word in piece]
    return (*words, ITEM, *(word for piece in after for word in piece))


def _header(text: str, item: Span) -> str:
    """For the date line of a mail header: who wrote, and the words people use for it."""
    line_start = text.rfind("\n", 0, item[0]) + 1
    line_end = text.find("\n", item[1])
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    if not _HEADER_DATE.fullmatch(line):
        return ""
    block = text[max(0, line_start - 600) : line_start + 600]
    sender = _HEADER_FROM.search(block)
    return " ".join((*HEADER_WORDS, sender["who"] if sender else ""))


def _left(text: str, item: Span, before: list[Span]) -> list[tuple[float, str]]:
    limit = max(0, item[0] - LEFT_CHARS)
    start = sentence_start(text, item[0], limit)
    pieces: list[tuple[float, str]] = []
    weight, at = 1.0, item[0]
    for span in reversed([span for span in before if span[0] >= start]):
        gap = text[span[1] : at]
        if not _LIST_GAP.fullmatch(gap):
            boundary = _last_boundary(gap)
            pieces.append((weight, gap[boundary:]))
            pieces.append((OTHER_ITEM, gap[:boundary]))
            weight = OTHER_SENTENCE if weight == 1.0 else OTHER_ITEM
        at = span[0]
    pieces.append((weight, text[start:at]))
    earlier = sentence_start(text, max(limit, start - 3), limit)
    pieces.append((OTHER_SENTENCE, text[earlier:start]))
    return pieces


def _last_boundary(gap: str) -> int:
    """Where the part of the sentence that leads to the later of two items starts."""
    boundary = gap.index(")") if gap.lstrip().startswith(")") else 0
    for found in _CLAUSE_END.finditer(gap.rstrip(" (")):
        boundary = found.start()
    return boundary


def _right(text: str, item: Span, after: list[Span]) -> list[tuple[float, str]]:
    limit = min(len(text), item[1] + RIGHT_CHARS)
    end = sentence_end(text, item[1], limit)
    pieces: list[tuple[float, str]] = []
    weight, at = SAME_SENTENCE_AFTER, item[1]
    for span in [span for span in after if span[0] < end]:
        gap = text[at : span[0]]
        if not _LIST_GAP.fullmatch(gap):
            found = _CLAUSE_END.search(gap)
            boundary = found.start() if found and not gap.lstrip().startswith(")") else 0
            pieces.append((weight, gap[:boundary]))
            weight = OTHER_ITEM
            pieces.append((weight, gap[boundary:]))
        at = span[1]
    pieces.append((weight, text[at:end]))
    following = sentence_end(text, min(limit, end + 3), limit)
    pieces.append((NEXT_SENTENCE, text[end:following]))
    return pieces


def _weight_of(word: str, around: Surroundings) -> float:
    joined = bool(_CJK.search(word))
    for weight, stems, text in around.regions:
        if word in stems or (joined and len(word) > 1 and word in text):
            return weight
    return 0.0


def _negations_there(clause: Clause, around: Surroundings) -> frozenset[str]:
    """The negations of the record within the stretch that the clause repeats.

    A "not" just before the stretch counts: a reply may have cut it off.
    """
    own = around.own
    middle = own.index(ITEM)
    nearest: dict[str, int] = {}
    said = {word for word, _ in clause.words}
    for at, word in enumerate(own):
        for one in _said(word, said):
            if one not in nearest or abs(at - middle) < abs(nearest[one] - middle):
                nearest[one] = at
    start = min(middle, *nearest.values()) if nearest else middle
    end = max(middle, *nearest.values()) if nearest else middle
    while start > 0 and own[start - 1] in clause.plain:
        start -= 1
    stretch = own[max(0, start - CUT_OFF_WORDS) : end + 1]
    return _negations(" ".join(stretch), stretch)


def _said(word: str, said: set[str]) -> list[str]:
    if _CJK.search(word):
        return [one for one in said if len(one) > 1 and one in word]
    return [stem(word)] if stem(word) in said else []


def compare(clause: Clause, around: Surroundings) -> Agreement:
    """How far the reply's clause agrees with what stands around an item of the record."""
    total = held = 0.0
    missing = []
    for word, weight in clause.words:
        found = _weight_of(word, around)
        total += weight
        held += weight * (1.0 if found >= SAME_SENTENCE_AFTER else found)
        if found < OTHER_SENTENCE:
            missing.append(word)
    run = 0
    for said, kept in zip(clause.run, around.run, strict=False):
        if said != kept:
            break
        run += 1
    verbatim = run >= VERBATIM_WORDS and sum(map(_content, clause.run[:run])) >= 2
    score = held / total if total else 0.0
    there = _negations_there(clause, around)
    if verbatim:
        there |= clause.negations & _negations("", around.run[run - 1 :: -1])
    differing = clause.negations ^ there
    sequence = sorted(word for word in clause.sequence if _weight_of(stem(word), around) < 0.9)
    return Agreement(
        score=max(score, 0.9) if verbatim else score,
        key=verbatim
        or (clause.key is not None and _weight_of(clause.key, around) >= SAME_SENTENCE_AFTER),
        run=run,
        verbatim=verbatim,
        missing=tuple(missing),
        negation=", ".join(sorted(differing)),
        sequence=", ".join(sequence),
    )
