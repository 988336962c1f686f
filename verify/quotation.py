"""Parses the words between quotation marks: ellipses, brackets, [sic], emphasis.

The same words can be read in more ways than one: a bracket may be the quoter's or the record's own.
`readings` gives every way that makes sense; `quotes.py` believes the one the record bears out.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Final

from verify.tokens import Unit, fold_between, fold_word, scan

ELLIPSIS: Final = re.compile(
    r"[\[(（〔<]\s*(?:(?:\.\s*){2,4}|…+|\*\s*\*\s*\*|중략|中略|생략|略|前略|後略)\s*[\])）〕>]"
    r"|(?:\.[ \u00a0\u2009]?){3,5}|…+\.?|\*[ \u00a0]\*[ \u00a0]\*|(?<!\S)\*\*\*(?!\S)"
    r"|･･･+|・・・+|‥+"
)
_MARKDOWN_QUOTE: Final = re.compile(r"(?m)^[ \t]*(?:>[ \t]?)+")
_LETTERS: Final = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
_COMPOUND: Final = re.compile(rf"(?:{_LETTERS})?\[[^\W\d_]{{0,14}}['’]?[^\W\d_]*\](?:{_LETTERS})?")
_BRACKET: Final = re.compile(r"[\[［〔]([^\[\]［］〔〕]{0,200})[\]］〕]")
_ASIDE: Final = re.compile(
    r"\s*(sic|sic\.|sic!|recte.*|emphasis (?:added|supplied|mine|in (?:the )?original|omitted)"
    r"|(?:internal |inner )?(?:quotation marks?|quotations?|quotes?|footnotes?|brackets?|"
    r"alterations?)"
    r"(?: and (?:citations?|footnotes?))? omitted"
    r"|원문 그대로|강조 추가|강조는 필자|ママ|강조.{0,6}|傍点.{0,6}"
    r"|Hervorhebung.{0,20}|souligné.{0,20})\s*",
    re.IGNORECASE,
)
_CITATION_ASIDE: Final = re.compile(
    r"\s*(?:citations?|cites?|인용 생략).{0,20}omitted\s*|\s*인용 생략\s*", re.IGNORECASE
)
INFLECTIONS: Final = frozenset(
    {
        "",
        "s",
        "es",
        "d",
        "ed",
        "ing",
        "r",
        "er",
        "ies",
        "y",
        "ied",
        "e",
        "'s",
        "'",
        "ying",
        "n",
        "en",
    }
)
MAX_GAP_WORDS: Final = {"ellipsis": 160, "bracket": 14, "citation": 40}
"""How many words of the record may stand in a gap; above it the parts are too far apart."""


@dataclass(slots=True)
class Word:
    """One unit of the quotation and how it may meet the record."""

    unit: Unit
    bracket: str = ""
    """Empty; ``case`` for ``[t]he``; ``stem`` for ``argue[d]``."""
    outside: str = ""
    """The folded letters outside the brackets."""
    inside: str = ""


@dataclass(frozen=True)
class Gap:
    """A place at which the record may hold words that the quotation does not."""

    kind: str
    """``ellipsis``, ``bracket`` or ``citation``."""
    words: str
    """What the quotation puts there."""


@dataclass(slots=True)
class Quotation:
    """One reading of the words between the marks."""

    words: list[Word] = field(default_factory=list)
    gaps: dict[int, Gap] = field(default_factory=dict)
    """Gaps by the number of the word they stand before; ``len(words)`` is the end."""
    asides: list[str] = field(default_factory=list)
    """[sic] and its like."""
    tail: str = ""
    """Folded punctuation after the last word."""
    emphasis: bool = False

    @property
    def keys(self) -> list[str]:
        return [word.unit.key for word in self.words]

    @property
    def vocabulary(self) -> set[str]:
        """Every key the quotation may meet."""
        made = set(self.keys)
        for word in self.words:
            if word.bracket == "stem":
                made.update(word.outside + ending for ending in INFLECTIONS)
        return made

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The stretches of words between gaps, as ``[first, end)``."""
        bounds = sorted({0, len(self.words), *(k for k in self.gaps if 0 < k < len(self.words))})
        return [(a, b) for a, b in itertools.pairwise(bounds) if a < b]


def readings(text: str) -> list[Quotation]:
    """Every sensible reading, the most literal first.

    Args:
        text: The words between the marks, as written.
    """
    text = _MARKDOWN_QUOTE.sub(lambda mark: " " * len(mark.group()), text)
    plain = _parse(text, brackets=False, dots=False)
    if not plain.words:
        return []
    has_dots = bool(ELLIPSIS.search(text))
    has_brackets = bool(_BRACKET.search(text))
    made = [plain]
    if has_dots and has_brackets:
        made.append(_parse(text, brackets=False, dots=True))
    if has_dots or has_brackets:
        made.append(_parse(text, brackets=True, dots=True))
    return [reading for reading in made if reading.words]


def _parse(text: str, *, brackets: bool, dots: bool) -> Quotation:
    made = Quotation(
        emphasis=bool(re.search(r"(?<!\*)\*{1,2}(?=\S)[^*]+?\*{1,2}|__\S|(?<!\w)_\S", text))
    )
    pending = ""
    at = 0
    while at < len(text):
        special = _next_special(text, at, brackets=brackets, dots=dots)
        stop = special.start() if special else len(text)
        pending = _take(made, text, at, stop, pending)
        if special is None:
            break
        pending = _special(made, special, text, pending)
        at = special.end()
    made.tail = fold_between(pending)
    return made


def _next_special(text: str, at: int, *, brackets: bool, dots: bool) -> re.Match[str] | None:
    found = []
    if dots:
        found.append(ELLIPSIS.search(text, at))
    if brackets:
        compound = _COMPOUND.search(text, at)
        while compound and compound.group().startswith("[") and compound.group().endswith("]"):
            compound = _COMPOUND.search(text, compound.end())
        found.extend((compound, _BRACKET.search(text, at)))
    hits = [match for match in found if match]
    return min(hits, key=lambda match: (match.start(), -match.end())) if hits else None


def _take(made: Quotation, text: str, start: int, stop: int, pending: str) -> str:
    last = start
    for unit in scan(text[start:stop], start=start):
        gap = pending + text[last : unit.start]
        unit.before = fold_between(gap)
        unit.glued = bool(made.words) and not any(c.isspace() for c in gap)
        made.words.append(Word(unit))
        pending, last = "", unit.end
    return pending + text[last:stop]


def _special(made: Quotation, match: re.Match[str], text: str, pending: str) -> str:
    piece = match.group()
    if ELLIPSIS.fullmatch(piece):
        made.gaps[len(made.words)] = Gap("ellipsis", piece)
        return pending
    if match.re is _COMPOUND:
        word = _compound(match)
        if word is not None:
            word.unit.before = fold_between(pending)
            made.words.append(word)
            return ""
        made.gaps[len(made.words)] = Gap("bracket", piece)
        return pending
    content = match.group(1)
    if _CITATION_ASIDE.fullmatch(content):
        made.gaps[len(made.words)] = Gap("citation", piece)
    elif _ASIDE.fullmatch(content):
        made.asides.append(piece)
    else:
        made.gaps[len(made.words)] = Gap("bracket", piece)
    return pending


def _compound(match: re.Match[str]) -> Word | None:
    """``[t]he`` or ``argue[d]`` as one word; None where the brackets do something else."""
    piece = match.group()
    whole = piece.replace("[", "").replace("]", "")
    inside = "".join(re.findall(r"\[([^\]]*)\]", piece))
    head, _, rest = piece.partition("[")
    tail = rest.partition("]")[2]
    if not whole.isascii() and any("\u1100" <= c <= "\ud7a3" for c in whole):
        return None
    unit = Unit(key=fold_word(whole), raw=whole, start=match.start(), end=match.end(), before="")
    if not head and len(inside) == 1 and tail:
        return Word(unit, "case", fold_word(tail), fold_word(inside))
    if head and not tail:
        return Word(unit, "stem", fold_word(head), fold_word(inside) if inside else "")
    return None
