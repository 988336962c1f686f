"""The whole measurement: every size and kind, twice, a third time where the two are far apart."""

from __future__ import annotations

import datetime as dt
import itertools
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from worker.boards import Box
from worker.boards.declared import Declared
from worker.boards.probe import Probe
from worker.engine import Engine, EngineSettings
from worker.engine.models import BUNDLED_NAME
from worker.engine.speeds import Speed
from worker.measuring import FLOOR_TOKENS_PER_S, Measurement, Plan, Run, cell_of, is_unsteady
from worker.measuring.cards import watching
from worker.measuring.running import timed
from worker.measuring.texts import prompt_of


async def measure(
    engine: Engine,
    plan: Plan,
    settings: EngineSettings,
    *,
    box: Box,
    declared: Declared,
    probe: Probe | None,
    speed: Speed,
    now: dt.datetime,
    say: Callable[[str], None] = lambda _line: None,
) -> Measurement:
    """Runs the plan on a started engine that nobody else asks.

    A board that health stops ends the measurement with what was measured so far.

    Args:
        engine: Started.
        plan: What is run.
        settings: The engine's.
        box: The cards; empty on a processor.
        declared: What they should read.
        probe: Reads them; None where there are none.
        speed: Told every rate.
        now: When it began.
        say: Told each step in words.

    Raises:
        Unavailable: The engine went away.
    """
    devices = devices_of(settings, box)
    context = engine.capabilities.context_tokens
    runs: list[Run] = []
    left_out: list[str] = []
    unfit: dict[str, None] = {}
    fitting = [size for size in plan.sizes if size + plan.output_tokens <= context]
    for size in plan.sizes:
        if size not in fitting:
            need = size + plan.output_tokens
            left_out.append(f"{size} tokens: {need} are needed, the context holds {context}")
    for size, kind in itertools.product(fitting, plan.kinds):
        some: list[Run] = []
        while len(some) < plan.runs or (len(some) == plan.runs and is_unsteady(some)):
            say(f"{size} tokens of {kind}, run {len(some) + 1}")
            prompt = await prompt_of(engine, kind, size)
            async with watching(probe, box, declared, devices) as watched:
                run, usage = await timed(
                    engine, prompt, kind=kind, size=size, output_tokens=plan.output_tokens
                )
            speed.note(usage)
            run = msgspec.structs.replace(run, cards=watched.cards())
            some.append(run)
            unfit |= dict.fromkeys((*run.cards.throttled, *run.cards.trouble))
            if run.cards.stop:
                break
        runs += some
        if runs[-1].cards.stop:
            left_out.append("the rest: health stopped the board")
            break
    provenance = engine.provenance
    boards = tuple(_board_of(box, uuid) for uuid in devices)
    return Measurement(
        at=now,
        board=settings.name,
        model=_model_name(settings, provenance.model),
        model_sha256=provenance.model_sha256,
        binary_sha256=provenance.binary_sha256,
        build=provenance.build,
        flags=provenance.flags,
        devices=devices,
        boards=boards,
        crossings=sum(one != other for one, other in itertools.pairwise(boards)),
        driver=box.driver,
        machine=f"{platform.system()} {platform.machine()}, {_processor()}",
        output_tokens=plan.output_tokens,
        floor_tokens_per_s=settings.floor_tokens_per_s or FLOOR_TOKENS_PER_S,
        runs=tuple(runs),
        cells=tuple(
            cell_of([run for run in runs if (run.size, run.kind) == key])
            for key in dict.fromkeys((run.size, run.kind) for run in runs)
        ),
        left_out=tuple(left_out),
        unfit=tuple(unfit),
    )


def devices_of(settings: EngineSettings, box: Box) -> tuple[str, ...]:
    """UUIDs of the cards that the engine sees, in its order; all cards where none is named."""
    named = settings.environment.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return tuple(filter(None, (one.strip() for one in named.split(","))))
    return tuple(gpu.uuid for gpu in box.gpus)


def _model_name(settings: EngineSettings, known_as: str) -> str:
    """The weights' file name where there is a file."""
    if settings.model is not None:
        return settings.model.name
    return BUNDLED_NAME if settings.engine in ("llama_server", "llama_python") else known_as


def _board_of(box: Box, uuid: str) -> str:
    board = box.board_of(uuid)
    return board.name if board else ""


def _processor(lines: Sequence[str] | None = None) -> str:
    """The processor's name where the system tells it."""
    if lines is None:
        try:
            lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        except OSError:
            lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or "unknown processor"
