"""The boards of a running worker, built and started: a part of `worker.app`, which alone calls it.

A board is an engine with what is known of its model: its size decides who words a reply, its speed
what an ETA says, and reading ahead keeps a short record in it between questions.
"""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import AppError, BadRequest
from worker.boards.sizes import read_model
from worker.config import Settings
from worker.engine import EngineSettings, bundled_model, open_engine, speeds
from worker.engine.builds import SetAside, build_notes
from worker.heads import Heads
from worker.jobs import JobQueue
from worker.logs import Log
from worker.paths import matters_folder
from worker.pipeline import Board
from worker.read_ahead import ReadAhead
from worker.router import is_extractive
from worker.shelf import Shelf

_LOG: Final = Log("app")
_AGAIN_S: Final = (15.0, 60.0, 300.0)
"""Before another start of an engine that did not start; the last one from then on."""


def open_board(
    settings: Settings,
    board: EngineSettings,
    run: Path,
    shelf: Shelf,
    heads: Heads,
    queue: JobQueue,
) -> Board:
    """A board with its engine, not yet started.

    Args:
        settings: The worker's.
        board: The board's.
        run: The worker's run folder.
        shelf: The matters.
        heads: Makes the heads that are read ahead.
        queue: Says whether the board is paused.

    A model file that is missing or cannot be read is said when the engine starts: the other boards
    and the record work without it.

    Raises:
        BadRequest: The engine's settings lack what it needs.
        Unavailable: Its package or the bundled model is not installed.
    """
    model = board.model
    if model is None and board.engine in ("llama_server", "llama_python"):
        model = bundled_model()
    size = _size(board.name, model) if model is not None else None
    placed = msgspec.structs.replace(
        board,
        run_folder=board.run_folder or run / f"engine-{board.name}",
        state_file=build_notes(settings.state, board),
        speeds_file=board.speeds_file or settings.state / "engines" / speeds.FILE,
    )
    engine, ready = open_engine(placed), asyncio.Event()
    speed = speeds.Speed(placed.speeds_file, board.name, engine)

    async def may_work() -> bool:
        return not any(info.paused for info in await queue.boards() if info.name == board.name)

    ahead = None
    if not is_extractive(settings, size):
        ahead = ReadAhead(
            board.name,
            engine=engine,
            ready=ready,
            heads=heads,
            shelf=shelf,
            matters=matters_folder(settings),
            slot_bytes=int(board.slot_files_gib * 1024**3),
            speed=speed,
            may_work=may_work,
        )
    return Board(engine=engine, billion_parameters=size, ready=ready, speed=speed, ahead=ahead)


def _size(board: str, model: Path) -> float | None:
    """Billions of parameters; None where the model cannot be read."""
    try:
        return read_model(model).parameters / 1e9
    except AppError as error:
        _LOG.warning("model.unreadable", board=board, code=error.code)
        return None


async def start_board(name: str, board: Board) -> None:
    """Starts an engine, again and again while something it needs is away.

    A failed start is shown by `health`, and jobs go on without a model meanwhile: a disk that is
    mounted late, a driver that comes up after us or another box's engine needs no restart of ours.
    What only a person can mend is tried once.
    """
    for pause_s in itertools.chain(_AGAIN_S, itertools.repeat(_AGAIN_S[-1])):
        try:
            await board.engine.start()
            _LOG.info("engine.ready", board=name)
            return
        except AppError as error:
            _LOG.warning("engine.away", board=name, code=error.code)
            if isinstance(error, BadRequest | SetAside):
                return
        finally:
            board.ready.set()
        await asyncio.sleep(pause_s)
