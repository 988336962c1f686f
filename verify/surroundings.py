"""What the record says around one date or amount, in regions weighted by where they stand.

Distance counts: a word across a sentence end, or across another item of the same sort, belongs
mostly to something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verify.word_forms import CJK, fold, sentence_end, sentence_start, stem, words_of

LEFT_CHARS = 900
RIGHT_CHARS = 400
"""How much of the record is read around an item: about 120 words before and 60 after, enough to
jump a page end with its running heads."""
OWN_PART = 0.9
"""Weight of the item's own part of the sentence: 1.0 before the item, 0.9 after it."""
SHARED = 0.6
"""What stands before an earlier item of the sentence: its subject, often that of both."""
OTHER_ITEM = 0.4
"""What belongs to another item of the sentence."""
OTHER_SENTENCE = 0.35
NEXT_SENTENCE = 0.3
"""The sentences before and after: good for ranking places, never enough for a word."""
RUN_WORDS = 14
"""How many words before an item are compared one by one."""
ITEM = "\ufffc"
"""Stands for the item itself in a list of words."""

Span = tuple[int, int]

LIST_GAP = re.compile(
    r"[\s,]*(?:(?:and|or|to|through|until|thru|bis|et|au|und|-|–|—|&)[\s,]*){1,3}"
)
"""Between two items of one list or range: what is said of one is said of both."""
_CLAUSE_END = re.compile(
    r"[;:]|—|--|,\s+(?:and|but|which|who|while|whereas|or|at which|when|where|then|after|before)\b"
    r"|\s(?:and|but|while|whereas)\s+(?:was|were|is|had|has|on|by|in|he|she|it|they|then|again)\b"
    r"|(?:고|며|나|서),?\s"
)
_DIVIDER = re.compile(
    r"\s(?:and|or(?!\s+(?:before|after|about|around)\b)|but|(?<!prior\s)(?<!up\s)(?<!subsequent\s)to(?!\s+[A-Z])"
    r"|until|through|while|plus|und|oder|bis|et|ou)\s"
)
_HEADER_DATE = re.compile(r"(?im)^[> \t]*(?:date|sent|datum|날짜|보낸 날짜|日付)\s*:[^\n]*$")
_HEADER_FROM = re.compile(r"(?im)^[> \t]*(?:from|von|de|보낸 ?사람|差出人)\s*:\s*(?P<who>[^\n]+)$")
HEADER_WORDS = "write send email mail message"
"""What people say a mail's sender did on the date of its header."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The regions around an item: weight, word stems, and for CJK the text without spaces."""

    regions: tuple[tuple[float, frozenset[str], str], ...]
    own: tuple[str, ...]
    """The words of the item's own part of the sentence in order, `ITEM` where it stands."""
    run: tuple[str, ...]
    """The plain words directly before the item, nearest first."""
    crowded: bool
    """Another item of its sort stands in the same sentence and is no list with it."""

    def weight_of(self, word: str) -> float:
        """The best weight with which a word stem stands here; 0 when it does not."""
        joined = len(word) > 1 and bool(CJK.search(word))
        for weight, stems, text in self.regions:
            if word in stems or (joined and word in text):
                return weight
        return 0.0


def surroundings(text: str, item: Span, neighbours: Sequence[Span]) -> Surroundings:
    """What stands around an item of the record; ``neighbours`` are other items of its sort."""
    before = [span for span in neighbours if item[0] - LEFT_CHARS <= span[1] <= item[0]]
    after = [span for span in neighbours if item[1] <= span[0] <= item[1] + RIGHT_CHARS]
    left, right = _left(text, item, before), _right(text, item, after)
    crowded = any(weight == OTHER_ITEM for weight, _ in (*left, *right))
    pieces = [*left, *right, (1.0, _header(text, item))]
    regions = []
    for weight, piece in pieces:
        folded = fold(piece)
        stems = frozenset(map(stem, words_of(folded)))
        joined = re.sub(r"\s+", "", folded) if CJK.search(folded) else ""
        regions.append((weight, stems, joined))
    regions.sort(key=lambda region: -region[0])
    return Surroundings(
        regions=tuple(regions),
        own=_own_words(left, right),
        run=words_before(text, item[0]),
        crowded=crowded,
    )


def words_before(text: str, at: int) -> tuple[str, ...]:
    """The plain words directly before ``at``, nearest first, sentence ends ignored."""
    return tuple(reversed(words_of(fold(text[max(0, at - 200) : at]))[-RUN_WORDS:]))


def _own_words(
    left: Sequence[tuple[float, str]], right: Sequence[tuple[float, str]]
) -> tuple[str, ...]:
    before = [words_of(fold(piece)) for weight, piece in left if weight >= OWN_PART]
    after = [words_of(fold(piece)) for weight, piece in right if weight >= OWN_PART]
    words = [word for piece in reversed(before) for word in piece]
    return (*words, ITEM, *(word for piece in after for word in piece))


def _header(text: str, item: Span) -> str:
    """For the date line of a mail header: who wrote, and the words people use for it."""
    line_start = text.rfind("\n", 0, item[0]) + 1
    line_end = text.find("\n", item[1])
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    if not _HEADER_DATE.fullmatch(line):
        return ""
    sender = _HEADER_FROM.search(text[max(0, line_start - 600) : line_start + 600])
    return f"{HEADER_WORDS} {sender['who'] if sender else ''}"


def _left(text: str, item: Span, before: list[Span]) -> list[tuple[float, str]]:
    """The text before an item in pieces, nearest first."""
    limit = max(0, item[0] - LEFT_CHARS)
    start = sentence_start(text, item[0], limit)
    pieces: list[tuple[float, str]] = []
    weight, at = 1.0, item[0]
    for span in reversed([span for span in before if span[0] >= start]):
        gap = text[span[1] : at]
        if not LIST_GAP.fullmatch(gap):
            boundary = _boundaries(gap)[1]
            pieces.append((weight, gap[boundary:]))
            pieces.append((OTHER_ITEM, gap[:boundary]))
            weight = SHARED if weight == 1.0 else OTHER_ITEM
        at = span[0]
    pieces.append((weight, text[start:at]))
    earlier = sentence_start(text, max(limit, start - 3), limit)
    pieces.append((OTHER_SENTENCE, text[earlier:start]))
    return pieces


def _boundaries(gap: str) -> tuple[int, int]:
    """Where what belongs to the first of two items ends, and what belongs to the second starts.

    With no clear clause end, the first "and", "to" or the like divides; with none, all between
    two items leads to the second.
    """
    if gap.lstrip().startswith(")"):
        first = last = gap.index(")")
        for found in _CLAUSE_END.finditer(gap.rstrip(" (")):
            last = found.start()
        return first, last
    ends = [found.start() for found in _CLAUSE_END.finditer(gap.rstrip(" ("))]
    if not ends:
        divider = _DIVIDER.search(gap)
        ends = [divider.start()] if divider else [0]
    return ends[0], ends[-1]


def _right(text: str, item: Span, after: list[Span]) -> list[tuple[float, str]]:
    """The text after an item in pieces, nearest first."""
    limit = min(len(text), item[1] + RIGHT_CHARS)
    end = sentence_end(text, item[1], limit)
    pieces: list[tuple[float, str]] = []
    weight, at = OWN_PART, item[1]
    for span in [span for span in after if span[0] < end]:
        gap = text[at : span[0]]
        if not LIST_GAP.fullmatch(gap):
            boundary = _boundaries(gap)[0]
            pieces.append((weight, gap[:boundary]))
            weight = OTHER_ITEM
            pieces.append((weight, gap[boundary:]))
        at = span[1]
    pieces.append((weight, text[at:end]))
    following = sentence_end(text, min(limit, end + 3), limit)
    pieces.append((NEXT_SENTENCE, text[end:following]))
    return pieces
