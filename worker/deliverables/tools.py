"""What a model may call: five ways to look into its own matter, none to change anything.

A tool sees one matter and only that: it is made around the open record of the job, and a document
is named by its number in the list, so that there is no word for anything outside. Whatever is wrong
with a call becomes a sentence that the model reads.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from protocol.record import DocumentClass, DocumentInfo
from rag.lookup import LookupKind, find
from worker.deliverables import Desk
from worker.deliverables.relevance import best_sentences
from worker.prompts import fenced
from worker.quoting import Sentence

TOOLS: Final = ("search", "open_page", "list_documents", "find_date", "date_span")
_FOUND: Final = 6
"""Sentences that a search or a date gives at most."""
_OF_PAGE: Final = 40
_LISTED: Final = 60
_MOST_CHARS: Final = 400
"""Longest search text."""
_TOLD_CHARS: Final = 2_000
"""What the model is told of one call at most."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model asks for."""

    tool: str
    text: str = ""
    """For ``search``."""
    document: int = 0
    """For ``open_page``: its number in the list."""
    page: int = 0
    start: str = ""
    """For ``find_date`` and ``date_span``: ``2024-01-09``."""
    end: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call."""

    told: str
    """For the model."""
    ok: bool = True
    computed: str = ""
    """A computed fact, for the prompt of the reply."""


@dataclass(frozen=True, kw_only=True)
class Looked:
    """An outcome and the sentences it brought up."""

    outcome: Outcome
    sentences: tuple[Sentence, ...] = ()


def call_schema() -> dict[str, Any]:
    """The only shape a call may have."""
    text = {"type": "string", "maxLength": _MOST_CHARS}
    number = {"type": "integer", "minimum": 0, "maximum": 100_000}
    return {
        "type": "object",
        "properties": {
            "tool": {"enum": [*TOOLS, "done"]},
            "text": text,
            "document": number,
            "page": number,
            "start": {"type": "string", "maxLength": 10},
            "end": {"type": "string", "maxLength": 10},
        },
        "required": ["tool"],
        "additionalProperties": False,
    }


def parse(written: str) -> ToolCall | None:
    """The call a model wrote; None where it is none."""
    try:
        return msgspec.json.decode(written, type=ToolCall)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


async def use(desk: Desk, call: ToolCall) -> Looked:
    """Does one call; never raises for what the model got wrong."""
    if call.tool == "search":
        return await _search(desk, call)
    if call.tool == "open_page":
        return await _open_page(desk, call)
    if call.tool == "list_documents":
        return _list_documents(desk)
    if call.tool == "find_date":
        return await _find_date(desk, call)
    if call.tool == "date_span":
        return _date_span(call)
    return _wrong(f"there is no such tool; there are {', '.join(TOOLS)}")


async def _search(desk: Desk, call: ToolCall) -> Looked:
    if not call.text.strip() or len(call.text) > _MOST_CHARS:
        return _wrong(f"search wants a text of 1 to {_MOST_CHARS} characters")
    hits = await desk.retrieve(call.text, desk.settings.passages)
    scored = await best_sentences(desk, call.text, hits, most=_FOUND)
    return _found(desk, [one.sentence for one in scored])


async def _open_page(desk: Desk, call: ToolCall) -> Looked:
    infos = _infos(desk)
    if not 1 <= call.document <= len(infos):
        return _wrong(f"no such document; this matter has 1 to {len(infos)}")
    info = infos[call.document - 1]
    pages = desk.matter.record.pages(info.id)
    page = next((one for one in pages if one.number == call.page), None)
    if page is None:
        return _wrong(f"no such page; this document has 1 to {len(pages)}")
    every = await desk.sentences(info.id)
    shown = [one for one in every if page.start <= one.start < page.end]
    if not shown:
        return Looked(outcome=Outcome(told="no sentence of this page could be read"))
    return _found(desk, shown[:_OF_PAGE])


def _list_documents(desk: Desk) -> Looked:
    infos = _infos(desk)
    lines = [
        f"{number}. {fenced(info.title)}, {info.pages} pages"
        for number, info in enumerate(infos[:_LISTED], start=1)
    ]
    if len(infos) > _LISTED:
        lines.append(f"and {len(infos) - _LISTED} more")
    return Looked(outcome=Outcome(told="\n".join(lines) or "no document"))


async def _find_date(desk: Desk, call: ToolCall) -> Looked:
    day = _day(call.start)
    if day is None:
        return _wrong("find_date wants start as 2024-01-09")
    looked = await asyncio.to_thread(
        find, desk.matter.record, day.isoformat(), filters=desk.scope.filters, limit=_FOUND
    )
    if looked.kind is not LookupKind.DATE or not looked.matches:
        return Looked(outcome=Outcome(told=f"nowhere: {day.isoformat()}"))
    shown = []
    for match in looked.matches:
        every = await desk.sentences(match.span.document)
        at = bisect_right([one.start for one in every], match.span.start) - 1
        if at >= 0 and match.span.start < every[at].end:
            shown.append(every[at])
    return _found(desk, shown)


def _date_span(call: ToolCall) -> Looked:
    start, end = _day(call.start), _day(call.end)
    if start is None or end is None:
        return _wrong("date_span wants start and end as 2024-01-09")
    days = (end - start).days
    said = (
        f"From {start:%B} {start.day}, {start.year} to {end:%B} {end.day}, {end.year}:"
        f" {days} days, not counting the first."
    )
    return Looked(outcome=Outcome(told=said, computed=said))


def _found(desk: Desk, sentences: Sequence[Sentence]) -> Looked:
    numbers = {info.id: at for at, info in enumerate(_infos(desk), start=1)}
    shown = [one for one in sentences if one.document in numbers]
    told = "\n".join(
        f"document {numbers[one.document]} ({fenced(one.place)}): {fenced(one.words)}"
        for one in shown
    )
    return Looked(outcome=Outcome(told=told[:_TOLD_CHARS] or "nothing"), sentences=tuple(shown))


def _infos(desk: Desk) -> list[DocumentInfo]:
    """The documents a model may see, in the order of the list."""
    return [
        info for info in desk.chosen(()) if info.document_class is not DocumentClass.MODEL_OUTPUT
    ]


def _day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _wrong(said: str) -> Looked:
    return Looked(outcome=Outcome(told=f"error: {said}", ok=False))
