"""What a loader gives back before it is a `PagedText`: pages of text, with places inside them.

A draft is the mutable side of loading. It keeps offsets page by page; `finish` joins the pages with
form feeds, shifts every place, and fills the page table.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from protocol.record import PageInfo, Reading
from rag.paged import PAGE_END, FindingKind, PagedFinding, PagedText, Place, PlaceKind


class Unread(Exception):
    """A document that cannot be read; the message says why and what would help, in words."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file that came inside another one."""

    name: str
    data: bytes = field(repr=False)
    parent_at: int | None
    """Offset in the parent's text where it is mentioned."""
    problem: str = ""
    """Why its bytes could not be had; empty when they are there."""


@dataclass(kw_only=True)
class PageDraft:
    """One page being put together; offsets count from the page's own start."""

    text: str = ""
    label: str | None = None
    bates: str | None = None
    reading: Reading = Reading.TEXT
    confidence: float | None = None
    readers_disagree: bool = False
    reason: str = ""
    layer: str = field(default="", repr=False)
    """What a scan's own text layer says (a stamp, a page number): names the page, is no text."""
    paragraphs: int = 0
    """How many have been named so far."""
    places: list[Place] = field(default_factory=list)
    findings: list[PagedFinding] = field(default_factory=list)

    @classmethod
    def unread(cls, reason: str) -> PageDraft:
        """A page without text, and why."""
        return cls(reading=Reading.UNREADABLE, reason=reason)

    def place(self, kind: PlaceKind, start: int, end: int, label: str) -> None:
        """Name the stretch ``start``-``end`` of this page."""
        self.places.append(Place(kind=kind, start=start, end=end, label=label))

    def find(self, kind: FindingKind, at: int, reason: str, text: str = "") -> None:
        """Note something that was kept out at offset ``at`` of this page."""
        self.findings.append(
            PagedFinding(kind=kind, page=1, start=at, end=at, reason=reason, text=text)
        )

    def add(self, text: str, kind: PlaceKind | None = None, label: str = "") -> int:
        """Append a line (or several) to the page; gives the offset where it starts."""
        if self.text and not self.text.endswith("\n"):
            self.text += "\n"
        start = len(self.text)
        self.text += text
        if kind is not None:
            self.place(kind, start, len(self.text), label)
        return start


@dataclass(kw_only=True)
class Draft:
    """One document being put together."""

    kind: str
    pages: list[PageDraft] = field(default_factory=list)
    title: str = ""
    findings: list[PagedFinding] = field(default_factory=list)
    """About the file as a whole (page 0)."""
    warnings: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    """Files that came inside; ``parent_at`` counts from the start of the first page."""
    unread_parts: int = 0
    """How many further ones the loader did not take out."""

    @classmethod
    def unread(cls, kind: str, reason: str) -> Draft:
        """A document of one page that could not be read."""
        return cls(kind=kind, pages=[PageDraft.unread(reason)])

    def warn(self, words: str) -> None:
        """Add a warning once."""
        if words not in self.warnings:
            self.warnings.append(words)

    def finish(
        self, *, name: str, original: bytes | None, parent: int | None, parent_at: int | None
    ) -> PagedText:
        """The paged text; a draft without pages has one empty unreadable page."""
        drafts = self.pages or [PageDraft.unread("the file holds nothing that can be read")]
        texts: list[str] = []
        pages: list[PageInfo] = []
        places: list[Place] = []
        findings = list(self.findings)
        start = 0
        for number, draft in enumerate(drafts, 1):
            text = _canonical(draft.text)
            texts.append(text)
            pages.append(
                PageInfo(
                    number=number,
                    start=start,
                    end=start + len(text),
                    label=draft.label,
                    bates=draft.bates,
                    reading=draft.reading,
                    confidence=draft.confidence,
                    readers_disagree=draft.readers_disagree,
                    reason=draft.reason,
                )
            )
            places += [
                Place(kind=p.kind, start=p.start + start, end=p.end + start, label=p.label)
                for p in draft.places
            ]
            findings += [
                PagedFinding(
                    kind=f.kind,
                    page=number,
                    start=f.start + start,
                    end=f.end + start,
                    reason=f.reason,
                    text=f.text,
                )
                for f in draft.findings
            ]
            start += len(text) + 1
        return PagedText(
            text=PAGE_END.join(texts),
            pages=tuple(pages),
            kind=self.kind,
            title=self.title.strip() or title_of(name),
            name=name,
            findings=tuple(findings),
            warnings=tuple(self.warnings),
            places=tuple(sorted(places, key=lambda place: (place.start, -place.end))),
            original=original,
            parent=parent,
            parent_at=parent_at,
        )


_LEFT_OVER = re.compile("[\r\f\x00\ud800-\udfff]")


def _canonical(text: str) -> str:
    """Characters that may not stand in a page, each replaced by one other: offsets stay good."""
    return _LEFT_OVER.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    return {"\r": "\n", "\f": "\n", "\x00": "\ufffd"}.get(match.group(), "\ufffd")


_ABBREVIATED: Final = frozenset({"Dep", "Decl", "Compl", "Aff", "Tr", "Ex", "Exh", "Mot", "Opp"})


def title_of(name: str) -> str:
    """How people call a file: its name without folder and suffix, underscores as spaces.

    A name that ends in an abbreviation lawyers write with a full stop gets it: "Reeves Dep.".
    """
    stem = PurePath(unicodedata.normalize("NFC", name).replace("\\", "/")).stem or name
    title = " ".join(stem.replace("_", " ").split()) or "untitled"
    return f"{title}." if title.split()[-1] in _ABBREVIATED else title
