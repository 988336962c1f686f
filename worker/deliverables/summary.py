"""`/summarize`: each document in its own words: what it is, its central sentences, its dates.

Extractive: code picks the sentences nearest to the whole document's meaning and prints them in the
document's order. A note says of every document how many sentences it shows of how many.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from protocol.answers import Provenance, Timings
from protocol.errors import Unavailable
from protocol.events import Progress, Stage
from protocol.jobs import Summarize
from protocol.record import DocumentInfo
from rag.coverage import coverage
from worker.deliverables import Desk, Draft
from worker.deliverables.wording import line
from worker.quoting import Sentence

_SHOWN: Final = 5
"""Central sentences of a document that is summarized alone."""
_SHOWN_OF_MANY: Final = 3
"""The same where there are several documents."""
_WEIGHED: Final = 400
"""Sentences weighed per document; a longer one is sampled evenly, so its end is weighed too."""
_TOO_ALIKE: Final = 0.9
"""Cosine above which a second sentence says the same again."""


async def make(desk: Desk, request: Summarize) -> Draft:
    """The draft of a summary."""
    started = time.perf_counter()
    documents, inside = desk.telling(request.documents)
    most = _SHOWN if len(documents) == 1 else _SHOWN_OF_MANY
    parts: list[str] = []
    notes: list[str] = []
    for at, info in enumerate(documents):
        await desk.context.say(Progress(stage=Stage.RETRIEVING, done=at, total=len(documents)))
        part, note = await _remembered(desk, info, most)
        parts.append(part)
        notes.append(note)
        await desk.context.breathe()
    chosen = [info.id for info in documents] if request.documents else None
    covered = await asyncio.to_thread(
        coverage, desk.matter.record, documents=chosen, searched="all pages"
    )
    return Draft(
        question="/summarize",
        text="\n\n".join(filter(None, parts)) or "There is no document to summarize.",
        coverage=covered,
        timings=Timings(retrieving_ms=(time.perf_counter() - started) * 1000),
        provenance=Provenance(composition="extractive"),
        notes=(*inside, *notes),
    )


async def _remembered(desk: Desk, info: DocumentInfo, most: int) -> tuple[str, str]:
    """A document's part, made once per job: after a crash or a parking it is read back.

    The step remembers the text version it was made from; the words lie in the matter's file.
    """
    name = f"document.{info.id}"
    work, job = desk.matter.work, desk.context.job

    async def make_part() -> dict[str, str]:
        work.put_note(job, name, msgspec.json.encode(await _one(desk, info, most)).decode())
        return {"text_sha256": info.text_sha256}

    await desk.context.step(name, make_part)
    kept = work.note(job, name)
    if kept is None:  # the step was kept and its words were not: a torn disk
        return await _one(desk, info, most)
    return msgspec.json.decode(kept, type=tuple[str, str])


async def _one(desk: Desk, info: DocumentInfo, most: int) -> tuple[str, str]:
    every = [
        one
        for one in await desk.sentences(info.id)
        if one.turn != "question" and len(one.words.split()) >= 5 and not one.words.isupper()
    ]
    kind = info.document_class.replace("_", " ")
    pages = f"{info.pages} page{'s' if info.pages != 1 else ''}"
    if not every:
        return "", f"{info.title} ({kind}, {pages}): no sentence of it could be read."
    chosen = await _central(desk, every, most)
    words_at = {one.start: one.words for one in await desk.sentences(info.id)}
    lines = [
        line(info.title, one, words_at.get(one.question[0]) if one.question else None)
        for one in chosen
    ]
    note = f"{info.title} ({kind}, {pages}): {len(chosen)} of {len(every)} sentences shown."
    return "\n".join(lines), note


async def _central(desk: Desk, every: Sequence[Sentence], most: int) -> list[Sentence]:
    """The sentences nearest to the document's mean, no two alike, in the document's order."""
    step = max(1, len(every) // _WEIGHED)
    weighed = list(every)[::step]
    async with desk.embedding:
        try:
            vectors = await asyncio.to_thread(
                desk.embedder.embed, [sentence.words for sentence in weighed]
            )
        except Unavailable:
            return weighed[:most]  # the opening, when nearness cannot be weighed
    middle = vectors.mean(axis=0)
    picked: list[int] = []
    for at in np.argsort(-(vectors @ middle), kind="stable"):
        alike = picked and float((vectors[picked] @ vectors[at]).max()) > _TOO_ALIKE
        if not alike:
            picked.append(int(at))
        if len(picked) == most:
            break
    return [weighed[at] for at in sorted(picked)]
