"""What happens to a model's prose after it is written: failing quotations once more, then a reader.

A quotation that fails is asked for once again with the record's own words at hand; if it still
fails it is shown failing. Then the reply is read as the other side would read it. The second reader
only points at sentences by number, and what it points at becomes a note: it changes no word and no
mark of the reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

import verify
from protocol.answers import RED, Finding, ItemKind
from protocol.errors import BadRequest, Unavailable
from worker import prompts
from worker.checking import checked
from worker.deliverables import Desk
from worker.deliverables.quotations import put_in_quotations
from worker.deliverables.writing import write
from worker.heads import Head, placed
from worker.logs import Log
from worker.quoting import Sentence

_LOG: Final = Log("second_look")
_READER: Final = "Second reading by the same model"
_REVIEW_TOKENS: Final = 96
_MOST_TOLD: Final = 6
"""Sentences a reader's note names at most."""
_SHOWN_CHARS: Final = 160


class _Reading(msgspec.Struct):
    unsupported: list[int] = []
    left_out: list[int] = []


async def repaired(
    desk: Desk, question: str, text: str, held: Sequence[Sentence], head: Head | None = None
) -> tuple[str, tuple[str, ...]]:
    """The text, its failing quotations asked for once more, and notes of what came of it."""
    failing = await _failing(desk, text, question)
    if not failing:
        return text, ()
    near = [*held, *await _true(desk, failing)]
    offered = list({(one.document, one.start): one for one in near}.values())
    wrong = "\n".join(f"- {prompts.fenced(text[item.start : item.end])}" for item in failing)
    asked = f"{question}\n\nThe reply was: {prompts.fenced(text)}\n\nNot in the record: {wrong}"
    try:
        prompt, again = await placed(
            desk.engine,
            "repair",
            asked,
            offered,
            head=head,
            output_tokens=desk.settings.answer_tokens,
        )
        written = await write(desk, prompt, max_tokens=desk.settings.answer_tokens)
    except (Unavailable, BadRequest):
        return text, ("Quotations that fail could not be asked for again.",)
    mended, _, _ = put_in_quotations(written.text, again)
    mended = mended.strip()
    left = await _failing(desk, mended, question)
    if mended and len(left) < len(failing):
        note = f"{_many(len(failing))} not as in the record; the reply was asked for once more."
        return mended, (note,)
    return text, (f"{_many(len(failing))} asked for again and still not as in the record.",)


async def second_reading(
    desk: Desk, question: str, text: str, held: Sequence[Sentence], head: Head | None = None
) -> tuple[str, ...]:
    """Notes of an adversarial reader; they say which model read.

    Another board's model reads where there is one that takes work; when it fails, the writer's own.
    """
    reader = desk.reader
    if reader is not None and await reader.ready():
        said = f"Second reading on board {reader.board} ({reader.engine.provenance.model})"
        async with reader.aside():
            notes = await _read_by(desk.at(reader), said, question, text, held, None)
        if notes is not None:
            return notes
    notes = await _read_by(desk, _READER, question, text, held, head)
    return (f"{_READER}: nothing usable came of it.",) if notes is None else notes


async def _read_by(
    desk: Desk, said: str, question: str, text: str, held: Sequence[Sentence], head: Head | None
) -> tuple[str, ...] | None:
    """The notes of one reader; None when nothing usable came of it."""
    report = await _checked(desk, text, question)
    own = [text[claim.start : claim.end] for claim in report.sentences] if report else []
    if not own:
        return ()
    numbered = "\n".join(f"[{n}] {prompts.fenced(one)}" for n, one in enumerate(own, start=1))
    try:
        prompt, shown = await placed(
            desk.engine,
            "review",
            f"{question}\n\nThe reply:\n{numbered}",
            held,
            head=head,
            output_tokens=_REVIEW_TOKENS,
        )
        written = await write(
            desk, prompt, max_tokens=_REVIEW_TOKENS, json_schema=_schema(len(own), len(shown))
        )
        read = msgspec.json.decode(written.text, type=_Reading)
    except (Unavailable, BadRequest, msgspec.DecodeError, msgspec.ValidationError):
        return None
    notes = [
        f"{said}: no support seen for: {own[n - 1][:_SHOWN_CHARS].strip()}"
        for n in dict.fromkeys(read.unsupported)
        if 1 <= n <= len(own)
    ][:_MOST_TOLD]
    notes += [
        f"{said}: left out, and it may hurt: {_titled(desk, shown[n - 1])}:"
        f" “{shown[n - 1].words[:_SHOWN_CHARS]}”"
        for n in dict.fromkeys(read.left_out)
        if 1 <= n <= len(shown) and shown[n - 1].words not in text
    ][:_MOST_TOLD]
    return tuple(notes) or (f"{said}: nothing to add.",)


async def _failing(desk: Desk, text: str, question: str) -> list[Finding]:
    report = await _checked(desk, text, question)
    found = report.findings if report else ()
    return [one for one in found if one.kind is ItemKind.QUOTE and one.verdict in RED]


async def _checked(desk: Desk, text: str, question: str) -> verify.Report | None:
    """None when the checker cannot run: the pipeline then says that nothing was checked."""
    try:
        record = desk.matter.opened()
        return await checked(text, record, job=desk.context.job, user_text=question)
    except Exception as error:
        _LOG.trouble("second_look.unchecked", error, job=desk.context.job)
        return None


async def _true(desk: Desk, failing: Sequence[Finding]) -> list[Sentence]:
    """The sentences of the record that stand nearest to what was misquoted."""
    found = []
    filtered = desk.scope.filters is not None
    for item in failing:
        for place in (*item.places, *item.nearest)[:1]:
            if filtered and place.document not in desk.scope.documents:
                continue  # the person asked for a part of the record
            found += [
                one
                for one in await desk.sentences(place.document)
                if one.start <= place.span.start < one.end
            ]
    return found


def _titled(desk: Desk, sentence: Sentence) -> str:
    titles = {info.id: info.title for info in desk.matter.record.documents()}
    return titles.get(sentence.document, "")


def _many(count: int) -> str:
    return "One quotation was" if count == 1 else f"{count} quotations were"


def _schema(own: int, shown: int) -> dict[str, Any]:
    def numbers(most: int) -> dict[str, Any]:
        number = {"type": "integer", "minimum": 1, "maximum": max(1, most)}
        return {"type": "array", "items": number, "maxItems": _MOST_TOLD}

    return {
        "type": "object",
        "properties": {"unsupported": numbers(own), "left_out": numbers(shown)},
        "required": ["unsupported", "left_out"],
        "additionalProperties": False,
    }
