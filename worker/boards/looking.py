"""One look at the box, for commands: survey, one reading, and everything there is to say."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from worker.boards import Board, Box, Notice, Samples, Severity, Survey, Trouble, known
from worker.boards.declared import Declared
from worker.boards.host import nvidia_on_bus, read_memory, volta_on_bus, with_host_facts
from worker.boards.probe import Probe
from worker.boards.rules import judge
from worker.boards.topology import make_box
from worker.boards.verdicts import expected_of

_SYS: Final = Path("/sys")
_FULL_SUPPLY: Final = 0.9
"""Share of a supply's rating above which the sum of limits is too much: inrush comes on top."""


async def look(
    declared: Declared, *, environment: Mapping[str, str] | None = None, sys: Path = _SYS
) -> Box:
    """The box now, with what differs from the boards file and what one reading shows."""
    memory = read_memory()
    probe = Probe(environment=environment)
    try:
        survey = await probe.survey()
        samples = await probe.sample() if isinstance(survey, Survey) else None
    finally:
        await probe.close()
    if isinstance(survey, Survey):
        survey = with_host_facts(survey, memory, sys)
    elif survey.kind == "no_library":
        survey = _no_driver(survey, nvidia_on_bus(sys), bool(declared.board))
    box = make_box(survey, declared, memory, volta_on_bus=volta_on_bus(sys))
    more = [*_readings(box, declared, samples), *_supplies(box, declared), *_memory(declared)]
    said = {(notice.kind, notice.uuid) for notice in box.notices}
    more = [notice for notice in more if (notice.kind, notice.uuid) not in said]
    boards = tuple(_with_readings(board, more) for board in box.boards)
    return msgspec.structs.replace(box, boards=boards, notices=(*box.notices, *more))


def _with_readings(board: Board, notices: Iterable[Notice]) -> Board:
    """A board whose cards' readings say stop is no place for a model."""
    stops = [
        notice.reason
        for notice in notices
        if notice.severity is Severity.PAUSE and notice.uuid in board.uuids
    ]
    if not stops or not board.healthy:
        return board
    return msgspec.structs.replace(board, healthy=False, reason=stops[0])


def _no_driver(trouble: Trouble, cards: int, expected: bool) -> Trouble:
    """Without a card, a missing driver is no fault: small models run on the processor."""
    if cards or expected:
        return trouble
    return Trouble(kind="no_card", reason="no NVIDIA card and no driver: the processor does it all")


def _readings(box: Box, declared: Declared, samples: Samples | Trouble | None) -> Iterator[Notice]:
    if isinstance(samples, Trouble):
        yield Notice(
            severity=Severity.PAUSE,
            kind=samples.kind,
            reason=samples.reason,
            next_step=samples.next_step,
        )
    if not isinstance(samples, Samples):
        return
    gpus = {gpu.uuid: gpu for gpu in box.gpus}
    for sample in samples.samples:
        gpu, board = gpus.get(sample.uuid), box.board_of(sample.uuid)
        if gpu is None or board is None:
            continue
        for verdict in judge([sample], expected_of(gpu, declared.of(gpu.uuid))):
            yield Notice(
                severity=verdict.severity,
                kind=verdict.rule,
                reason=verdict.reason,
                next_step=verdict.next_step,
                board=board.name,
                uuid=gpu.uuid,
            )


def _supplies(box: Box, declared: Declared) -> Iterator[Notice]:
    """Whether the limits of the cards on a supply add up to more than it should give."""
    limits = {gpu.uuid: known(gpu.power_limit_mw) or 0 for gpu in box.gpus}
    for supply in declared.supply:
        watts = supply.other_w + sum(limits.get(uuid, 0) for uuid in supply.gpus) // 1000
        if watts > supply.rating_w * _FULL_SUPPLY:
            yield Notice(
                severity=Severity.WARN,
                kind="supply",
                reason=f"power supply {supply.name} may be asked for {watts} W of its "
                f"{supply.rating_w} W",
                next_step="lower the cards' power limits, or move a card to another supply",
                uuid=supply.name,
            )


def _memory(declared: Declared) -> Iterator[Notice]:
    wanted, runs_at = declared.memory_mt_s, memory_speed() if declared.memory_mt_s else None
    if wanted is not None and runs_at is not None and runs_at != wanted:
        yield Notice(
            severity=Severity.WARN,
            kind="memory_speed",
            reason=f"the box's memory runs at {runs_at} MT/s; {wanted} are declared",
            next_step="set the memory speed in the box's firmware",
        )


def memory_speed() -> int | None:
    """The slowest module's speed in MT/s; None where this user may not ask the firmware."""
    if shutil.which("dmidecode") is None:
        return None
    try:
        said = subprocess.run(
            ["dmidecode", "-t", "17"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return slowest_module(said.stdout)


def slowest_module(said: str) -> int | None:
    """The lowest configured speed in dmidecode's text."""
    speeds = re.findall(r"Configured (?:Memory|Clock) Speed: (\d+) MT/s", said)
    return min(map(int, speeds), default=None)
