"""A document's text as sentences that can be quoted: words without page furniture, and their place.

Lines of a page become one running text: printed line numbers, stamps and running heads are left
out, a sentence goes on over a line end or a page end, and every character keeps its offset in the
canonical text. Questions and answers of a transcript are told apart, and an answer knows its
question. The checker does not use this file: what is quoted here is proven there, by other code.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol.ids import DocumentId
from protocol.record import PageInfo

_NUMBERED: Final = re.compile(r"[ \t]{0,8}(\d{1,2})(?:[ \t]+|$)")
_TURN: Final = re.compile(
    r"(?P<q>Q\.?)[ \t]+|(?P<a>A\.?)[ \t]+"
    r"|(?P<who>(?:(?:THE|MR\.|MS\.|MRS\.|DR\.|JUSTICE|CHIEF JUSTICE) )?"
    r"[A-Z][A-Z'.\- ]{1,40}):[ \t]+"
)
_ITEM: Final = re.compile(
    r"(?:\(?\d{1,3}[.)]|\d{1,2}(?:\.\d{1,2}){1,3}\.?|\([a-z]{1,3}\)|[•●▪*-]|¶ ?\d+)[ \t]+\S"
)
_QUESTIONS: Final = re.compile(r"^[ \t]*(?:\d{1,2}[ \t]+)?Q\.?[ \t]+\S", re.MULTILINE)
_FEW_QUESTIONS: Final = 2
"""With fewer lines that begin with "Q." a text is no transcript, and "PRAYER: ..." no speaker."""
_FEW_NUMBERS: Final = 4
"""Some page must count on this often before any page's first numbers are printed line numbers."""
_LABEL: Final = re.compile(r"(?:[A-Z][\w-]*(?: [\w-]+){0,3}|[가-힣]{2,8}):[ \t]+\S")
_HANGUL_LABEL: Final = re.compile(r"[가-힣]{2,8}:[ \t]+\S")
_HEADER: Final = re.compile(
    r"(?:From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|보낸 ?사람|받는 ?사람|날짜|제목):"
)
_ROW_END: Final = re.compile(r"\S[ \t]+\(?[$€£₩¥]?\d[\d,]*\.\d{2}\)?$")
_STOP: Final = re.compile(r"[.!?。…][\"'”’)\]]*(?=\s|$)|[다요음]\.(?=\s|$)")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Hon|Jr|Sr|St|No|Nos|Inc|Corp|Co|Ltd|LLC|L\.L\.C|v|vs|cf|e\.g|i\.e|etc|al|"
    r"Art|Sec|Ex|Dkt|Dep|Decl|Compl|Fed|Rev|App|Cal|Civ|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|"
    r"Dec|p|pp|a\.m|p\.m|U\.S|U\.S\.C|approx|est|dept|tel|fig)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION: Final = 8
"""Characters; none of the above is longer, so no more of a sentence need be searched."""
_DOTTED_DATE: Final = re.compile(r"(?<!\d)\d{4}\. ?\d{1,2}\. ?\d{1,2}\.(?P<on>[ \t]*[가-힣(])?")
_CLOSED: Final = re.compile(r"[.;:!?\"”’)]$|[,;] (?:and|or)$")
_FIELD_END = r"(?:[^\d\s],\S|\S,[^\d\s])"
_ROW: Final = re.compile(rf"\S\t\S|{_FIELD_END}.*{_FIELD_END}")
"""A row of a sheet: cells behind tabs, or commas without a space that stand in no number."""
_MASK: Final = re.compile(r"\d+")
_SENTENCE: Final = re.compile(r"(?:\S+\s+){5}.*[.!?。][\"'”’)\]]*$")
"""Six words and a stop: on another page with another number it says another thing."""
_EDGE_LINES: Final = (
    3  # running heads, stamps and page numbers stand within so many lines of an edge
)


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One quotable sentence."""

    document: DocumentId
    start: int
    end: int
    """``[start, end)`` in the canonical text, in code points."""
    words: str
    """As it is printed in a reply: the record's words on one line."""
    place: str = ""
    """Its pin cite, where it has been looked up."""
    turn: str = ""
    """"question" or "answer" in a transcript, the speaker's name in capitals, or "header" for the
    head lines of a message."""
    question: tuple[int, int] | None = None
    """For an answer: where the question to it stands."""


@dataclass
class _Unit:
    """A paragraph, a numbered item or a turn: sentences do not cross its borders."""

    words: list[str] = field(default_factory=list)
    offsets: array[int] = field(default_factory=lambda: array("l"))
    turn: str = ""

    def add(self, text: str, start: int) -> None:
        """Joins a line: one space between lines, none where a hyphen cut a word in two."""
        if self.words:
            self.words.append(" ")
            self.offsets.append(self.offsets[-1] + 1)
        self.words.extend(text)
        self.offsets.extend(range(start, start + len(text)))


def sentences(
    document: DocumentId, text: str, pages: Sequence[PageInfo], *, longest_chars: int = 600
) -> tuple[Sentence, ...]:
    """All quotable sentences of a document, in order.

    Args:
        document: Its id.
        text: Its canonical text.
        pages: Its page table.
        longest_chars: Longer ones are left out: tables and lists, not sentences.
    """
    found: list[Sentence] = []
    question: tuple[int, int] | None = None
    for unit in _units(text, pages):
        first, last = -1, -1
        for start, end in _split(unit):
            words = "".join(unit.words[start:end])
            if first < 0:
                first = unit.offsets[start]
            last = unit.offsets[end - 1] + 1
            if not any(character.isalpha() for character in words) or len(words) > longest_chars:
                continue
            found.append(
                Sentence(
                    document=document,
                    start=unit.offsets[start],
                    end=last,
                    words=words,
                    turn=unit.turn,
                    question=question if unit.turn == "answer" else None,
                )
            )
        if unit.turn == "question" and first >= 0:
            question = (first, last)
        elif not unit.turn:
            question = None
    return tuple(found)


def _units(text: str, pages: Sequence[PageInfo]) -> Iterator[_Unit]:
    furniture = _furniture(text, pages)
    transcript = len(_QUESTIONS.findall(text)) >= _FEW_QUESTIONS
    unit = _Unit()
    steps = max((_steps(text, page)[0] for page in pages), default=0)
    for page in pages:
        lines = list(_lines(text, page.start, page.end))
        numbered = steps >= _FEW_NUMBERS and _is_numbered(*_steps(text, page))
        for start, end in lines:
            if (start, end) in furniture:
                continue
            body = _body(text, start, end, numbered=numbered)
            if body is None:  # a blank line ends a paragraph; between numbered lines it is spacing
                if unit.words and (not numbered or text[start:end].strip()):
                    yield unit
                    unit = _Unit()
                continue
            start, end = body
            turn = _TURN.match(text, start, end) if transcript else None
            if turn or _opens(text[start:end], unit):
                if unit.words:
                    yield unit
                unit = _Unit(turn=_turn_name(turn) if turn else _header(text, start, end))
            if turn:
                start = turn.end()
            unit.add(text[start:end], start)
    if unit.words:
        yield unit


def _turn_name(turn: re.Match[str]) -> str:
    if turn["q"]:
        return "question"
    if turn["a"]:
        return "answer"
    who = turn["who"].strip()
    return "answer" if who == "THE WITNESS" else who


def _header(text: str, start: int, end: int) -> str:
    return "header" if _HEADER.match(text, start, end) else ""


def _opens(line: str, unit: _Unit) -> bool:
    """Whether a line begins a unit of its own, whatever stands before it."""
    before = "".join(unit.words)
    return bool(
        _is_heading(line)
        or _LABEL.match(line)  # "Statement date: May 1, 2024"
        or (_ITEM.match(line) and (_may_end(unit) or _HANGUL_LABEL.match(before)))
        or (not unit.turn and _is_heading(before))
        or _ROW_END.search(before)  # a table's row ends with its amount
        or line.startswith("[Attachment: ")
        or _ROW.search(line)
        or _ROW.search(before)
    )


def _may_end(unit: _Unit) -> bool:
    """Whether a numbered item may follow; "within ten / (10) days" is one sentence."""
    return not unit.words or _CLOSED.search("".join(unit.words[-4:])) is not None


def _is_heading(line: str) -> bool:
    """Whether a line stands alone: short and in capitals, as "BY MS. LINDQVIST:"."""
    return line.isupper() and len(line) < 80 and len(line.split()) > 1


def _split(unit: _Unit) -> Iterator[tuple[int, int]]:
    """Half-open ranges of the unit's characters, a sentence each."""
    text = "".join(unit.words)
    at = 0
    inside = _inside_dates(text)
    for stop in _STOP.finditer(text):
        near = max(at, stop.start() - _LONGEST_ABBREVIATION)
        if stop.start() in inside or _ABBREVIATION.search(text, near, stop.start() + 1):
            continue
        after = text[stop.end() :].lstrip()
        if after and not (
            after[0].isupper()
            or after[0].isdigit()
            or after[0] in "\"'“‘(["
            or "가" <= after[0] <= "힣"
        ):
            continue
        yield from _trimmed(text, at, stop.end())
        at = stop.end()
    yield from _trimmed(text, at, len(text))


def _inside_dates(text: str) -> frozenset[int]:
    """Places of the full stops of dates like "2024. 1. 19.", the last one when words go on."""
    return frozenset(
        at
        for date in _DOTTED_DATE.finditer(text)
        for at in range(date.start(), date.end() - (0 if date["on"] else 1))
    )


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _steps(text: str, page: PageInfo) -> tuple[int, int]:
    """How many lines of a page print the number after the one before, and how many are filled."""
    lines = [text[start:end] for start, end in _lines(text, page.start, page.end)]
    numbers = [int(match[1]) for line in lines if (match := _NUMBERED.match(line))]
    steps = sum(1 for a, b in itertools.pairwise(numbers) if b == a + 1)
    return steps, sum(1 for line in lines if line.strip())


def _is_numbered(steps: int, filled: int) -> bool:
    return steps > 0 and steps >= 0.6 * (filled - 1)


def _body(text: str, start: int, end: int, *, numbered: bool) -> tuple[int, int] | None:
    if numbered and (match := _NUMBERED.match(text, start, end)):
        start = match.end()
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _masked(line: str) -> str:
    """A line whatever numbers stand in it: "Page 3 of 12" is every page's."""
    return _MASK.sub("0", line)


def _furniture(text: str, pages: Sequence[PageInfo]) -> set[tuple[int, int]]:
    """Lines at page edges that repeat from page to page, stamps, and bare page numbers."""
    edges: list[tuple[PageInfo, tuple[int, int], str]] = []
    for page in pages:
        filled = [span for span in _lines(text, page.start, page.end) if text[slice(*span)].strip()]
        for span in dict.fromkeys([*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]]):
            edges.append((page, span, " ".join(text[slice(*span)].split())))
    same, alike = (
        Counter(
            form
            for page in {page.number: page for page, _, _ in edges}.values()
            for form in {form_of(line) for other, _, line in edges if other == page}
        )
        for form_of in (str, _masked)
    )
    often = max(2, (len(pages) + 1) // 2)
    out: set[tuple[int, int]] = set()
    for page, span, line in edges:
        repeats = same[line] if _SENTENCE.search(line) else alike[_masked(line)]
        running = repeats >= often and not _NUMBERED.match(line)
        if running or line in (page.bates, page.label, str(page.number)):
            out.add(span)
    return out
