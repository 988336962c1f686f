"""Which lines of a document are text and which are furniture, and what number each line prints.

Furniture (running heads, page numbers, stamps, court reporters' footers) is found by repetition
over the pages with digits masked, and only at the edge of a page: a line in the middle of a page
is always text. Footnotes, printed line numbers and quoted e-mail are told apart too, because a
quotation may run across them, and because who is speaking there differs.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from protocol.record import PageInfo


class Region(IntEnum):
    """What kind of text a line is."""

    BODY = 0
    FOOTNOTE = 1
    FURNITURE = 2
    """Running head, page number, stamp, footer."""
    LINE_NUMBER = 3
    """A line that holds nothing but printed line numbers."""
    EMAIL_QUOTE = 4
    """An earlier message, marked with ``>``."""


TEXT_REGIONS: Final = frozenset({Region.BODY, Region.EMAIL_QUOTE})

EDGE_LINES: Final = 8
"""How deep furniture may reach from the edge of a page: a court reporter's footer has eight."""
REPEATS: Final = 3
"""On how many pages a masked line must stand to count as repeated."""

SHEET_LINES: Final = 60
"""A page with fewer lines than this holds no second running head."""

_COUNTED: Final = re.compile(r"\s*(?:(\d{1,4})\s+\S.*\S|\S.*?\s(\d{1,4}))\s*$")
_DIGITS: Final = re.compile(r"\d+")
_SPACE: Final = re.compile(r"\s+")
_NUMBERED: Final = re.compile(r"[ \t\u00a0]*(\d{1,2})(?=[ \t\u00a0]|$)[ \t\u00a0]*")
_ONLY_NUMBERS: Final = re.compile(r"[\s\d]*\d[\s\d]*$")
_EMAIL_MARK: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")
_RULE: Final = re.compile(r"\s*(?:[—–_\u2500-]\s?){5,}\s*$")
_NOTE_START: Final = re.compile(r"\s*(?:(\d{1,3})|[*†‡])(?:[.)]?\s+\S|\s*$)")
_PAGE_NUMBER: Final = re.compile(
    r"[\s\[(–—-]*(?:(?:page|p\.|seite|페이지)\s*)?(?:\d{1,4}|[ivxl]{1,6})"
    r"(?:\s*(?:of|/|von|sur)\s*\d{1,4})?[\s\])–—-]*$",
    re.IGNORECASE,
)
_STAMP: Final = re.compile(
    r"\s*(?:[A-Z][A-Z0-9&.]{1,}(?:[-_ ][A-Z0-9]+)*[-_ ]?\d{4,10}"
    r"|(?:case|cause)\s+(?:no\.?\s*)?\d.{0,40}(?:document|filed|page|doc\.).*"
    r"|(?:highly\s+)?confidential\b.{0,60})\s*$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Line:
    """One line of the canonical text; ``content`` is where its text begins."""

    start: int
    end: int
    content: int
    page: int
    ordinal: int
    """Place of the line on its page, from 1, blank lines counted."""
    region: Region = Region.BODY
    printed: int | None = None
    """The line number the page prints, where it prints one."""


@dataclass(slots=True)
class Layout:
    """A document's lines, with what was learned from looking at all of them together."""

    text: str
    lines: list[Line]
    pages: tuple[PageInfo, ...]
    notes: frozenset[str] = frozenset()
    """Footnote numbers that begin a footnote of this document."""
    numbered: bool = False
    """The document prints line numbers."""
    starts: list[int] = field(default_factory=list)
    rows: dict[int, object] = field(default_factory=dict)
    """What `tokens.py` read of each line, kept for the next quotation."""

    def line_at(self, offset: int) -> int:
        """The number of the line that holds a character."""
        return max(0, bisect.bisect_right(self.starts, offset) - 1)

    def page_at(self, offset: int) -> int:
        """The physical page that holds a character, from 1."""
        return self.lines[self.line_at(offset)].page if self.lines else 1


def read_layout(text: str, pages: Sequence[PageInfo]) -> Layout:
    """Reads a document's lines and sorts them into regions.

    Args:
        text: Canonical text.
        pages: Its page table.
    """
    lines: list[Line] = []
    by_page: list[list[Line]] = []
    for page in pages:
        page_lines = _split(text, page)
        by_page.append(page_lines)
        lines.extend(page_lines)
    layout = Layout(
        text=text, lines=lines, pages=tuple(pages), starts=[line.start for line in lines]
    )
    filled = [[line for line in page if text[line.start : line.end].strip()] for page in by_page]
    filled = [sheet for page in filled for sheet in _sheets(text, page)]
    _mark_line_numbers(layout, filled)
    _mark_furniture(layout, filled)
    _mark_lone_page_numbers(layout, filled)
    _mark_footnotes(layout, filled)
    _mark_email(layout)
    return layout


def _split(text: str, page: PageInfo) -> list[Line]:
    lines = []
    start = page.start
    ordinal = 1
    while start <= page.end:
        cut = text.find("\n", start, page.end)
        end = page.end if cut < 0 else cut
        lines.append(Line(start, end, start, page.number, ordinal))
        start = end + 1
        ordinal += 1
        if cut < 0:
            break
    return lines


# --- pages inside a page --------------------------------------------------------------------------


def _sheets(text: str, page: list[Line]) -> list[list[Line]]:
    """Cuts a long page where running heads stand in the middle of it.

    Some readers lose the page breaks. A head is a line after a blank one that begins or ends with
    a number, stands there three times or more with other numbers, and counts upwards.
    """
    heads: dict[str, list[tuple[int, int]]] = {}
    if len(page) < SHEET_LINES:
        return [page]
    for k in range(1, len(page)):
        line = page[k]
        if line.ordinal - page[k - 1].ordinal < 2:
            continue
        match = _COUNTED.match(text, line.start, line.end)
        if match:
            value = int(match.group(1) or match.group(2))
            heads.setdefault(_mask(text, line), []).append((k, value))
    cuts: set[int] = set()
    for places in heads.values():
        ups = sum(1 for a, b in itertools.pairwise(places) if 0 < b[1] - a[1] <= 6)
        if len(places) >= REPEATS and ups * 2 >= len(places):
            cuts.update(k for k, _ in places)
    bounds = [0, *sorted(cuts), len(page)]
    sheets = [page[a:b] for a, b in itertools.pairwise(bounds) if a < b]
    for sheet in sheets[1:]:
        sheet[0].region = Region.FURNITURE
        if len(sheet) > 1 and _centred(text, sheet[1]):
            sheet[1].region = Region.FURNITURE
    return sheets


def _centred(text: str, line: Line) -> bool:
    """A short line far from the margin, as the second line of a running head is."""
    content = text[line.start : line.end]
    return len(content.strip()) <= 70 and len(content) - len(content.lstrip()) >= 12


# --- printed line numbers -------------------------------------------------------------------------


def _mark_line_numbers(layout: Layout, filled: list[list[Line]]) -> None:
    """Line numbers at line starts, and those a reader has hoisted to the top of a page."""
    text = layout.text
    found: list[list[tuple[Line, int, int]]] = []
    counts = 0
    for page in filled:
        hits = []
        for line in page:
            match = _NUMBERED.match(text, line.start, line.end)
            if match:
                hits.append((line, int(match.group(1)), match.end()))
        found.append(hits)
        counts += _is_numbered(hits, len(page))
    layout.numbered = counts > 0
    if not counts:
        return
    for page, hits in zip(filled, found, strict=True):
        if _is_numbered(hits, len(page)) or _starts_numbered(hits, page):
            _number_page(text, hits)


def _is_numbered(hits: list[tuple[Line, int, int]], lines: int) -> bool:
    """Whether a page counts its lines: a run of five or more over half of what it holds."""
    steps = sum(1 for a, b in itertools.pairwise(hits) if 0 < b[1] - a[1] <= 2)
    return steps >= 4 and len(hits) * 2 >= lines


def _starts_numbered(hits: list[tuple[Line, int, int]], page: list[Line]) -> bool:
    """A short page of a numbered document: its lines count from 1 without a gap.

    Its own number may stand above them.
    """
    if len(hits) * 2 < len(page):
        return False
    values = [value for _, value, _ in hits]
    if values[1:2] == [1]:
        values = values[1:]
    return bool(values) and values == list(range(1, len(values) + 1))


def _number_page(text: str, hits: list[tuple[Line, int, int]]) -> None:
    last = 0
    for at, (line, value, content) in enumerate(hits):
        bare = not text[content : line.end].strip()
        if bare and not last and at + 1 < len(hits) and hits[at + 1][1] <= value:
            continue  # the page's own number, above line 1
        if bare and _ONLY_NUMBERS.match(text[line.start : line.end]) and value % 5 == 0:
            line.region = Region.LINE_NUMBER
            if value == last + 1:
                last = value
            continue
        if last < value <= last + 3:
            line.content = content
            line.printed = value
            if bare:
                line.region = Region.LINE_NUMBER
            last = value


# --- furniture ------------------------------------------------------------------------------------


def _mask(text: str, line: Line) -> str:
    return _DIGITS.sub("#", _SPACE.sub(" ", text[line.start : line.end].strip().casefold()))


def _mark_furniture(layout: Layout, filled: list[list[Line]]) -> None:
    text = layout.text
    edges = [
        (
            [line for line in page[:EDGE_LINES] if line.region is not Region.LINE_NUMBER],
            [line for line in page[::-1][:EDGE_LINES] if line.region is not Region.LINE_NUMBER],
        )
        for page in filled
    ]
    for side in (0, 1):
        seen: Counter[str] = Counter()
        for edge in edges:
            seen.update({_mask(text, line) for line in edge[side]})
        for page, edge in zip(filled, edges, strict=True):
            if len(filled) > 1:
                _mark_edge(text, edge[side], seen, max(2, len(page) // 2), top=side == 0)


def _mark_edge(text: str, edge: list[Line], seen: Counter[str], most: int, *, top: bool) -> None:
    """From the page's edge inward, stopping at the first line that is text.

    ``most`` keeps forms, whose whole pages repeat, from being taken for furniture.
    """
    for depth, line in enumerate(edge):
        content = text[line.start : line.end].strip()
        mask = _mask(text, line)
        fixed = bool(_PAGE_NUMBER.match(content) or _STAMP.match(content))
        repeated = seen[mask] >= REPEATS and len(content) <= 120 and depth < most
        second = top and depth == 1 and _centred(text, line)
        if not (fixed or repeated or second):
            return
        line.region = Region.FURNITURE
        line.printed, line.content = None, line.start


def _mark_lone_page_numbers(layout: Layout, filled: list[list[Line]]) -> None:
    """Page numbers inside a text without page breaks: they stand alone and count upwards."""
    text = layout.text
    for page in filled:
        lone = []
        for before, line, after in zip(page, page[1:], page[2:], strict=False):
            content = text[line.start : line.end].strip().strip("-–— ")
            apart = line.ordinal - before.ordinal >= 2 and after.ordinal - line.ordinal >= 2
            if content.isascii() and content.isdigit() and len(content) <= 4 and apart:
                lone.append((line, int(content)))
        for k, (line, value) in enumerate(lone):
            previous = lone[k - 1][1] if k else None
            following = lone[k + 1][1] if k + 1 < len(lone) else None
            if value - 1 == previous or value + 1 == following:
                line.region = Region.FURNITURE


# --- footnotes and quoted mail --------------------------------------------------------------------


def _mark_footnotes(layout: Layout, filled: list[list[Line]]) -> None:
    text = layout.text
    notes: set[str] = set()
    expected = 1
    running = False  # the page before ended inside a footnote
    for page in filled:
        body = [line for line in page if line.region is Region.BODY]
        cut, by_rule = _rule_at(text, body, running=running)
        if cut is None:
            cut = _note_block_at(text, body, expected)
        running = False
        if cut is None:
            continue
        for line in body[cut:]:
            match = _NOTE_START.match(text, line.content, line.end)
            if match and match.group(1) and int(match.group(1)) in range(expected, expected + 3):
                notes.add(match.group(1))
                expected = int(match.group(1)) + 1
            line.region = Region.FOOTNOTE
        running = by_rule
    layout.notes = frozenset(notes)


def _rule_at(text: str, body: list[Line], *, running: bool) -> tuple[int | None, bool]:
    """The last rule of a page that a footnote follows."""
    for k in range(len(body) - 2, 0, -1):
        if _RULE.match(text, body[k].start, body[k].end):
            below = body[k + 1]
            if running or _NOTE_START.match(text, below.content, below.end):
                return k, True
            return None, False
    return None, False


def _note_block_at(text: str, body: list[Line], expected: int) -> int | None:
    """A block at the foot of a page that begins with the next footnote number and no rule."""
    for k in range(1, len(body)):
        match = _NOTE_START.match(text, body[k].content, body[k].end)
        if not match or not match.group(1) or body[k].printed is not None:
            continue
        if int(match.group(1)) not in (expected, expected + 1) or k * 3 < len(body):
            continue
        alone = text[body[k].start : body[k].end].strip() == match.group(1)
        tight = k + 1 < len(body) and body[k + 1].ordinal - body[k].ordinal == 1
        step = body[k].ordinal - body[k - 1].ordinal
        if step >= 3 or (step == 2 and alone and tight):
            return k
    return None


def _mark_email(layout: Layout) -> None:
    for line in layout.lines:
        if line.region is Region.BODY:
            match = _EMAIL_MARK.match(layout.text, line.content, line.end)
            if match:
                line.content = match.end()
                line.region = Region.EMAIL_QUOTE
