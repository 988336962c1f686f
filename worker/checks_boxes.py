"""What `doctor` looks at where several boxes work for each other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from protocol.errors import AppError
from worker.app_boxes import conninfo, rules_of
from worker.box_settings import BoxSettings, OtherBoxSettings, board_of, check_boxes, way_socket
from worker.boxes import Offer
from worker.boxes.borrowed import Borrowed
from worker.checks import Check, State
from worker.config import Settings
from worker.engine import EngineSettings
from worker.paths import LENDER


def box_checks(settings: Settings) -> Iterator[Check]:
    """One line for this box's rules, its lender, the shared queue and each other box.

    Nothing is changed, and nothing is yielded where the box is alone.
    """
    if settings.box is None and not settings.other_box:
        return
    try:
        check_boxes(settings.box, settings.other_box, settings.board_settings())
    except AppError as error:
        yield Check(name="box", state=State.FAIL, reason=error.message, next_step=error.next_step)
        return
    box = settings.box
    assert box is not None
    yield Check(name="box", state=State.OK, reason=f"{box.name}: {rules_in_words(box)}")
    run = settings.run_of_worker()
    if box.lends:
        yield _lends(box, run)
    if box.queue_file is not None:
        yield _queue(box.queue_file)
    for other in settings.other_box:
        yield asyncio.run(_other(box, other, settings, run))


def rules_in_words(box: BoxSettings) -> str:
    """How much may leave, in words; matters that are listed both ways stay."""
    rules = rules_of(box)
    leaving = sum(rules.may_leave(matter) for matter in set(box.leaving))
    said = f"prompts of {_matters(leaving)} may leave it" if leaving else "nothing leaves it"
    return f"{said}; {_matters(len(set(box.staying)))}  never to leave" if box.staying else said


def _matters(count: int) -> str:
    return "1 matter" if count == 1 else f"{count} matters"


def _lends(box: BoxSettings, run: Path) -> Check:
    name = f"lends board {box.lends}"
    if not (run / LENDER).exists():
        return Check(
            name=name,
            state=State.WARN,
            reason="the worker is not running, so nothing is lent",
            next_step="secondchair-worker serve",
        )
    return Check(name=name, state=State.OK, reason="it takes calls of other boxes")


def _queue(file: Path) -> Check:
    name = "shared queue"
    if find_spec("psycopg") is None:
        return Check(
            name=name,
            state=State.FAIL,
            reason="psycopg is not installed, which reaches the database",
            next_step='pip install -c constraints.txt ".[shared]"',
        )
    try:
        from worker.jobs.shared import reachable

        reachable(conninfo(file))
    except AppError as error:
        return Check(name=name, state=State.FAIL, reason=error.message, next_step=error.next_step)
    return Check(name=name, state=State.OK, reason="the database answers")


async def _other(box: BoxSettings, other: OtherBoxSettings, settings: Settings, run: Path) -> Check:
    name = f"box {other.name}"
    if missing := next((one for one in (other.key, other.known_hosts) if not one.exists()), None):
        return Check(name=name, state=State.FAIL, reason=f"there is no file {missing}")
    socket = way_socket(other, run, apart=bool(settings.gateway_uids))
    if not socket.exists():
        return Check(
            name=name,
            state=State.WARN,
            reason="the way to it is closed: the gateway here is not running",
            next_step="secondchair-worker gateway",
        )
    boards = settings.board_settings()
    ours = next(one for one in boards if one.name == board_of(other, boards))
    far = EngineSettings(engine="remote", endpoint=str(socket), model_sha256=ours.model_sha256)
    engine = Borrowed(far, rules_of(box))
    try:
        await engine.start()
    except AppError as error:
        return Check(
            name=name,
            state=State.WARN,
            reason=f"{error.message}; its jobs are worded here",
            next_step=f"secondchair-worker doctor on box {other.name}",
        )
    finally:
        await engine.stop()
    assert engine.offer is not None
    return Check(name=name, state=State.OK, reason=_in_words(engine.offer, ours.name))


def _in_words(offer: Offer, board: str) -> str:
    return f"it answers: board {offer.board}, the same weights as {board}, {offer.state}"
