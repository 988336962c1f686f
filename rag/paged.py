"""A document after loading: one canonical text, its pages, and what was found on the way.

Canonical text has ``\\n`` line ends, one form feed at the end of every page but the last, and is
counted in Unicode code points. Everything a reader may cite points into it; what is hidden in a
document never stands in it (it is listed as a finding instead).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum

from protocol.record import PageInfo, Reading

PAGE_END = "\f"


class FindingKind(StrEnum):
    """What a reader of the page would not see, or would be misled by."""

    HIDDEN_TEXT = "hidden_text"
    """Words in the file that a person looking at the page cannot see."""
    FAILED_REDACTION = "failed_redaction"
    """Words that still stand under a drawn box that was meant to remove them."""
    HIDDEN_SHEET = "hidden_sheet"
    """A sheet, row or column of a workbook that is switched off."""
    LOOKALIKE = "lookalike"
    """A word some of whose letters are of another script; it stays in the text."""
    NAME_TRICK = "name_trick"
    """A file name that shows as something it is not, or that reads as an order."""


@dataclass(frozen=True, kw_only=True)
class PagedFinding:
    """One hidden or misleading thing.

    ``start`` and ``end`` are offsets in the canonical text. Words kept out of it have
    ``start == end``: the place where they would have stood.
    """

    kind: FindingKind
    page: int
    """Physical page, from 1; 0 when it is about the file as a whole (its name)."""
    start: int
    end: int
    reason: str
    """Why, in words; holds no words of the document."""
    text: str = field(default="", repr=False)
    """The words that were kept out, for a person who asks to see them; never evidence."""


class PlaceKind(StrEnum):
    """What a place of the locator table is."""

    LINE = "line"
    """A line with a printed number (transcript, pleading paper); label = the number."""
    PARAGRAPH = "paragraph"
    """A paragraph; label = its printed number, else "#" and its ordinal."""
    SPEAKER = "speaker"
    """One turn of a transcript; label = who speaks ("Q", "A", "THE WITNESS")."""
    CELL = "cell"
    """One cell; label = sheet and address, "Invoices!B7"."""
    MAIL_PART = "mail_part"
    """A zone of a message; label = "header", "body", "quoted", "signature"."""
    HEADING = "heading"
    HEADER = "header"
    FOOTER = "footer"
    FOOTNOTE = "footnote"
    COMMENT = "comment"
    INSERTION = "insertion"
    """A tracked change not yet accepted; label = author and date."""
    DELETION = "deletion"
    """Where words were struck out by a tracked change; an empty span, label = author and date."""
    STAMP = "stamp"
    """A stamp that a court or a production put on the page; label = the stamp as printed."""
    FORM_FIELD = "form_field"
    ANNOTATION = "annotation"


@dataclass(frozen=True, kw_only=True)
class Place:
    """One entry of the locator table: what the span ``start``-``end`` is called in the document."""

    kind: PlaceKind
    start: int
    end: int
    label: str


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle on a page, in points (1/72 inch) from the page's lower left corner."""

    page: int
    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, kw_only=True)
class PagedText:
    """What a loader makes of one file, or of one part of a file.

    The page table always agrees with the form feeds of ``text``; a value for which it does not
    cannot be made (`ValueError`).
    """

    text: str = field(repr=False)
    pages: tuple[PageInfo, ...] = field(repr=False)
    kind: str
    """The file kind as recognised from the content: pdf, docx, txt, transcript, eml, ..."""
    title: str
    name: str
    """The name as it was given."""
    findings: tuple[PagedFinding, ...] = ()
    warnings: tuple[str, ...] = ()
    """What a person should know about the reading, in words; no words of the document."""
    places: tuple[Place, ...] = field(default=(), repr=False)
    """Locators, ordered by start; entries of different kinds may overlap."""
    original: bytes | None = field(default=None, repr=False)
    """The bytes of a part that came inside another file; None for the file itself."""
    parent_at: int | None = None
    """Offset in the text of the file it came in where this part is mentioned."""
    parent: int | None = None
    """Index, in the tuple that `load` returned, of the document this part came in."""

    def __post_init__(self) -> None:
        spans = page_spans(self.text)
        told = tuple((page.start, page.end) for page in self.pages)
        if told != spans:
            raise ValueError("the page table does not agree with the form feeds")
        if any(page.number != at for at, page in enumerate(self.pages, 1)):
            raise ValueError("pages are not numbered from 1")

    def page_at(self, offset: int) -> PageInfo:
        """The page on which the character at ``offset`` stands; the end belongs to the last one.

        Raises `IndexError` for an offset outside the text.
        """
        if not 0 <= offset <= len(self.text):
            raise IndexError("offset outside the text")
        starts = [page.start for page in self.pages]
        return self.pages[bisect_right(starts, offset) - 1]

    def page_text(self, number: int) -> str:
        """The text of physical page ``number`` (from 1)."""
        page = self.pages[number - 1]
        return self.text[page.start : page.end]

    def places_of(self, kind: PlaceKind) -> tuple[Place, ...]:
        """All places of one kind, in order."""
        return tuple(place for place in self.places if place.kind is kind)

    @property
    def readable(self) -> bool:
        """Whether at least one page could be read."""
        return any(page.reading is not Reading.UNREADABLE for page in self.pages)


def page_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Start and end of every page of a canonical text; an empty text has one empty page."""
    spans: list[tuple[int, int]] = []
    start = 0
    while (end := text.find(PAGE_END, start)) >= 0:
        spans.append((start, end))
        start = end + 1
    spans.append((start, len(text)))
    return tuple(spans)
