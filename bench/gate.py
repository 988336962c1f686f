"""Random commands against the gate and random bytes against the journal.

A plain model stands beside the gate: it knows which text was approved last and what happened since.
An export that succeeds while the model knows of no live approval, or that holds another text than
the approved one, is an escape.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.house import CODE, YOU, House, utc_now
from protocol.answers import (
    Answer,
    Decision,
    Finding,
    ItemKind,
    Provenance,
    ReviewState,
    Timings,
    Verdict,
)
from protocol.errors import AppError
from protocol.ids import UserName
from protocol.jobs import Decide, Edit, Export, Exported, Extract, Job
from protocol.record import Coverage
from worker.audit import Journal, path_of, verify
from worker.jobs import NewJob
from worker.pipeline import completed
from worker.review import text_sha256

_LENGTH: Final = 10
_STATES: Final = tuple(ReviewState)
_FORMS: Final = ("json", "json", "json", "md", "csv", "exe")
_MAY: Final = (ReviewState.APPROVED, ReviewState.FINAL, ReviewState.FILED)


@dataclass
class _Known:
    """What the plain model knows of one reply."""

    text: str
    state: ReviewState = ReviewState.AWAITING
    approved: str = ""
    """The text that was approved; empty when no approval is live."""


async def escapes(house: House, sequences: int, seed: int) -> tuple[int, list[dict[str, Any]]]:
    """How many of so many random sequences let a text out without a live approval of it."""
    chance = random.Random(seed)
    found: list[dict[str, Any]] = []
    for number in range(sequences):
        told = await _sequence(house, chance)
        if told:
            found.append({"part": "gate", "sequence": number, "commands": told})
    return len(found), found


async def _sequence(house: House, chance: random.Random) -> list[str]:
    """One sequence; the commands that led to an escape, or nothing."""
    known = _Known(text=f"The rent was paid. {chance.random()}")
    job = await placed(house, known.text, chance)
    told: list[str] = []
    shown = text_sha256(known.text)
    for _ in range(_LENGTH):
        act = chance.choice(
            ("decide", "decide", "decide", "export", "export", "edit", "rewrite", "forge")
        )
        told.append(act)
        async with house.shelf.use(CODE) as held:
            if act == "edit":
                known = _Known(text=f"{known.text} More.")
                held.work.put_answer(_answer(job.id, known.text, chance))
                if chance.random() < 0.7:
                    shown = text_sha256(known.text)
            elif act == "forge":  # a stored reply that claims to be approved already
                forged = _answer(job.id, known.text, chance)
                decision = Decision(
                    state=ReviewState.APPROVED,
                    by=UserName("kim"),
                    at=utc_now(),
                    answer_sha256="0" * 64,
                )
                held.work.put_answer(msgspec.structs.replace(forged, decision=decision))
        if act == "rewrite":
            known, shown = await _rewrite(house, job.id, known, shown, chance)
        elif act == "decide":
            told[-1] += f" {await _decide(house, job.id, known, shown, chance)}"
        elif act == "export":
            leaked = await _export(house, job.id, known, chance)
            if leaked:
                return [*told, leaked]
    return []


async def placed(house: House, text: str, chance: random.Random) -> Job:
    """A job that has ended with this text as its reply; no engine is asked."""
    async with house.shelf.use(CODE) as held:
        request = Extract(matter=CODE, what="dates", key=house.key())
        job = await house.queue.add(
            NewJob(
                matter=CODE,
                kind="extract",
                user=YOU.person,
                board="none",
                weight_s=1.0,
                key=request.key,
                request_sha256=held.work.put_request(request),
            )
        )
        reply = _answer(job.id, text, chance)
        held.work.put_answer(reply)
    lease = await house.queue.claim("none", "bench")
    assert lease is not None
    return await house.queue.end(lease, completed(reply))


async def _rewrite(
    house: House, job: Any, known: _Known, shown: str, chance: random.Random
) -> tuple[_Known, str]:
    """A reviewer's edit, at times back to an earlier text: whatever was approved is so no more."""
    text = chance.choice((f"{known.text} Edited.", known.text.removesuffix(" Edited.")))
    try:
        await house.edits.edit(Edit(job=job, answer_sha256=shown, text=text, key=house.key()), YOU)
    except AppError:
        return known, shown
    return _Known(text=text), text_sha256(text)


async def _decide(
    house: House, job: Any, known: _Known, shown: str, chance: random.Random
) -> ReviewState:
    state = chance.choice((*_STATES, ReviewState.APPROVED, ReviewState.APPROVED))
    stated = chance.choice((shown, shown, shown, text_sha256(known.text), "f" * 64))
    reasons: dict[int, str] = chance.choice(({1: "looked at"}, {1: "looked at"}, {}, {1: " "}))
    request = Decide(
        job=job, answer_sha256=stated, state=state, key=house.key(), acknowledged=reasons
    )
    try:
        await house.gate.decide(request, YOU)
    except AppError:
        return state
    known.state = state
    known.approved = known.text if state in _MAY else ""
    return state


async def _export(house: House, job: Any, known: _Known, chance: random.Random) -> str:
    """What leaked, in words; empty when nothing did."""
    try:
        result = await house.gate.export(
            Export(job=job, format=chance.choice(_FORMS), key=house.key()), YOU
        )
    except AppError:
        return ""
    assert isinstance(result, Exported)
    file = house.folder / "out" / result.name
    content = file.read_bytes()
    file.unlink()
    if known.approved != known.text or known.state not in _MAY:
        return "left without a live approval"
    if hashlib.sha256(content).hexdigest() != result.sha256:
        return "another file than the one sealed"
    if result.name.endswith("json") and json.loads(content)["text"] != known.approved:
        return "another text than the approved one"
    return ""


def _answer(job: Any, text: str, chance: random.Random) -> Answer:
    verdict = chance.choice((Verdict.VERIFIED, Verdict.CHECK, Verdict.NOT_FOUND))
    return Answer(
        job=job,
        matter=CODE,
        kind="extract",
        question="",
        text=text,
        items=(
            Finding(number=1, start=0, end=8, kind=ItemKind.QUOTE, verdict=verdict, reason="r"),
        ),
        sentences=(),
        coverage=Coverage(documents=0, documents_read=0, pages=0, pages_read=0, unread=()),
        timings=Timings(),
        provenance=Provenance(),
        text_sha256=text_sha256(text),
    )


def changed_bytes(folder: Path, entries: int, values: int, seed: int) -> tuple[int, int]:
    """How many single-byte changes of a journal were made, and how many were found.

    Args:
        folder: An empty folder.
        entries: Of the journal.
        values: Other values tried at every position.
        seed: Of the choice of values.
    """
    chance = random.Random(seed)
    journal = Journal(folder, CODE)
    for number in range(entries):
        journal.seal(
            "review.approved" if number % 3 else "export.written",
            by=UserName("kim"),
            now=utc_now(),
            details={"answer": hashlib.sha256(bytes([number])).hexdigest(), "n": str(number)},
        )
    path = path_of(folder, CODE)
    head = verify(path).head
    whole = path.read_bytes()
    made = found = 0
    for at, byte in enumerate(whole):
        others = [value for value in range(256) if value != byte]
        for value in chance.sample(others, values):
            path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            made += 1
            found += verify(path, head=head).broken_at is not None
    path.write_bytes(whole)
    assert verify(path, head=head).broken_at is None
    return made, found
