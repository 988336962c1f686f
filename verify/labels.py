"""Page numbers and Bates labels that the pages themselves print, read from their furniture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.record import PageInfo
from verify.layout import Region, read_layout

_BATES_LINE: Final = re.compile(r"\s*([A-Z][A-Z0-9&.]{1,15}(?:[-_][A-Z]{1,12})*[-_ ]?\d{4,10})\s*$")
_PRINTED: Final = re.compile(
    r"[\s\[(–—-]*(?:(?:page|p\.|seite)\s*)?(\d{1,4})(?:\s*(?:of|/|von|sur)\s*\d{1,4})?[\s\])–—-]*$",
    re.IGNORECASE,
)


def label_pages(text: str, pages: Sequence[PageInfo]) -> tuple[PageInfo, ...]:
    """The page table with the page numbers and Bates labels that the pages print.

    A printed number counts only where the numbers of neighbouring pages go up by one with it.
    """
    layout = read_layout(text, pages)
    numbers: dict[int, int] = {}
    stamps: dict[int, str] = {}
    for line in layout.lines:
        if line.region is not Region.FURNITURE:
            continue
        content = text[line.start : line.end]
        stamp = _BATES_LINE.match(content)
        if stamp:
            stamps[line.page] = stamp.group(1)
        printed = _PRINTED.match(content)
        if printed:
            numbers.setdefault(line.page, int(printed.group(1)))
    made = []
    for page in pages:
        value = numbers.get(page.number)
        steady = value is not None and (
            numbers.get(page.number - 1) == value - 1 or numbers.get(page.number + 1) == value + 1
        )
        made.append(
            msgspec.structs.replace(
                page,
                label=str(value) if steady else page.label,
                bates=stamps.get(page.number, page.bates),
            )
        )
    return tuple(made)
