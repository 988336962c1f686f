"""One page of the record as blocks, with the passage that a citation points at lit."""

from __future__ import annotations

from typing import Final

from bot.blocks import Block, Piece, Tone, blank, cells, paragraph
from bot.look import Look
from bot.visible import visible
from protocol.answers import Citation
from protocol.jobs import SourcePage
from protocol.record import PageInfo, Reading

_LIT: Final = ("▌ ", "> ")
"""Stands before every line that holds lit text, so that colour is not needed to find it."""


def page_blocks(shown: SourcePage, place: Citation | None, look: Look) -> list[Block]:
    """The page line by line.

    Args:
        shown: The page as the worker sent it.
        place: What to light; None lights nothing.
        look: Language, signs, width and zone.
    """
    blocks = [paragraph(Piece(_title(shown, look), Tone.STRONG), hang=3)]
    if place is not None:
        blocks.append(paragraph(Piece(look.line(place.pin_cite), Tone.STRONG), hang=3))
    page = shown.page
    if page.reading is Reading.UNREADABLE:
        reason = look.line(page.reason)
        text = look.words("chat.page_unreadable", reason=reason)
        return [*blocks, paragraph(Piece(text, Tone.AMBER), hang=3)]
    if page.reason or page.reading is Reading.OCR:
        blocks.append(paragraph(Piece(_doubt(page, look), Tone.AMBER), hang=3))
    if place is not None and place.text_sha256 not in ("", shown.document.text_sha256):
        note = look.words("chat.text_changed")
        blocks.append(paragraph(Piece(note, Tone.AMBER), hang=3))
    text = shown.text.rstrip("\f\n")
    if not text.strip():
        return [*blocks, paragraph(Piece(look.words("chat.page_empty"), Tone.FAINT))]
    lit = _lit_range(shown, place)
    blocks += [blank(), *_lines(text, lit, look)]
    return blocks if place is None or not lit[1] else _with_rest(blocks, shown, place, look)


def _with_rest(blocks: list[Block], shown: SourcePage, place: Citation, look: Look) -> list[Block]:
    """The page, and what says that the passage does not begin or end on it."""
    page = shown.page
    before, after = place.span.start < page.start, place.span.end > page.end
    said = [("chat.page_before", page.number - 1)] if before else []
    said += [("chat.page_after", page.number + 1)] if after else []
    rest = [paragraph(Piece(look.words(key, page=at), Tone.AMBER), hang=3) for key, at in said]
    return [*blocks, *rest]


def _title(shown: SourcePage, look: Look) -> str:
    document, page = shown.document, shown.page
    said = look.words(
        "chat.page",
        title=look.line(document.title or document.name),
        page=page.number,
        pages=document.pages,
    )
    if page.label and page.label != str(page.number):
        said = look.words("chat.page_label", place=said, label=look.line(page.label))
    return f"{said} · {look.line(page.bates)}" if page.bates else said


def _doubt(page: PageInfo, look: Look) -> str:
    parts = []
    if page.reading is Reading.OCR:
        parts.append(look.words("chat.page_ocr", percent=round(100 * (page.confidence or 0.0))))
    parts.append(look.line(page.reason))
    return " · ".join(part for part in parts if part)


def _lit_range(shown: SourcePage, place: Citation | None) -> tuple[int, int]:
    """``[begin, end)`` of the lit text on this page; empty where the place is on another page."""
    if place is None or place.document != shown.document.id:
        return 0, 0
    begin = max(place.span.start, shown.page.start) - shown.page.start
    end = min(place.span.end, shown.page.end) - shown.page.start
    return (begin, end) if begin < end else (0, 0)


def _lines(text: str, lit: tuple[int, int], look: Look) -> list[Block]:
    ascii_only = look.signs.ascii_only
    sign = _LIT[ascii_only]
    blocks = []
    at = 0
    for line in text.split("\n"):
        begin = min(max(lit[0] - at, 0), len(line))
        end = min(max(lit[1] - at, 0), len(line))
        cut = (line[:begin], line[begin:end], line[end:])
        before, within, after = (visible(part, ascii_only=ascii_only) for part in cut)
        lead = Piece(sign, Tone.LIT) if within.strip() else Piece(" " * cells(sign))
        pieces = (lead, Piece(before), Piece(within, Tone.LIT), Piece(after))
        blocks.append(Block(sentences=(pieces,), indent=1, hang=1 + cells(sign), as_is=True))
        at += len(line) + 1
    return blocks
