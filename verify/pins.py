"""Locators as filed, computed from the text: page and line, printed page, Bates label, speaker.

"Reeves Dep. 1:8-2:1 (NG-000212-213)" for a page that prints line numbers, "Lease Agreement p. 4"
for one that does not. Never taken from a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from protocol.answers import Citation
from protocol.ids import DocumentId
from protocol.record import PageInfo
from protocol.spans import SourceSpan
from verify.judged import Stretch
from verify.layout import Layout, Line, Region
from verify.record import OpenRecord

_WORDS: Final = 1_200
"""Characters of the record shown at most."""
_BROKEN: Final = re.compile("(?<=[^\\W\\d_])[-\u00ad\x02\ufffe][ \t\u00a0]*\n\\s*(?=[a-z])")
_BLANK: Final = re.compile(r"\s+")


def cite(record: OpenRecord, stretches: Sequence[Stretch]) -> Citation:
    """The citation of one place.

    Args:
        record: The opened record.
        stretches: Parts of one place in one document, in order; at least one.
    """
    document = stretches[0].document
    info = record.by_id[document]
    layout = record.layout(document)
    start, end = stretches[0].start, stretches[-1].end
    first = layout.lines[layout.line_at(start)]
    last = layout.lines[layout.line_at(max(start, end - 1))]
    first_page, last_page = page_of(layout, first.page), page_of(layout, last.page)
    turn = record.speakers(document).at(start)
    return Citation(
        document=document,
        title=info.title,
        span=SourceSpan(document=document, start=start, end=end, page=first.page),
        line_begin=line_number(layout, first),
        line_end=line_number(layout, last),
        end_page=last.page,
        pin_cite=_pin(info.title, layout, first, last, first_page, last_page),
        bates=_bates(first_page, last_page),
        speaker=turn.who or None if turn else None,
        words=words_at(record, stretches),
        text_sha256=info.text_sha256,
    )


def page_of(layout: Layout, number: int) -> PageInfo:
    """The page with a physical number."""
    if 0 < number <= len(layout.pages) and layout.pages[number - 1].number == number:
        return layout.pages[number - 1]
    return next(page for page in layout.pages if page.number == number)


def line_number(layout: Layout, line: Line) -> int:
    """The number the page prints, else the count of its text lines down to this one."""
    if line.printed is not None:
        return line.printed
    if layout.numbered:
        counted = 0
        first = layout.line_at(page_of(layout, line.page).start)
        for number in range(first, layout.line_at(line.start) + 1):
            other = layout.lines[number]
            if other.page != line.page:
                continue
            if other.region in (Region.FURNITURE, Region.LINE_NUMBER):
                continue
            if not layout.text[other.content : other.end].strip():
                continue
            counted = other.printed if other.printed is not None else counted + 1
            if other is line:
                return counted
    return line.ordinal


def words_at(record: OpenRecord, stretches: Sequence[Stretch]) -> str:
    """The record's own words, lines joined, furniture left out."""
    layout = record.layout(stretches[0].document)
    shown, before = "", 0
    for stretch in stretches:
        part = _BLANK.sub(" ", _text_of(layout, stretch)).strip()
        if shown and part:
            between = _between(layout, before, stretch.start)
            # A page's end or a stamp between two parts leaves nothing out; words between them do.
            shown += " … " if re.search(r"\w", between) else f"{between} "
        shown, before = shown + part, stretch.end
    return shown if len(shown) <= _WORDS else shown[:_WORDS] + "…"


def _between(layout: Layout, start: int, end: int) -> str:
    """The text between two parts, without furniture and printed line numbers."""
    first, last = layout.line_at(start), layout.line_at(max(start, end - 1))
    kept = [
        layout.text[max(start, line.content) : min(end, line.end)]
        for line in layout.lines[first : last + 1]
        if line.region not in (Region.FURNITURE, Region.LINE_NUMBER)
    ]
    return _BLANK.sub(" ", " ".join(kept)).strip()


def _text_of(layout: Layout, stretch: Stretch) -> str:
    """A stretch without printed line numbers and furniture; broken words put together."""
    made = []
    first, last = layout.line_at(stretch.start), layout.line_at(max(stretch.start, stretch.end - 1))
    whole = layout.lines[first].region
    for line in layout.lines[first : last + 1]:
        if line.region in (Region.FURNITURE, Region.LINE_NUMBER) and whole is not line.region:
            continue
        made.append(layout.text[max(stretch.start, line.content) : min(stretch.end, line.end)])
    return _BROKEN.sub("", "\n".join(made))


def _label(page: PageInfo) -> str:
    return page.label or str(page.number)


def _pin(
    title: str, layout: Layout, first: Line, last: Line, first_page: PageInfo, last_page: PageInfo
) -> str:
    bates = _bates(first_page, last_page)
    stamp = f" ({bates})" if bates else ""
    if layout.numbered:
        begin = f"{_label(first_page)}:{line_number(layout, first)}"
        until = line_number(layout, last)
        if first.page == last.page:
            end = "" if first is last else f"-{until}"
        else:
            end = f"-{_label(last_page)}:{until}"
        return f"{title} {begin}{end}{stamp}"
    if len(layout.pages) == 1:
        return f"{title}{stamp}"
    if first.page == last.page:
        return f"{title} p. {_label(first_page)}{stamp}"
    return f"{title} pp. {_label(first_page)}-{_label(last_page)}{stamp}"


def _bates(first: PageInfo, last: PageInfo) -> str | None:
    if not first.bates:
        return None
    if first.number == last.number or not last.bates:
        return first.bates
    shared = re.sub(r"\d+$", "", first.bates)
    tail = last.bates.removeprefix(shared)
    digits = first.bates.removeprefix(shared)
    while len(tail) > 3 and tail[0] == digits[0] and len(tail) == len(digits):
        tail, digits = tail[1:], digits[1:]
    return f"{first.bates}-{tail}"


def document_title(record: OpenRecord, document: DocumentId) -> str:
    """How people call a document."""
    return record.by_id[document].title
