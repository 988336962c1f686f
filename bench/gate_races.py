"""Several people at the gate at once: decisions, edits and exports that run into each other.

Beside the gate stand two witnesses that know nothing of its code: the folder out of which files are
fetched, and the sealed journal. A file that can be fetched while its reply is not released, or that
holds another text than the one released, is an escape; so is an export that the journal tells of
after a decision that was no approval.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable
from typing import Any, Final

from bench.gate import placed
from bench.house import CODE, YOU, House
from protocol.answers import Answer, ReviewState
from protocol.errors import AppError
from protocol.ids import JobId
from protocol.jobs import Decide, Edit, Export
from worker.audit import path_of, read
from worker.review import MAY_LEAVE, live_state, text_sha256

_ROUNDS: Final = 4
_MOST_AT_ONCE: Final = 4
_DECIDED: Final = (
    ReviewState.APPROVED,
    ReviewState.APPROVED,
    ReviewState.RETURNED,
    ReviewState.WITHDRAWN,
    ReviewState.FILED,
)
_RELEASING: Final = ("review.approved", "review.filed", "export.written")


async def escapes(house: House, sequences: int, seed: int) -> tuple[int, list[dict[str, Any]]]:
    """How many of so many sequences of simultaneous commands let a text out, and which."""
    chance = random.Random(seed)
    found: list[dict[str, Any]] = []
    for number in range(sequences):
        told = await _sequence(house, chance)
        if told:
            found.append({"part": "gate races", "sequence": number, "commands": told})
    unreleased = _exports_without_release(house)
    found += [{"part": "gate races", "job": job, "commands": ["journal"]} for job in unreleased]
    return len(found), found


async def _sequence(house: House, chance: random.Random) -> list[str]:
    """One sequence; the commands that led to an escape, or nothing."""
    job = (await placed(house, f"The rent was paid. {chance.random()}", chance)).id
    told: list[str] = []
    for _ in range(_ROUNDS):
        shown = (await _stored(house, job)).text
        acts = [_act(house, job, shown, chance) for _ in range(chance.randint(2, _MOST_AT_ONCE))]
        told.append(" + ".join(name for name, _ in acts))
        await asyncio.gather(*(_done(act, chance.randint(0, 3)) for _, act in acts))
        if leaked := await _leaked(house, job):
            return [*told, leaked]
    for file in (house.folder / "out").iterdir():
        file.unlink()
    return []


def _act(
    house: House, job: JobId, shown: str, chance: random.Random
) -> tuple[str, Awaitable[object]]:
    name = chance.choice(("decide", "decide", "export", "export", "edit"))
    sha256 = text_sha256(shown)
    if name == "export":
        form = chance.choice(("json", "json", "md", "docx"))
        return name, house.gate.export(Export(job=job, format=form, key=house.key()), YOU)
    if name == "edit":
        request = Edit(job=job, answer_sha256=sha256, text=f"{shown} More.", key=house.key())
        return name, house.edits.edit(request, YOU)
    state = chance.choice(_DECIDED)
    decide = Decide(
        job=job, answer_sha256=sha256, state=state, key=house.key(), acknowledged={1: "looked at"}
    )
    return f"decide {state}", house.gate.decide(decide, YOU)


async def _done(act: Awaitable[object], after: int) -> None:
    for _ in range(after):
        await asyncio.sleep(0)
    try:
        await act
    except AppError:
        return  # refused: that is the gate's right


async def _leaked(house: House, job: JobId) -> str:
    """What lies in ``out/`` and should not, in words; empty when all is well."""
    answer = await _stored(house, job)
    files = [path for path in (house.folder / "out").iterdir() if not path.name.startswith(".")]
    if files and live_state(answer) not in MAY_LEAVE:
        return f"a file can be fetched while the reply is {live_state(answer)}"
    for path in files:
        if path.suffix == ".json" and json.loads(path.read_bytes())["text"] != answer.text:
            return "the file holds another text than the reply"
    return ""


async def _stored(house: House, job: JobId) -> Answer:
    async with house.shelf.use(CODE) as held:
        return held.work.answer(job)


def _exports_without_release(house: House) -> list[JobId]:
    """Jobs of which the journal tells an export after a decision that was no approval of it."""
    last: dict[JobId, tuple[str, str]] = {}
    wrong = []
    for entry in read(path_of(house.office.audit, CODE)):
        if entry.job is None or not entry.what.startswith(("review.", "export.")):
            continue
        now = (entry.what, entry.details.get("answer", ""))
        if entry.what == "export.written":
            what, answer = last.get(entry.job, ("", ""))
            if what not in _RELEASING or answer != now[1]:
                wrong.append(entry.job)
        last[entry.job] = now
    return wrong
