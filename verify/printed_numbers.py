"""Printed line and page numbers: no figures of the record, and no days of its dates.

Transcripts and pleading paper print a number before each line, and most papers one on each page.
Read as words of the record, the "8" of line 8 would prove "8 reactors", and a page number "5" over
a page that begins with "June" would prove a date. So a text is read for values without them, and
every place is mapped back.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

LEAST: Final = 5
"""A shorter run of numbers counts no lines, unless it goes on after a long one."""
LONG: Final = 15
"""After a run this long a page that begins at 1 is believed however short it is."""
MOST_GAP: Final = 3
"""Lines with words that may stand between two numbered ones."""

EDGE: Final = 2
"""Lines with words, from the top and the foot of a page, among which its number may stand."""

_LINE: Final = re.compile(r"[^\n\f]+")
_NUMBER: Final = re.compile(r"[ \t\u00a0]*(?P<number>\d{1,2})(?=[ \t\u00a0\r]|$)[ \t\u00a0]*")
_PAGE_ALONE: Final = re.compile(
    r"[\s\[(–—-]*(?:(?:page|p\.|seite|페이지)\s*)?(?P<number>\d{1,4}(?:\s*(?:of|/|von|sur)\s*\d{1,4})?)"
    r"[\s\])–—-]*",
    re.IGNORECASE,
)
_PAGE_COUNTED: Final = re.compile(r"\s*(?:(?P<first>\d{1,4})\s.*\S|\S.*?\s(?P<last>\d{1,4}))\s*")


@dataclass(slots=True)
class _Run:
    last: int
    at: int
    begins: int
    spans: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Unnumbered:
    """A text without the line and page numbers it prints.

    ``words`` is the text with each number and the blanks around it left out; ``blanked`` has the
    length of the text, with blanks in their place. Both are the text itself where it prints none.
    """

    words: str
    blanked: str
    _starts: tuple[int, ...]
    """Where in ``words`` something was left out."""
    _left_out: tuple[int, ...]
    """How many code points were left out up to and including that place."""

    def raw(self, offset: int) -> int:
        """The place in the text of the character at ``offset`` of ``words``."""
        at = bisect.bisect_right(self._starts, offset)
        return offset + (self._left_out[at - 1] if at else 0)

    def within(self, raw: int) -> int:
        """The place in ``words`` of a character of the text; the next one where it is left out."""
        low, high = 0, len(self._starts)
        while low < high:
            middle = (low + high) // 2
            if self._starts[middle] + self._left_out[middle] <= raw:
                low = middle + 1
            else:
                high = middle
        at = raw - (self._left_out[low - 1] if low else 0)
        return min(at, self._starts[low]) if low < len(self._starts) else at

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the text that ``[start, end)`` of ``words``; ``start < end``."""
        return self.raw(start), self.raw(end - 1) + 1


def unnumbered(text: str) -> Unnumbered:
    """Reads a text without the line and page numbers it prints; a form feed ends a page."""
    spans = sorted({*line_number_spans(text), *page_number_spans(text)})
    if not spans:
        return Unnumbered(text, text, (), ())
    words: list[str] = []
    blanked: list[str] = []
    starts: list[int] = []
    left_out: list[int] = []
    done = length = gone = 0
    for start, end in spans:
        if start < done:
            continue  # a page number that counts lines, too
        words.append(text[done:start])
        blanked.extend((text[done:start], " " * (end - start)))
        length += start - done
        gone += end - start
        starts.append(length)
        left_out.append(gone)
        done = end
    words.append(text[done:])
    blanked.append(text[done:])
    return Unnumbered("".join(words), "".join(blanked), tuple(starts), tuple(left_out))


def line_number_spans(text: str) -> list[tuple[int, int]]:
    """Where printed line numbers stand, with the blanks before and after each, in order."""
    runs: list[_Run] = []
    open_run: _Run | None = None
    at = 0
    for line in _LINE.finditer(text):
        if line.group().isspace():
            continue
        at += 1
        found = _NUMBER.match(text, line.start(), line.end())
        if found is None:
            continue
        number, span = int(found["number"]), found.span()
        if open_run and at - open_run.at <= MOST_GAP and 0 < number - open_run.last <= 2:
            open_run.last, open_run.at = number, at
            open_run.spans.append(span)
        elif (
            open_run is None
            or number == 1
            or len(open_run.spans) < 3
            or (at - open_run.at > MOST_GAP)
        ):
            open_run = _Run(last=number, at=at, begins=number, spans=[span])
            runs.append(open_run)
    out: list[tuple[int, int]] = []
    long = False
    for run in runs:
        long = long or len(run.spans) >= LONG
        if len(run.spans) >= LEAST or (long and run.begins == 1):
            out.extend(run.spans)
    return out


def page_number_spans(text: str) -> list[tuple[int, int]]:
    """Where page numbers stand: alone in a line at the edge of a page, or in a head that counts."""
    pages: list[list[tuple[int, int]]] = []
    start = 0
    while "\f" in text and start <= len(text):
        cut = text.find("\f", start)
        end = len(text) if cut < 0 else cut
        pages.append(_edge_lines(text, start, end))
        start = end + 1
    out: list[tuple[int, int]] = []
    counted: list[dict[str, tuple[int, tuple[int, int]]]] = []
    for page in pages:
        heads: dict[str, tuple[int, tuple[int, int]]] = {}
        for start, end in page:
            alone = _PAGE_ALONE.fullmatch(text, start, end)
            head = _PAGE_COUNTED.fullmatch(text, start, end)
            if alone:
                out.append(alone.span("number"))
            elif head and head.lastgroup:
                a, b = head.span(head.lastgroup)
                mask = f"{text[start:a].strip()}#{text[b:end].strip()}"
                heads[mask] = int(text[a:b]), (a, b)
        counted.append(heads)
    for before, after in pairwise(counted):
        for mask in before.keys() & after.keys():
            if after[mask][0] - before[mask][0] == 1:
                out.extend((before[mask][1], after[mask][1]))
    return sorted(set(out))


def _edge_lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The first and last lines with words of a page, without its blanks."""
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    end -= len(inner) - len(inner.rstrip())
    if start >= end:
        return []
    lines: list[tuple[int, int]] = []
    at = start
    for _ in range(EDGE):
        if at >= end:
            break
        cut = text.find("\n", at, end)
        stop = end if cut < 0 else cut
        lines.append((at, stop))
        at = stop + 1
        while at < end and text[at].isspace():
            at += 1
    at = end
    for _ in range(EDGE):
        if at <= start:
            break
        begin = text.rfind("\n", start, at) + 1 or start
        lines.append((begin, at))
        at = begin - 1
        while at > start and text[at - 1].isspace():
            at -= 1
    return sorted(set(lines))
