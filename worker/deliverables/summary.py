"""`/summarize`: each document in its own words: what it is, its central sentences, its dates.

With a larger model each document is the model's prose with quotations by reference, several boards
at once. Otherwise extractive: code picks the sentences nearest to the whole document's meaning and
prints them in the document's order. A note says of every document from how much its part was made.
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
from worker import prompts
from worker.deliverables import Colleague, Desk, Draft
from worker.deliverables.pace import Pace
from worker.deliverables.prose import without_repeats
from worker.deliverables.quotations import put_in_quotations
from worker.deliverables.wording import line
from worker.deliverables.writing import write
from worker.engine import AnswerMalformed
from worker.quoting import Sentence
from worker.threads import to_the_end

_SHOWN: Final = 5
"""Central sentences of a document that is summarized alone."""
_SHOWN_OF_MANY: Final = 3
"""The same where there are several documents."""
_OFFERED: Final = 24
"""Central sentences from which a model words a document."""
_WORDED_TOKENS: Final = 320
_WEIGHED: Final = 400
"""Sentences weighed per document; a longer one is sampled evenly, so its end is weighed too."""
_TOO_ALIKE: Final = 0.9
"""Cosine above which a second sentence says the same again."""


async def make(desk: Desk, request: Summarize) -> Draft:
    """The draft of a summary."""
    started = time.perf_counter()
    desk = await desk.narrowed(request.only)
    documents, inside = desk.telling(request.documents)
    most = _SHOWN if len(documents) == 1 else _SHOWN_OF_MANY
    parts: list[str] = []
    notes: list[str] = []
    for part, note in await _all(desk, documents, most):
        parts.append(part)
        notes.append(note)
    chosen = [info.id for info in documents] if request.documents else None
    covered = await desk.covered("all pages", chosen)
    return Draft(
        question=f"/summarize {request.only}".rstrip(),
        text="\n\n".join(filter(None, parts)) or "There is no document to summarize.",
        coverage=covered,
        timings=Timings(retrieving_ms=(time.perf_counter() - started) * 1000),
        provenance=_provenance(desk),
        notes=(*inside, *notes),
    )


async def _all(desk: Desk, documents: Sequence[DocumentInfo], most: int) -> list[tuple[str, str]]:
    """Every document's part, in their order; several boards work at once where a model words them.

    A board that fails leaves the rest to the others; the job's own board fails the job.
    """
    parts: dict[int, tuple[str, str]] = {}
    todo = list(reversed(range(len(documents))))
    pace = Pace()
    busy = 1

    def rest_s() -> float | None:
        return pace.rest_s(sum(max(1, documents[at].pages) for at in todo), busy)

    async def work(at_desk: Desk, *, own: bool) -> None:
        while todo:
            at = todo.pop()
            try:
                parts[at] = await _remembered(at_desk, documents[at], most, pace)
            except Unavailable:
                todo.append(at)
                if own:
                    raise
                return
            await desk.context.say(
                Progress(
                    stage=Stage.RETRIEVING, done=len(parts), total=len(documents), eta_s=rest_s()
                )
            )
            if own:
                await desk.context.breathe(rest_s())

    async def help_out(helper: Colleague) -> None:
        nonlocal busy
        if await helper.ready():
            async with helper.aside():
                busy += 1
                try:
                    await work(desk.at(helper), own=False)
                finally:
                    busy -= 1

    helpers = () if desk.extractive else desk.helpers
    tasks = [asyncio.create_task(help_out(one)) for one in helpers]
    try:
        await work(desk, own=True)
        await asyncio.gather(*tasks)
        await work(desk, own=True)  # what a helper put back after the others were done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [parts[at] for at in range(len(documents))]


async def _remembered(desk: Desk, info: DocumentInfo, most: int, pace: Pace) -> tuple[str, str]:
    """A document's part, made once per job: after a crash or a parking it is read back.

    The step remembers the text version it was made from; the words lie in the matter's file.
    """
    name = f"document.{info.id}"
    work, job = desk.matter.work, desk.context.job

    async def make_part() -> dict[str, str]:
        began = time.perf_counter()
        work.put_note(job, name, msgspec.json.encode(await _one(desk, info, most)).decode())
        pace.made(info.pages, time.perf_counter() - began)
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
    if not desk.extractive:
        worded = await _worded(desk, info, every)
        if worded is not None:
            text, repeated = worded
            again = f"; {repeated} repeated ones left out" if repeated else ""
            return (
                text,
                f"{info.title} ({kind}, {pages}): worded from {len(every)} sentences{again}.",
            )
    chosen = await _central(desk, every, most)
    words_at = {one.start: one.words for one in await desk.sentences(info.id)}
    lines = [
        line(info.title, one, words_at.get(one.question[0]) if one.question else None)
        for one in chosen
    ]
    note = f"{info.title} ({kind}, {pages}): {len(chosen)} of {len(every)} sentences shown."
    return "\n".join(lines), note


async def _worded(
    desk: Desk, info: DocumentInfo, every: Sequence[Sentence]
) -> tuple[str, int] | None:
    """A document in the model's words, quotations by reference, and how often it repeated itself.

    None when nothing came of it.
    """
    offered = await _central(desk, every, _OFFERED)
    prompt, held = await prompts.fitting(
        desk.engine,
        "summarize",
        f"What does this document say? {prompts.fenced(info.title)}",
        offered,
        output_tokens=_WORDED_TOKENS,
    )
    try:
        written = await write(desk, prompt, max_tokens=_WORDED_TOKENS)
    except AnswerMalformed:
        return None
    prose, repeated = without_repeats(written.text)
    text, _, _ = put_in_quotations(prose, held)
    return (text.strip(), repeated) if text.strip() else None


def _provenance(desk: Desk) -> Provenance:
    if desk.extractive:
        return Provenance(composition="extractive")
    made = desk.engine.provenance
    return Provenance(
        composition="model",
        engine=made.engine,
        model=made.model,
        model_sha256=made.model_sha256,
        binary_sha256=made.binary_sha256,
        flags=made.flags,
        template_sha256=made.template_sha256,
    )


async def _central(desk: Desk, every: Sequence[Sentence], most: int) -> list[Sentence]:
    """The sentences nearest to the document's mean, no two alike, in the document's order."""
    step = max(1, len(every) // _WEIGHED)
    weighed = list(every)[::step]
    async with desk.embedding:
        try:
            vectors = await to_the_end(
                desk.matter.vectors.of, desk.embedder, [sentence.words for sentence in weighed]
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
