"""Closing a matter: its people, its jobs and its folder go; its sealed journal stays.

A command closes, but a running worker may have the matter open and holds the queue. So the command
leaves a note, an empty file named by the code, and the worker, which looks for notes every second,
deletes the matter's jobs, lets go of the folder and takes the note away.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from protocol.errors import AppError, NotFound, Unavailable
from protocol.ids import MatterId, matter_id
from rag.matters import erase
from worker.holds import refuse_if_held
from worker.jobs import JobQueue
from worker.jobs.runner import Runner
from worker.logs import Log
from worker.shelf import Shelf

_LOG: Final = Log("closing")
_LOOK_S: Final = 1.0
WAIT_S: Final = 60.0
"""How long a command waits for the worker; a job that runs is stopped, which takes seconds."""


def notes(state: Path) -> Path:
    """The folder of the notes."""
    return state / "closing"


def close(
    state: Path,
    matter: MatterId,
    open_line: Callable[[], JobQueue],
    *,
    wait_s: float = WAIT_S,
) -> None:
    """Removes a matter's jobs and folder, with the help of a worker that runs.

    Whoever calls has taken the matter out of the registry: nobody asks anything of it meanwhile.

    Raises:
        Conflict: The matter is on legal hold.
        Unavailable: A process kept it open for longer than ``wait_s``, in seconds; calling again
            goes on from there.
    """
    folder = state / "matters" / matter
    refuse_if_held(folder)
    note = notes(state) / matter
    note.parent.mkdir(mode=0o700, exist_ok=True)
    note.touch(mode=0o600)
    deadline = time.monotonic() + wait_s
    while True:
        refuse_if_held(folder)
        try:
            _erase(folder)
            if note.exists():
                asyncio.run(_forget_jobs(open_line, matter))
                note.unlink(missing_ok=True)
        except Unavailable:
            if not folder.is_dir() and not note.exists():
                break  # the worker did the rest meanwhile
            if time.monotonic() >= deadline:
                raise
            time.sleep(_LOOK_S / 4)
            continue
        break
    with contextlib.suppress(OSError):
        note.parent.rmdir()  # it is the last one


def _erase(folder: Path) -> None:
    """Removes the folder, also one whose removal was cut off, which is no matter any more."""
    if not folder.is_dir():
        return
    try:
        erase(folder)
    except NotFound:
        shutil.rmtree(folder)


async def _forget_jobs(open_line: Callable[[], JobQueue], matter: MatterId) -> None:
    queue = open_line()
    try:
        await queue.close_matter(matter)
    finally:
        await queue.close()


async def let_go(state: Path, queue: JobQueue, runner: Runner, shelf: Shelf) -> None:
    """What the worker does about the notes that lie there now: jobs are stopped and deleted, the
    folder is let go of. A note goes when its folder is gone."""
    for note in _noted(state):
        matter = matter_id(note.name)
        running = await queue.close_matter(matter)
        await runner.let_go(running)
        if await shelf.put_away(matter) and not shelf.folder(matter).exists():
            note.unlink(missing_ok=True)
            _LOG.info("matter.closed", matter=matter)


def _noted(state: Path) -> list[Path]:
    try:
        found = sorted(notes(state).iterdir())
    except FileNotFoundError:
        return []
    return [path for path in found if _is_code(path.name)]


def _is_code(name: str) -> bool:
    try:
        matter_id(name)
    except ValueError:
        return False
    return True


async def watch(state: Path, queue: JobQueue, runner: Runner, shelf: Shelf) -> None:
    """`let_go`, every second, for ever."""
    while True:
        try:
            await let_go(state, queue, runner, shelf)
        except AppError as error:
            _LOG.warning("matter.not_closed", code=error.code)
        await asyncio.sleep(_LOOK_S)
