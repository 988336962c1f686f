"""`/find`: every place where words, a date, an amount, a name or a Bates label stand; no model.

What is found exactly is quoted with the sentence it stands in. What is found nowhere is said to be
nowhere, with how many pages were searched. Only then are passages near in meaning offered, and said
to be that.
"""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.answers import Provenance, Timings
from protocol.events import Stage
from protocol.ids import DocumentId
from protocol.jobs import Find
from protocol.record import DocumentInfo
from rag.lookup import Lookup, Match, find
from worker.deliverables import Desk, Draft, Row
from worker.deliverables.relevance import best_sentences
from worker.deliverables.wording import line
from worker.quoting import Sentence

_WORD: Final = re.compile(r"\w+", re.UNICODE)
MOST_PLACES: Final = 100
"""Places a reply lists; all are counted."""
_NOT_INSIDE: Final = "No page of the documents searched says this; the others were not searched."
_NEAR: Final = 3
"""Sentences near in meaning that are offered when nothing stands exactly so."""


async def make(desk: Desk, request: Find) -> Draft:
    """The draft of a search result."""
    await desk.stage(Stage.RETRIEVING)
    started = time.perf_counter()
    desk, wanted = await desk.within(request.text)
    looked = await asyncio.to_thread(
        find, desk.matter.record, wanted, filters=desk.scope.filters, limit=MOST_PLACES
    )
    infos = {info.id: info for info in desk.matter.record.documents()}
    # Counts stand in the notes: a figure in the text is a statement about the record.
    if looked.matches:
        text, rows = await _found(desk, wanted, looked, infos)
        places = "place" if looked.total == 1 else "places"
        notes = [f"{looked.total} {places}: {looked.reading}."]
    else:
        text, rows = await _absent(desk, wanted, infos), ()
        notes = [f"Nowhere: {looked.reading}; {looked.coverage.searched}."]
    if looked.total > len(looked.matches):
        notes.append(f"The first {len(looked.matches)} places are listed.")
    searched = looked.coverage.searched.removeprefix("searched ")
    if desk.scope.told:
        searched = f"{desk.scope.told}: {searched}"
    return Draft(
        question=request.text,
        text=text,
        coverage=msgspec.structs.replace(looked.coverage, searched=searched),
        timings=Timings(retrieving_ms=(time.perf_counter() - started) * 1000),
        provenance=Provenance(composition="code"),
        columns=("document", "words", "why") if rows else (),
        rows=rows,
        notes=(*desk.scope_notes, *notes),
    )


async def _found(
    desk: Desk, asked: str, looked: Lookup, infos: dict[DocumentId, DocumentInfo]
) -> tuple[str, tuple[Row, ...]]:
    text = "Found in the record:"
    wanted = set(_WORD.findall(asked.casefold()))
    rows: list[Row] = []
    seen: set[tuple[DocumentId, int]] = set()
    for match in looked.matches:
        info = infos[match.span.document]
        every = await desk.sentences(info.id)
        sentence = _around(match, every)
        if sentence is None or match.span.end > sentence.end:  # a passage, not words in a row
            sentence = _nearest(match, every, wanted) or sentence
        if sentence is None:  # in a heading, a table or a stamp
            sentence = _bare(match)
        if (info.id, sentence.start) in seen:
            continue
        seen.add((info.id, sentence.start))
        said = line(info.title, sentence, _question(sentence, every))
        start = len(text) + 1
        text += f"\n{said}"
        rows.append(
            Row(
                cells=(info.title, sentence.words, "; ".join(match.hit.why)),
                start=text.rfind("“", start),
                end=len(text),
            )
        )
    return text, tuple(rows)


async def _absent(desk: Desk, asked: str, infos: dict[DocumentId, DocumentInfo]) -> str:
    text = "No page says this." if desk.scope.filters is None else _NOT_INSIDE
    hits = await desk.retrieve(asked, desk.settings.passages)
    near = await best_sentences(desk, asked, hits, most=_NEAR)
    if near:
        text += "\nNear in meaning, not the same:"
    for scored in near:
        every = await desk.sentences(scored.sentence.document)
        title = infos[scored.sentence.document].title
        text += f"\n{line(title, scored.sentence, _question(scored.sentence, every))}"
    return text


def _around(match: Match, every: Sequence[Sentence]) -> Sentence | None:
    at = bisect_right([one.start for one in every], match.span.start) - 1
    if at < 0 or match.span.start >= every[at].end:
        return None
    return every[at]


def _nearest(match: Match, every: Sequence[Sentence], asked: set[str]) -> Sentence | None:
    """The sentence of the stretch found that holds most of the words asked for."""
    inside = [one for one in every if match.span.start <= one.start < match.span.end]
    held = [(len(asked & set(_WORD.findall(one.words.casefold()))), one) for one in inside]
    most = max((count for count, _ in held), default=0)
    return next((one for count, one in held if count == most), None) if most else None


def _bare(match: Match) -> Sentence:
    """The words found alone, the first line of them where they are a whole page."""
    words = " ".join(match.words.strip().splitlines()[:1]).strip()
    start = match.span.start + match.words.find(words)
    return Sentence(document=match.span.document, start=start, end=start + len(words), words=words)


def _question(sentence: Sentence, every: Sequence[Sentence]) -> str | None:
    if sentence.question is None:
        return None
    return next((one.words for one in every if one.start == sentence.question[0]), None)
