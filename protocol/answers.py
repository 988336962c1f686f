"""What the worker says to a question, and what the checker says of it.

Verdict words and review states are frozen: stored answers, reports and scripts hold them.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum

import msgspec

from protocol.ids import DocumentId, JobId, MatterId, PassageId, UserName
from protocol.record import Coverage
from protocol.spans import SourceSpan


class Verdict(StrEnum):
    """What the record says of one checkable item."""

    VERIFIED = "VERIFIED"
    """The same words or value, only typography or layout differ."""
    VERIFIED_MARKED = "VERIFIED_MARKED"
    """The same words once the disclosed changes (ellipsis, brackets, sic) are undone."""
    COMPUTED = "COMPUTED"
    """Not in the record, but follows from it by the steps shown."""
    CHECK = "CHECK"
    """Found or likely, but not proven; the reason says what to look at."""
    AMBIGUOUS = "AMBIGUOUS"
    """It reads two ways and the record does not settle which."""
    ALTERED = "ALTERED"
    """Found nearby with differences that are not disclosed or change the meaning."""
    NOT_FOUND = "NOT_FOUND"
    """The record does not hold it; the nearest passage is shown."""
    MISATTRIBUTED = "MISATTRIBUTED"
    """Found, but not in the document, page, speaker or event the reply names."""
    INCONSISTENT = "INCONSISTENT"
    """It contradicts itself: a weekday or a sum is wrong."""
    NOT_A_QUOTE = "NOT_A_QUOTE"
    """Quotation marks that do not quote the record; carries no mark."""


GREEN = frozenset({Verdict.VERIFIED, Verdict.VERIFIED_MARKED, Verdict.COMPUTED})
"""Shown with the sign of the verified."""
AMBER = frozenset({Verdict.CHECK, Verdict.AMBIGUOUS})
"""To look at."""
RED = frozenset({Verdict.ALTERED, Verdict.NOT_FOUND, Verdict.MISATTRIBUTED, Verdict.INCONSISTENT})
"""Failing."""


class ItemKind(StrEnum):
    """What kind of thing an item is. All but the last two may be green."""

    QUOTE = "quote"
    DATE = "date"
    AMOUNT = "amount"
    """Money, with its currency."""
    NUMBER = "number"
    """A number, percent or quantity with its unit."""
    NAME = "name"
    """A person or party."""
    RECORD_CITE = "record_cite"
    """A pointer into the record: "Reeves Dep. 2:3", "NG-000212", "갑 제3호증"."""
    AUTHORITY_CITE = "authority_cite"
    """A reporter or statute cite: form only, unless an authority set is loaded."""
    STATEMENT = "statement"
    """A sentence in the reply's own words. Never green."""


class SentenceClass(StrEnum):
    """What a sentence of an answer is. Every sentence has one."""

    SUPPORTED = "supported"
    """It holds at least one checkable item, and every one of them is green."""
    UNSUPPORTED = "unsupported"
    """It holds a checkable item that is not green."""
    INFERENCE = "inference"
    """The reply's own conclusion."""
    LAW = "law"
    ARGUMENT = "argument"
    INSTRUCTION = "instruction"
    BOILERPLATE = "boilerplate"
    """Headings, coverage lines, "the record does not say"."""
    NO_SOURCE = "no_source"
    """A statement that names nothing of the record."""


class ReviewState(StrEnum):
    """Where a reply stands on its way to a human's signature."""

    AWAITING = "AWAITING"
    """A draft nobody has decided on."""
    RETURNED = "RETURNED"
    """A reviewer sent it back, with a note."""
    APPROVED = "APPROVED"
    """A named reviewer approved exactly this text."""
    FINAL = "FINAL"
    """Approved and exported: it may leave."""
    FILED = "FILED"
    """Filed or sent; frozen."""
    WITHDRAWN = "WITHDRAWN"
    """Taken back; it may not be used."""


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the record, with the locator as a lawyer would file it."""

    document: DocumentId
    title: str
    span: SourceSpan
    line_begin: int | None
    """First line on its page: the printed number where the page prints one."""
    line_end: int | None
    end_page: int
    """Physical page on which the place ends."""
    pin_cite: str
    """As filed: "Reeves Dep. 1:8-2:1 (NG-000212-213)". Made by code, never by a model."""
    bates: str | None = None
    speaker: str | None = None
    words: str = ""
    """The record's own words at this place."""
    text_sha256: str = ""
    """The text version in which the span stands."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check says of one item of a reply."""

    number: int
    """The number of its mark in the reply, from 1."""
    start: int
    end: int
    """``[start, end)`` in the answer's text, in code points."""
    kind: ItemKind
    verdict: Verdict
    reason: str
    """One line a lawyer would write."""
    places: tuple[Citation, ...] = ()
    also_in: tuple[Citation, ...] = ()
    """Other documents that hold the same words."""
    nearest: tuple[Citation, ...] = ()
    """For NOT_FOUND: the closest passage, which does not support the item."""
    diff: str = ""
    """The difference in words: ``record "shall not" / reply "shall"``."""
    steps: tuple[str, ...] = ()
    """How a computed value was reached, or which disclosed changes were undone."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence of an answer, its class and the items it rests on."""

    start: int
    end: int
    sentence_class: SentenceClass
    items: tuple[int, ...] = ()
    """Numbers of the findings that stand in it or on which it rests."""


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the time of a reply went, in milliseconds of wall time."""

    queue_ms: float = 0.0
    retrieving_ms: float = 0.0
    reading_ms: float = 0.0
    """Prefill: the engine reading the prompt."""
    writing_ms: float = 0.0
    """Decode."""
    checking_ms: float = 0.0
    total_ms: float = 0.0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    """Prompt tokens the engine found in its kv_cache."""
    output_tokens: int = 0
    tokens_per_s: float = 0.0
    board: str = ""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Who made this value, from what, with which version."""

    engine: str = ""
    model: str = ""
    model_sha256: str = ""
    binary_sha256: str = ""
    flags: tuple[str, ...] = ()
    seed: int | None = None
    prompt_sha256: str = ""
    finish_reason: str = ""
    template_sha256: str = ""
    """Hash of the model's chat template."""
    prompt_tokens: int | None = None
    """Tokens the engine was given; None where no model was asked."""
    reused_tokens: int | None = None
    """Of these, the ones it found in its kv_cache and did not read again (``cache_n``)."""
    drafted_tokens: int = 0
    """Tokens that speculation proposed."""
    accepted_tokens: int = 0
    """Of these, the ones the model agreed with."""
    composition: str = ""
    """"extractive": every sentence is the record's own words; "model": the model's; "code"."""
    passages: tuple[PassageId, ...] = ()
    record: dict[str, str] = {}
    """Document id to the hash of the text version that was cited."""
    checker_version: str = ""
    degraded: str = ""
    """What was missing when this was made, in one sentence; empty when nothing was."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that code computed, for `/extract`, `/find` and chronologies."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    items: tuple[int, ...] = ()
    """For each row, the number of the finding that proves it; 0 where there is none."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer decided, of which exact text."""

    state: ReviewState
    by: UserName
    at: dt.datetime
    answer_sha256: str
    note: str = ""
    opened: tuple[int, ...] = ()
    """Sentences of the reply, from 1, at whose source the reviewer had looked by then."""
    acknowledged: dict[int, str] = {}
    """For items that are not green: their numbers and the reviewer's reasons."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One reply: the text, every item checked, what was read, and where it stands in review."""

    job: JobId
    matter: MatterId
    kind: str
    """ask, find, summarize, extract, ..."""
    question: str
    text: str
    items: tuple[Finding, ...]
    sentences: tuple[Claim, ...]
    coverage: Coverage
    timings: Timings
    provenance: Provenance
    text_sha256: str
    """Hash of the text (UTF-8) to which a decision is bound."""
    review: ReviewState = ReviewState.AWAITING
    decision: Decision | None = None
    table: Table | None = None
    notes: tuple[str, ...] = ()
    """Said beside the reply, loudly: "nothing checkable", "the model is away", ..."""
