"""`/chronology`: what the record dates, in the order of the dates; found and read by code alone.

One row a date of one sentence of one document: nothing is merged, so two documents that disagree
stay two rows. A date keeps its precision and role; what reads two ways or has no date stands at the
end and says so. What does not fit together is shown side by side, each side in the record's words,
and what only changed with time is told apart from it. The text holds quotations and no date of our
own: the dates stand in the table.
"""

from __future__ import annotations

import asyncio
import string
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol.answers import Provenance, Timings
from protocol.events import Progress, Stage
from protocol.jobs import Chronology
from protocol.record import DocumentClass
from worker.deliverables import Desk, Draft, Row
from worker.deliverables.conflicts import Conflict, conflicts_of
from worker.deliverables.events import (
    Event,
    Said,
    events_of,
    order_of,
    people_in,
    statements_of,
)
from worker.deliverables.wording import line

COLUMNS: Final = ("date", "precision", "role", "event", "people", "disputed", "note")
MOST_ROWS: Final = 400
"""Rows a reply lists; what is beyond is counted in a note, never dropped in silence."""
_HEADINGS: Final = {
    "conflict": "These do not fit together:",
    "sum": "This sum does not come out:",
    "change": "A change over time, not a contradiction:",
}


@dataclass
class Page:
    """The text while it is written, and the rows whose proof stands in it."""

    text: str = ""
    rows: list[Row] = field(default_factory=list)
    _printed: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)

    def heading(self, words: str) -> None:
        """Begins a part of the text; what was printed before it is printed again in it."""
        self.text += f"{chr(10) * 2 if self.text else ''}{words}"
        self._printed = {}

    def add(self, said: Said, cells: tuple[str, ...]) -> None:
        """A row, and its quotation unless this part holds it already."""
        stands = (said.info.id, said.sentence.start)
        if stands not in self._printed:
            self.text += f"\n{line(said.info.title, said.sentence, said.asked)}"
            self._printed[stands] = (self.text.rfind("“"), len(self.text))
        start, end = self._printed[stands]
        self.rows.append(Row(cells=cells, start=start, end=end))


async def make(desk: Desk, request: Chronology) -> Draft:
    """The draft of a chronology."""
    started = time.perf_counter()
    desk = await desk.narrowed(request.only)
    documents, inside = desk.telling(request.documents)
    events: list[Event] = []
    every: list[Said] = []
    notes: list[str] = []
    order = desk.matter.record.date_order
    for at, info in enumerate(documents):
        await desk.context.say(Progress(stage=Stage.RETRIEVING, done=at, total=len(documents)))
        found = await desk.sentences(info.id)
        dated = await asyncio.to_thread(events_of, info, found, order)
        events.extend(dated)
        every.extend(statements_of(info, found))
        if not any(event.date for event in dated):
            notes.append(f"{info.title}: no date stands in it.")
        await desk.context.breathe()
    conflicts = await asyncio.to_thread(conflicts_of, every)
    left_out = max(0, len(events) - MOST_ROWS)
    page = written(events, conflicts)
    notes = [
        *(f"{one.said.info.title}: {one.note}." for one in events if one.clash),
        *(_told(letter, one) for letter, one in _lettered(conflicts)),
        *inside,
        *notes,
    ]
    if left_out:
        notes.append(
            f"{left_out} further rows are not listed; name documents to see them in parts."
        )
    chosen = [info.id for info in documents] if request.documents else None
    return Draft(
        question=f"/chronology {request.only}".rstrip(),
        text=page.text or "The record as read holds no date.",
        coverage=await desk.covered("all pages", chosen),
        timings=Timings(retrieving_ms=(time.perf_counter() - started) * 1000),
        provenance=Provenance(composition="code"),
        columns=COLUMNS,
        rows=tuple(page.rows),
        notes=tuple(dict.fromkeys(notes)),
    )


def written(events: Sequence[Event], conflicts: Sequence[Conflict]) -> Page:
    """The text and the rows: dated, two-way and undated events, then what does not fit together."""
    page = Page()
    disputed = _disputed(conflicts)
    dated = [event for event in events if event.day is not None]
    dated.sort(key=lambda event: order_of(event.day) if event.day else (0, 0, 0))
    parts = (
        ("In the order of their dates:", dated),
        ("The date reads two ways:", [e for e in events if e.precision == "reads two ways"]),
        (
            "Undated, or dated without a year:",
            [e for e in events if e.day is None and e.precision != "reads two ways"],
        ),
    )
    room = MOST_ROWS
    for heading, part in parts:
        if part[:room]:
            page.heading(heading)
        for event in part[:room]:
            words = event.said.sentence.words
            where = disputed.get((event.said.info.id, event.said.sentence.start), [])
            told = [*where, *(["the date itself"] if event.clash else [])]
            cells = (
                event.date,
                event.precision,
                event.role,
                words,
                people_in(words),
                ", ".join(told),
                _note(event),
            )
            page.add(event.said, cells)
        room -= len(part[:room])
    for letter, one in _lettered(conflicts):
        page.heading(_HEADINGS[one.kind])
        for said in one.sides:
            words = said.sentence.words
            told_as = f"{one.kind} {letter}"
            page.add(said, ("", "", told_as, words, people_in(words), told_as, one.why))
    return page


def _note(event: Event) -> str:
    alleged = event.said.info.document_class is DocumentClass.PLEADING
    return "; ".join(
        part for part in ("alleged in a pleading" if alleged else "", event.note) if part
    )


def _lettered(conflicts: Sequence[Conflict]) -> list[tuple[str, Conflict]]:
    """Each with its letter: A to Z, then A2 and so on; changes over time last."""
    ordered = sorted(conflicts, key=lambda one: one.kind == "change")
    letters = string.ascii_uppercase
    return [
        (letters[at % 26] + (str(at // 26 + 1) if at >= 26 else ""), one)
        for at, one in enumerate(ordered)
    ]


def _disputed(conflicts: Sequence[Conflict]) -> dict[tuple[str, int], list[str]]:
    """By sentence, the findings it is a side of."""
    found: dict[tuple[str, int], list[str]] = {}
    for letter, one in _lettered(conflicts):
        for said in one.sides:
            named = found.setdefault((said.info.id, said.sentence.start), [])
            named.append(f"{one.kind} {letter}")
    return found


def _told(letter: str, one: Conflict) -> str:
    said = {
        "conflict": "Does not fit together",
        "sum": "Sum",
        "change": "Change over time, not a contradiction",
    }
    return f"{said[one.kind]} ({letter}): {one.why}."
