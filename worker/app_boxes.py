"""This worker among the firm's boxes: what it lends, and the boxes that word replies for it.

A part of `worker.app`, which alone calls it. Another box is a board of its own here, behind its own
line: a job whose matter may leave goes there when that line is the shorter one. Where that box is
lost, its calls go to our own engine.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from protocol.errors import BadRequest
from protocol.events import Completed
from protocol.ids import MatterId, UserName
from worker.audit import Journal
from worker.box_settings import BoxSettings, OtherBoxSettings, board_of, check_boxes, way_socket
from worker.boxes import LEND, Rules
from worker.boxes.borrowed import Borrowed
from worker.boxes.handing import BORROWED, HandOff, Told
from worker.boxes.lender import Lender
from worker.config import Settings
from worker.engine import EngineSettings, Request
from worker.jobs import JobContext, JobQueue, Work, open_queue, open_shared_queue
from worker.paths import LENDER, audit_folder
from worker.pipeline import Board

_TO: Final = ".to-"


def open_line(settings: Settings, now: Callable[[], dt.datetime]) -> JobQueue:
    """The box's own line of jobs, or the one of all boxes.

    Raises:
        BadRequest: The parts of the settings do not fit together, or the file cannot be read.
        Unavailable: The database is away.
    """
    check_boxes(settings.box, settings.other_box, settings.board_settings())
    box = settings.box
    if box is None or box.queue_file is None:
        return open_queue(settings.state / "queue.sqlite", now)
    return open_shared_queue(conninfo(box.queue_file), box=box.name)


def conninfo(file: Path) -> str:
    """How libpq reaches the database; no error repeats it.

    Raises:
        BadRequest: The file cannot be read.
    """
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise BadRequest("the queue_file of the settings cannot be read") from None


def rules_of(box: BoxSettings) -> Rules:
    """What may leave."""
    return Rules(box.name, leaving=box.leaving, staying=box.staying)


class Boxes:
    """The other boxes, as the worker sees them. Empty where the settings name none."""

    def __init__(self, settings: Settings, run: Path, now: Callable[[], dt.datetime]) -> None:
        self._settings = settings
        self._run = run
        self._now = now
        self._box = settings.box
        self._boards = {board.name: board for board in settings.board_settings()}
        self._rules = None if self._box is None else rules_of(self._box)
        self._lender: Lender | None = None
        self._lent: Board
        self.places: dict[str, int] = {}
        """The boards that are other boxes, with how many jobs each takes at once."""
        self.far: tuple[EngineSettings, ...] = tuple(map(self._far, settings.other_box))
        """The same as settings of remote engines."""

    def out(self, matter: MatterId, board: str) -> tuple[str, ...]:
        """The boards on other boxes that may stand in for one of ours, for this matter."""
        if self._rules is None or not self._rules.may_leave(matter):
            return ()
        ours = self._settings.board_settings()
        return tuple(
            self._name(other)
            for other in self._settings.other_box
            if board_of(other, ours) == board
        )

    async def open(
        self, boards: Mapping[str, Board], queue: JobQueue, stack: contextlib.AsyncExitStack
    ) -> dict[str, Board]:
        """Opens what is lent; gives the boards that are other boxes, by name.

        Args:
            boards: Our own, opened.
            queue: The line.
            stack: Ends all of it.
        """
        if self._box is None or self._rules is None:
            return {}
        if self._box.lends:
            self._lent = boards[self._box.lends]
            lender = Lender(
                boards[self._box.lends].engine,
                queue,
                board=self._box.lends,
                model_sha256=self._boards[self._box.lends].model_sha256,
                rules=self._rules,
            )
            self._lender = await stack.enter_async_context(lender.open(self._run / LENDER))
        found = {}
        for other in self._settings.other_box:
            own = boards[board_of(other, self._settings.board_settings())]
            borrowed = Borrowed(self._far(other), self._rules)
            stack.push_async_callback(borrowed.stop)
            engine = HandOff(
                own.engine, [borrowed], self._rules, own_first=False, told=self._told(other.name)
            )
            found[self._name(other)] = Board(
                engine=engine,
                billion_parameters=own.billion_parameters,
                ready=own.ready,
                away=True,
            )
            self.places[self._name(other)] = other.calls
        return found

    def work(self, work: Work) -> Work:
        """The work of all jobs: calls for other boxes go to the lender."""

        async def either(context: JobContext) -> Completed:
            if context.kind == LEND and self._lender is not None:
                async with self._lent.aside():
                    return await self._lender.work(context)
            return await work(context)

        return either

    async def bring_home(self, queue: JobQueue) -> None:
        """Jobs that wait for a box which the settings name no more wait for our first board."""
        ours = self._settings.board_settings()[0].name
        mark = _TO if self._box is None else f"{self._box.name}{_TO}"
        for info in await queue.boards():
            if mark in info.name and info.name not in self.places and info.waiting:
                await queue.move(info.name, ours)

    def _told(self, other: str) -> Told:
        def sealed(request: Request, what: str) -> None:
            if what == BORROWED:
                assert self._box is not None
                Journal(audit_folder(self._settings), MatterId(request.matter)).seal(
                    "prompt.lent",
                    by=UserName(self._box.name),
                    now=self._now(),
                    details={"box": other},
                )

        return sealed

    def _name(self, other: OtherBoxSettings) -> str:
        assert self._box is not None
        return f"{self._box.name}{_TO}{other.name}"

    def _far(self, other: OtherBoxSettings) -> EngineSettings:
        ours = self._boards[board_of(other, self._settings.board_settings())]
        return EngineSettings(
            engine="remote",
            name=self._name(other),
            endpoint=str(way_socket(other, self._run, apart=bool(self._settings.gateway_uids))),
            model_sha256=ours.model_sha256,
            context_tokens=ours.context_tokens,
            slots=other.calls,
            stall_timeout_s=ours.stall_timeout_s,
        )
