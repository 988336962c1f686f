"""The zones of a message's body: what the sender wrote, what is quoted, what is a signature."""

from __future__ import annotations

import re

from rag.loaders.lines import lines_of
from rag.loaders.parts import PageDraft
from rag.paged import PlaceKind

_QUOTED = re.compile(r"^\s?(?:>|\|)")
_INTRO = re.compile(
    r"^\s*(?:On\b.{4,200}\bwrote:|.{4,200}님이 (?:작성|씀):?|Le\b.{4,200}a écrit\s*:"
    r"|Am\b.{4,200}schrieb.*:)\s*$",
    re.DOTALL,
)
_ORIGINAL = re.compile(
    r"^\s*-{2,}\s*(?:Original Message|Forwarded message|Forwarded by.*|원본 메시지|전달된 메시지)"
    r"\s*-*\s*$|^\s*_{20,}\s*$|^\s*Begin forwarded message:\s*$",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"^--\s?$")


def mark(page: PageDraft, start: int) -> None:
    """Name the zones of the body that stands from ``start`` to the end of the page."""
    zone, zone_start, end = "body", start, start
    for low, high in lines_of(page.text):
        if low < start:
            continue
        line = page.text[low:high]
        next_zone = _zone(line, zone)
        if next_zone != zone and line.strip():
            _place(page, zone, zone_start, end)
            zone, zone_start = next_zone, low
        if line.strip():
            end = high
    _place(page, zone, zone_start, end)


def _place(page: PageDraft, zone: str, start: int, end: int) -> None:
    if page.text[start:end].strip():
        page.place(PlaceKind.MAIL_PART, start, end, zone)


def _zone(line: str, now: str) -> str:
    """The zone of a line, given the one before; a forwarded message goes on to the end."""
    if now == "forwarded":
        return now
    if _ORIGINAL.match(line):
        return "forwarded"
    if _QUOTED.match(line) or _INTRO.match(line):
        return "quoted"
    if _SIGNATURE.match(line):
        return "signature"
    return now if now == "signature" or not line.strip() else "body"
