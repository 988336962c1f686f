"""The numbered parts of a document: sections, articles, clauses, exhibits, and where each one ends.

A heading is a number at the start of a line, or one that follows a full stop in a text whose lines
were joined. A part reaches to the next heading that does not belong to it and counts further; a
reference to an earlier section at the start of a line therefore ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

Label = tuple[str, ...]
"""A number by its parts: ("7", "2", "a") for 7.2(a); ("A",) for Exhibit A."""

_ROMAN: Final = r"[IVXLC]{1,7}"
_KEYWORD: Final = re.compile(
    r"(?m)^[ \t\f*#_]*(?:(?P<article>(?i:article|artikel|art\.|title|chapter))"
    r"|(?P<plain>(?i:section|sec\.|clause|part|§§?|paragraph|para\.)))"
    rf"\s{{0,4}}(?P<label>\d{{1,3}}(?:\.\d{{1,3}}){{0,4}}|{_ROMAN})(?![\w(]|\.\d)(?P<rest>[^\n]*)"
)
_NUMBERED: Final = re.compile(
    r"(?:^|(?<=\n)|(?<=\f)|(?<=[.;:)”\"] )|(?<=  )|(?<=\t))[ \t\f*#_¶]*"
    r"(?P<label>\d{1,3}(?:\.\d{1,3}){0,4})(?P<stop>[.)]?)[ \t\u00a0]+[*_]*(?=[\"“(\[A-Z가-힣À-Þ])"
)
_KOREAN: Final = re.compile(r"(?m)^[ \t\f]*(?:제|第)\s?(?P<label>\d{1,4})\s?(?:조|条)")
_EXHIBIT: Final = re.compile(
    r"(?m)^[ \t\f*#_]*(?P<word>(?i:exhibit|schedule|annex|appendix|attachment|rider|anlage|annexe"
    r"|별지|부속서))[ \t\u00a0]+(?:(?i:no\.?)[ \t]*)?[\"“']?"
    r"(?P<label>[A-Z]{1,2}(?:-\d{1,2})?|\d{1,3})(?![\w])[\"”']?(?P<rest>[^\n]{0,90})$"
)
_NEAR: Final = 3
"""By how much a number may run ahead of the one before it and still be the next heading."""
_CIRCLED: Final = {chr(0x2460 + k): str(k + 1) for k in range(20)}
_ROMANS: Final = "i ii iii iv v vi vii viii ix x xi xii".split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A numbered heading at a character of the text."""

    start: int
    family: str
    """"number", "article" or "exhibit": each counts for itself."""
    label: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What stands under one number: ``[start, end)`` in code points."""

    start: int
    end: int


class Sections:
    """The numbered parts of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.headings = tuple(_counting(sorted(set(_headings(text)), key=lambda h: h.start)))

    def parts(self, family: str, label: Label, *, within: Part | None = None) -> tuple[Part, ...]:
        """Every part with this number; empty where no heading carries it.

        Args:
            family: See `Heading`.
            label: The number; parts in letters ("a") are looked for inside the numbered part.
            within: Only parts that begin in this one (those of an exhibit).
        """
        numbers = tuple(part for part in label if part.isdigit() or family == "exhibit")
        if label and not label[0].isdigit() and family != "exhibit":
            numbers = ()
        numbers = label[: len(numbers)]
        found = [
            Part(start=heading.start, end=self._end(at, heading))
            for at, heading in enumerate(self.headings)
            if heading.family == family and heading.label == numbers
        ]
        if not found and family == "number" and len(numbers) == 1:
            found = self._of_children(numbers)
        if within is not None:
            found = [part for part in found if within.start <= part.start < within.end]
        for sub in label[len(numbers) :]:
            found = [inner for part in found for inner in self._sub(part, sub)]
        return tuple(found)

    def named(self, family: str, at: int) -> Label:
        """The number under which a character stands: the heading that last began before it."""
        for heading in reversed(self.headings):
            if heading.start <= at and heading.family == family:
                return heading.label
        return ()

    def has(self, family: str) -> bool:
        """Whether the document numbers anything so."""
        return sum(heading.family == family for heading in self.headings) >= 2

    def _end(self, at: int, heading: Heading) -> int:
        for later in self.headings[at + 1 :]:
            if _closes(heading, later):
                return later.start
        return len(self._text)

    def _of_children(self, numbers: Label) -> list[Part]:
        """Section 7 of a document that prints 7.1 and 7.2 alone."""
        for at, heading in enumerate(self.headings):
            if heading.family == "number" and heading.label[:1] == numbers:
                whole = Heading(start=heading.start, family="number", label=numbers)
                return [Part(start=heading.start, end=self._end(at, whole))]
        return []

    def _sub(self, part: Part, sub: str) -> Iterator[Part]:
        """The paragraphs "(a)" of a part, each to the next letter."""
        low = part.start
        for found in _opening(sub).finditer(self._text, low, part.end):
            following = [
                other.start()
                for after in _successors(sub)
                if (other := _opening(after).search(self._text, found.end(), part.end))
            ]
            yield Part(start=found.start(), end=min(following, default=part.end))


def _opening(sub: str) -> re.Pattern[str]:
    circled = next((sign for sign, number in _CIRCLED.items() if number == sub), "")
    also = f"|{circled}" if circled else ""
    return re.compile(rf"(?<![\w)(])(?:\({re.escape(sub)}\)|{re.escape(sub)}\)){also}")


def _successors(sub: str) -> tuple[str, ...]:
    made = []
    if sub.isdigit():
        made.append(str(int(sub) + 1))
    elif len(sub) == 1:
        made.append(chr(ord(sub) + 1))
    if sub in _ROMANS[:-1]:
        made.append(_ROMANS[_ROMANS.index(sub) + 1])
    return tuple(made)


def _closes(own: Heading, later: Heading) -> bool:
    """Whether a later heading ends the part that ``own`` opens."""
    if later.family == "exhibit" or own.family == "exhibit":
        return later.family == "exhibit" and later.label != own.label
    if own.family == "article" or later.family == "article":
        if own.family == later.family:
            return _follows(own.label[0], later.label[0])
        return later.family == "article" and later.label[0] != own.label[0]
    if later.label[: len(own.label)] == own.label:
        return later.label == own.label
    if len(later.label) == 1 and len(own.label) > 1:
        return int(later.label[0]) == int(own.label[0]) + 1  # no list inside the section
    shared = min(len(own.label), len(later.label))
    for mine, theirs in zip(own.label[:shared], later.label[:shared], strict=True):
        if mine != theirs:
            again = len(own.label) == len(later.label) == 1 and theirs == "1"
            return again or _follows(mine, theirs)
    return False


def _follows(mine: str, theirs: str) -> bool:
    if not (mine.isdigit() and theirs.isdigit()):
        return mine != theirs
    return 0 < int(theirs) - int(mine) <= _NEAR


def _headings(text: str) -> Iterator[Heading]:
    for found in _KEYWORD.finditer(text):
        if _mid_sentence(text, found.start()):
            continue
        label = number_of(found["label"])
        family = "article" if found["article"] else "number"
        yield Heading(start=found.start(), family=family, label=label)
    for found in _NUMBERED.finditer(text):
        line = found.start() == 0 or text[found.start() - 1] in "\n\f"
        dotted = "." in found["label"]
        if not (found["stop"] or dotted) or (line and _mid_sentence(text, found.start())):
            continue
        if not line and not dotted and found["stop"] != ".":
            continue
        label = tuple(found["label"].split("."))
        yield Heading(start=found.start("label"), family="number", label=label)
    for found in _KOREAN.finditer(text):
        yield Heading(start=found.start(), family="article", label=(found["label"],))
    for found in _EXHIBIT.finditer(text):
        if not _mid_sentence(text, found.start()) and _titles(found["rest"]):
            yield Heading(start=found.start(), family="exhibit", label=(found["label"],))


def _counting(headings: Sequence[Heading]) -> Iterator[Heading]:
    """The headings whose number the document has counted up to; "360" of an address is none."""
    seen: set[Label] = set()
    for heading in headings:
        last = heading.label[-1]
        if heading.family == "number" and last.isdigit() and int(last) > _NEAR:
            before = range(int(last) - _NEAR, int(last))
            if not any((*heading.label[:-1], str(number)) in seen for number in before):
                continue
        if heading.family == "number":
            seen.add(heading.label)
        yield heading


def _titles(rest: str) -> bool:
    """Whether what follows "Exhibit A" on its line makes it a heading."""
    return not rest.strip() or not re.match(
        r"[,.;)]|\s+(?:attached|hereto|and|or|is|are|shall|to\s+this\s+\w+\s+(?:is|are|shall)|of"
        r"|which|as|in|for)\b",
        rest,
    )


def _mid_sentence(text: str, at: int) -> bool:
    """Whether the line before goes on in the one that begins at ``at``: a reference, no heading."""
    before = text[max(0, at - 120) : at]
    if not before.endswith("\n"):
        return False
    line = before[:-1].rsplit("\n", 1)[-1].rstrip()
    if not line:
        return False
    return bool(re.search(r"(?:[a-z,]|\b(?:of|in|and|or|to|under|with|Section|§|Article))$", line))


def number_of(written: str) -> Label:
    """The parts of "7.2(a)", "IV" or "A-1"; Roman numbers as figures."""
    found = re.match(r"\d+(?:\.\d+)*|[A-Za-z]+(?:-\d+)?", written)
    head = found.group() if found else written
    if re.fullmatch(_ROMAN, head):
        head = str(_roman(head))
    parts = head.split(".") if head[0].isdigit() else [head]
    subs = re.findall(r"\(\s?([A-Za-z0-9]{1,4})\s?\)", written)
    return (*parts, *subs)


def _roman(written: str) -> int:
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
    total = 0
    for this, following in zip(written, [*written[1:], ""], strict=True):
        value = values[this]
        total += -value if following and values[following] > value else value
    return total
