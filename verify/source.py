"""The little that a checker must be able to read from a record.

`rag/matters.py` answers it for a matter's folder, `verify/__main__.py` for a folder of text files,
and a plain dictionary does in tests (`DictSource`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from protocol.ids import DocumentId
from protocol.record import DateOrder, DocumentClass, DocumentInfo, PageInfo, Reading


class Source(Protocol):
    """A record to check against.

    Reading is repeatable: for one text hash the same document gives the same text and pages for
    ever, and calls may be made in any order. Nothing is written.
    """

    @property
    def date_order(self) -> DateOrder:
        """How all-digit dates of this matter read, where somebody has said so."""
        ...

    def documents(self) -> Sequence[DocumentInfo]:
        """Every document that may be cited, quarantined ones left out."""
        ...

    def text(self, document: DocumentId) -> str:
        """The canonical text.

        Raises:
            KeyError: The record has no such document.
        """
        ...

    def pages(self, document: DocumentId) -> Sequence[PageInfo]:
        """The page table, in order; at least one page.

        Raises:
            KeyError: The record has no such document.
        """
        ...

    def index_path(self, document: DocumentId) -> Path | None:
        """Where this document's quotation index may lie on disk (keyed by its text hash).

        None means there is none and the checker builds one in memory.
        """
        ...


def pages_of(text: str) -> tuple[PageInfo, ...]:
    """The page table of a text whose pages end with form feeds and were read as text."""
    pages = []
    start = 0
    for number, part in enumerate(text.split("\f"), start=1):
        pages.append(
            PageInfo(
                number=number,
                start=start,
                end=start + len(part),
                label=None,
                bates=None,
                reading=Reading.TEXT,
                confidence=None,
                readers_disagree=False,
                reason="",
            )
        )
        start += len(part) + 1
    return tuple(pages)


class DictSource:
    """A record held in a dictionary: document id to (title, canonical text)."""

    def __init__(
        self,
        documents: Mapping[str, tuple[str, str]],
        *,
        date_order: DateOrder = DateOrder.UNSET,
        kinds: Mapping[str, str] | None = None,
        classes: Mapping[str, DocumentClass] | None = None,
        pages: Mapping[str, Sequence[PageInfo]] | None = None,
    ) -> None:
        self.date_order = date_order
        self._texts = {name: text for name, (_, text) in documents.items()}
        self._pages = {
            name: tuple((pages or {}).get(name) or pages_of(text))
            for name, text in self._texts.items()
        }
        self._infos = tuple(
            DocumentInfo(
                id=DocumentId(name),
                title=title,
                name=f"{name}.txt",
                kind=(kinds or {}).get(name, "txt"),
                document_class=(classes or {}).get(name, DocumentClass.EVIDENCE),
                text_sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
                chars=len(text),
                pages=len(self._pages[name]),
            )
            for name, (title, text) in documents.items()
        )

    def documents(self) -> Sequence[DocumentInfo]:
        return self._infos

    def text(self, document: DocumentId) -> str:
        return self._texts[document]

    def pages(self, document: DocumentId) -> Sequence[PageInfo]:
        return self._pages[document]

    def index_path(self, document: DocumentId) -> Path | None:
        return None
