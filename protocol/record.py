"""What a matter holds, as plain values.

Canonical text: one string per document; a form feed (U+000C) ends every page but the last, so the
page table can be derived from the text alone; line ends are ``\\n``. A line number counts the lines
of a page from 1, unless the page prints its own numbers (a transcript, pleading paper).
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum

import msgspec

from protocol.ids import DocumentId, MatterId, PassageId
from protocol.spans import SourceSpan


class DocumentClass(StrEnum):
    """What a document may be used for."""

    EVIDENCE = "evidence"
    """A thing of the facts: contract, mail, transcript. May support a statement of fact."""
    PLEADING = "pleading"
    """A paper filed by a party. May support a statement of what that party says."""
    AUTHORITY = "authority"
    """Law. Never supports a statement of fact."""
    WORK_PRODUCT = "work_product"
    """A lawyer's own notes and drafts. Never supports a statement of fact."""
    MODEL_OUTPUT = "model_output"
    """Words this product made. Never supports anything."""


SUPPORTS_FACTS = frozenset({DocumentClass.EVIDENCE, DocumentClass.PLEADING})
"""The classes that may support a statement of fact."""


class Reading(StrEnum):
    """How a page's text was obtained."""

    TEXT = "text"
    """From the file's own text layer."""
    OCR = "ocr"
    """Recognised from an image; every item there is to be looked at."""
    UNREADABLE = "unreadable"
    """No text could be had; the reason stands beside it."""


class DateOrder(StrEnum):
    """How an all-digit date of a matter reads where the record does not settle it."""

    UNSET = "unset"
    """Nobody has said: two readings are two readings."""
    MONTH_FIRST = "month_first"
    DAY_FIRST = "day_first"


class Matter(msgspec.Struct, frozen=True, kw_only=True):
    """One engagement for one client: the wall of confidentiality."""

    id: MatterId
    title: str
    opened_at: dt.datetime
    date_order: DateOrder = DateOrder.UNSET


class PageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One physical page of a document and where its text stands in the canonical text."""

    number: int
    """Physical page, from 1."""
    start: int
    end: int
    label: str | None
    """The page number as the document prints it."""
    bates: str | None
    """The stamp of a production, as printed."""
    reading: Reading
    confidence: float | None
    """Mean word confidence of OCR, 0 to 1; None where there was no OCR."""
    readers_disagree: bool
    """Two readers count the words of this page apart by more than 2 %."""
    reason: str
    """Why the page is unreadable or doubtful, in words; empty when it is neither."""


class DocumentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the record."""

    id: DocumentId
    title: str
    """How people call it: "Reeves Dep.", else the file name without its suffix."""
    name: str
    """The original's name as it was given."""
    kind: str
    """The file kind: pdf, docx, txt, eml, ..."""
    document_class: DocumentClass
    text_sha256: str
    """Hash of the canonical text (UTF-8): spans mean something for this text only."""
    chars: int
    pages: int
    exhibit: str | None = None
    """The label as marked for a filing: "Ex. A", "갑 제3호증의 1"."""
    custodian: str | None = None
    parent: DocumentId | None = None
    bates_begin: str | None = None
    bates_end: str | None = None
    privileged: bool = False
    designation: str | None = None
    quarantined: bool = False


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of one document offered as context; the unit that is indexed and cited."""

    id: PassageId
    span: SourceSpan
    text: str
    heading: str
    """The heading it stands under, for the reader and the index; empty when there is none."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A passage found, and why."""

    passage: Passage
    score: float
    """Higher is better; comparable within one search only."""
    why: tuple[str, ...]
    """Each reason in words: "words: leak, notice", "near in meaning", "Bates NG-000212"."""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Something of the matter that could not be read."""

    document: DocumentId | None
    name: str
    pages: str
    """The pages as people write them: "3", "31-33"; empty when it is the whole file."""
    reason: str


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What a job read of the matter, and what it could not."""

    documents: int
    documents_read: int
    pages: int
    pages_read: int
    unread: tuple[Unread, ...]
    searched: str = ""
    """What the job looked through, in words: "all pages", "12 passages of 3 documents"."""


class LedgerState(StrEnum):
    """What became of one file."""

    INDEXED = "indexed"
    """Its text can be found and cited."""
    DUPLICATE = "duplicate"
    """Byte for byte another file of the matter."""
    FAILED = "failed"
    """It should have been read and could not be."""
    SKIPPED = "skipped"
    """It was left out on purpose, for the reason given."""


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One file that came in and what became of it."""

    name: str
    original_sha256: str
    state: LedgerState
    document: DocumentId | None
    pages: int
    pages_read: int
    reason: str


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """All files of a matter; files in = indexed + duplicate + failed + skipped, always."""

    rows: tuple[LedgerRow, ...]
