"""Replies and progress in the form in which they go to Discord: templates, split and escaped.

Strict channels get a `Status`; full ones get the reply of every other face, cut so that a sentence
keeps its marks, with what Discord would take for its own markup escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from bot import failures, render
from bot.blocks import Block, Piece, plain, split
from bot.guild.gate import Prose, State, Status, Template
from bot.look import Look
from bot.progress import Watch
from bot.words import Words
from protocol.answers import Answer
from protocol.events import (
    Completed,
    EngineLost,
    Event,
    Failed,
    Interrupted,
    Parked,
    Progress,
    Queued,
    Started,
    Stopped,
)
from protocol.ids import DocumentId, JobId, MatterId
from protocol.jobs import JobState

PART_CHARS: Final = 1800
"""Of the 2,000 that a message may hold; the rest is for the mention and the part's line."""
MOST_PARTS: Final = 4
"""A longer reply goes as a file."""
_LIVE_CHARS: Final = 1200
_MARKUP: Final = re.compile(r"([\\*_~`|>\[\]#@<])")
_LIST: Final = re.compile(r"^(\s*)([-+]|\d+\.)(?= )", re.MULTILINE)
_FILE_CELLS: Final = 100

STATES: Final = {
    JobState.WAITING: State.WAITING,
    JobState.RUNNING: State.RUNNING,
    JobState.DONE: State.DONE,
    JobState.FAILED: State.FAILED,
    JobState.STOPPED: State.STOPPED,
}


def escaped(text: str) -> str:
    """``text`` with everything shown that Discord would take for markup, a mention or a list."""
    text = _MARKUP.sub(r"\\\1", text)
    return _LIST.sub(lambda found: f"{found[1]}\\{found[2]}", text)


def status_of(matter: MatterId, event: Event, before: Status) -> Status:
    """Where a job is after an event, in codes and numbers."""
    job = event.job
    match event.body:
        case Queued(place=place):
            return Status(matter=matter, job=job, state=State.QUEUED, place=place)
        case Started() | EngineLost():
            return Status(matter=matter, job=job, state=State.RUNNING)
        case Interrupted() | Parked():
            return Status(matter=matter, job=job, state=State.WAITING)
        case Progress(stage=stage, done=done, total=total):
            # Whole tens only: a percent that grows is no news worth an edit.
            percent = min(100, 10 * (10 * max(0, done) // total)) if total > 0 else None
            return Status(matter=matter, job=job, state=State(stage.value), percent=percent)
        case Completed(verified=verified, to_look_at=look, failing=failing):
            return Status(
                matter=matter,
                job=job,
                state=State.DONE,
                counts=(verified, look, failing),
                open_there=True,
            )
        case Failed():
            return Status(matter=matter, job=job, state=State.FAILED, open_there=True)
        case Stopped():
            return Status(matter=matter, job=job, state=State.STOPPED)
        case _:
            return before


def progress(watch: Watch, status: Status, words: Words) -> Template:
    """The progress of a job in a full channel, with its live text where the matter allows that."""
    said = f"{status.matter} · {status.job} · {escaped(watch.line)}"
    live = watch.live.strip()
    if live:
        shown = escaped(live[-_LIVE_CHARS:])
        said += f"\n-# {words('unverified')}\n{shown[:PART_CHARS]}"
    return Prose(text=said[:PART_CHARS])


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply ready to be sent, part by part."""

    parts: tuple[Prose, ...]
    file: tuple[str, bytes] | None = None
    """The whole of it, where it is too long for messages; goes with the only part."""


def reply(answer: Answer, look: Look, words: Words, title: str) -> Reply:
    """An annotated reply for a full channel."""
    blocks = render.reply(answer, look, title=title)[:-1]  # its last line names terminal commands
    reply = _reply(answer.matter, answer.job, blocks, words)
    if reply is not None:
        return reply
    text = plain(blocks, _FILE_CELLS).encode()
    said = [
        f"{answer.matter} · {answer.job} · {words('done')}",
        *split([render.counts_line(answer, look)], PART_CHARS // 2)[:1],
        words("in_file"),
    ]
    return Reply(
        parts=(Prose(text="\n".join([said[0], escaped(said[1]), said[2]])[:PART_CHARS]),),
        file=(f"{answer.job}.txt", text),
    )


def failure(
    matter: MatterId, job: JobId, body: Failed | Stopped, look: Look, words: Words
) -> Reply:
    """What stands in a reply's place in a full channel."""
    if isinstance(body, Failed):
        blocks = failures.error_blocks(body.error, look)
    else:
        blocks = failures.stopped(job, look)
    return _reply(matter, job, blocks, words) or Reply(parts=(Prose(text=words("internal")),))


def private(blocks: Sequence[Block]) -> Prose:
    """Blocks as one private message; what does not fit is cut and said to be."""
    parts = split(_escaped(blocks), PART_CHARS)
    return Prose(text=parts[0] + (" …" if len(parts) > 1 else "") if parts else "·")


def cited(answer: Answer) -> frozenset[DocumentId]:
    """Every document whose words or name a reply may hold."""
    places = [
        place for item in answer.items for place in (*item.places, *item.also_in, *item.nearest)
    ]
    recorded = {DocumentId(document) for document in answer.provenance.record}
    return frozenset({place.document for place in places} | recorded)


def _reply(matter: MatterId, job: JobId, blocks: Sequence[Block], words: Words) -> Reply | None:
    texts = split(_escaped(blocks), PART_CHARS)
    if len(texts) > MOST_PARTS:
        return None
    if len(texts) == 1:
        return Reply(parts=(Prose(text=f"{matter} · {job}\n{texts[0]}"),))
    heads = (
        words("part", matter=matter, job=job, part=part, parts=len(texts))
        for part in range(1, len(texts) + 1)
    )
    parts = tuple(Prose(text=f"{head}\n{text}") for head, text in zip(heads, texts, strict=True))
    return Reply(parts=parts)


def _escaped(blocks: Sequence[Block]) -> list[Block]:
    return [
        msgspec.structs.replace(
            block,
            sentences=tuple(
                tuple(Piece(escaped(piece.text), piece.tone, piece.whole) for piece in sentence)
                for sentence in block.sentences
            ),
        )
        for block in blocks
    ]
