"""The guard of one worker: faults hold boards, an operator or a rule lets them go on.

A fault pauses the queue of every engine that uses the board, at once; with severity ``pause`` what
runs there is parked with its steps kept, and goes on elsewhere (the same model on another board) or
later. Why a board is held outlives the worker: a fault that only an operator may clear holds the
board after a restart, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from protocol.errors import Conflict, NotFound
from worker.boards import Sample
from worker.boards.clean_stop import CleanStop
from worker.boards.declared import Declared
from worker.boards.health import Change
from worker.boards.host import nvidia_on_bus
from worker.boards.pausing import pausing
from worker.boards.probe import Probe
from worker.boards.verdicts import Thresholds, Verdict
from worker.boards.watcher import Watcher
from worker.engine import EngineSettings
from worker.jobs import JobQueue
from worker.logs import Log
from worker.watching.notebook import Held, Notebook
from worker.watching.queues import Queues

_LOG: Final = Log("boards")
_SYS: Final = Path("/sys")

GiveBack = Callable[[str], object]
"""Parks what runs on a board of the settings (`worker.jobs.runner.Runner.give_back`)."""


def has_cards(declared: Declared, sys: Path = _SYS) -> bool:
    """Whether there is anything to watch: a declared board, or an NVIDIA card on the bus."""
    return bool(declared.board) or nvidia_on_bus(sys) > 0


class Guard:
    """See the module. `start` before jobs run, `close` after they have stopped."""

    def __init__(
        self,
        state: Path,
        declared: Declared,
        engines: Sequence[EngineSettings],
        queue: JobQueue,
        *,
        now: Callable[[], dt.datetime],
        watch: bool = True,
        probe: Probe | None = None,
        poll_s: float = 1.0,
        thresholds: Thresholds | None = None,
        kernel_lines: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        """Asks nothing yet.

        Args:
            state: The state folder; the notebook and the clean-stop mark lie in it.
            engines: The boards of the settings.
            watch: False leaves the cards alone; operators may still hold boards.
            probe: Who asks the driver; one of our own where None.
        """
        self._declared = declared
        self._now = now
        self._poll_s = poll_s
        self._give_back: GiveBack = lambda _: None
        self._notebook = Notebook(state)
        self._queues = Queues(queue, engines, self.hardware)
        self._pause_on = pausing(self._queues, stop_running=self._stop_running, tell=self._tell)
        self._mark = CleanStop(state / "clean-stop.json")
        self._thresholds = thresholds
        self._kernel_lines = kernel_lines
        self._probe = probe
        self._watching = watch and has_cards(declared)
        self._watcher: Watcher | None = None
        self._loop: asyncio.Task[None] | None = None

    @property
    def watching(self) -> bool:
        """Whether cards are watched."""
        return self._watching

    @property
    def notebook(self) -> Notebook:
        """What was said."""
        return self._notebook

    def hardware(self) -> Mapping[str, Sequence[str]]:
        """Hardware boards as known now, with the UUIDs of their cards."""
        if self._watcher is not None:
            return self._watcher.homes()
        return {board.name: board.gpus for board in self._declared.board}

    def under(self, name: str) -> tuple[str, ...]:
        """The hardware boards under a board of the settings."""
        return tuple(sorted(self._queues.under(name)))

    def samples(self) -> tuple[Sample, ...]:
        """What every card read last; empty where none is watched."""
        return self._watcher.latest if self._watcher is not None else ()

    def label(self, uuid: str) -> str:
        """How people call a card; its UUID where it was never seen."""
        box = self._watcher.box if self._watcher is not None else None
        gpu = next((one for one in box.gpus if one.uuid == uuid), None) if box else None
        return gpu.short if gpu is not None else uuid

    def why(self, name: str) -> tuple[str, ...]:
        """What holds a board of the settings, in words; empty when nothing does."""
        by = self._queues.operator.get(name)
        said = [f"{by} holds it"] if by is not None else []
        faults = self._faults()
        for hardware in self.under(name):
            said += [verdict.reason for verdict in faults.get(hardware, ())]
        if self._watcher is not None and self._watcher.away and self.under(name):
            said.append("the driver cannot be asked")
        return tuple(dict.fromkeys(said))

    # --- life ------------------------------------------------------------------------------------

    async def start(self, give_back: GiveBack) -> None:
        """Looks at the cards once and holds what must be held; then goes on watching.

        Takes as long as the driver takes to answer, at most the probe's first deadline.
        """
        self._give_back = give_back
        kept = self._notebook.held()
        firm = {
            board: stay
            for board, faults in kept.faults.items()
            if (stay := tuple(one for one in faults if not one.clears))
        }
        names = self._queues.names
        self._queues.operator = {n: by for n, by in kept.operator.items() if n in names}
        if self._watching:
            self._watcher = Watcher(
                self._probe or Probe(),
                self._declared,
                self._pause_on,
                poll_s=self._poll_s,
                thresholds=self._thresholds,
                kernel_lines=self._kernel_lines,
                unclean_start=self._mark.started(),
                before=[one for faults in firm.values() for one in faults],
            )
            for board in firm:  # held until a look says otherwise, also if no look comes through
                await self._queues.pause(board)
            await self._watched(self._watcher.survey)
            if self._watcher.health is not None:
                for board in set(firm) - set(self._faults()):  # its cards are no longer here
                    await self._queues.resume(board)
        await self._queues.settle([n for n in names if self._known_hold(n, kept)])
        if self._watching or len(names) > 1:
            self._loop = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Ends the watch, cleanly."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait({self._loop})
        if self._watcher is not None:
            await self._watcher.close()
            with contextlib.suppress(OSError):
                self._mark.stopped()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._poll_s)
            watcher = self._watcher
            if watcher is not None:
                await self._watched(watcher.step if watcher.health else watcher.survey)
            await self._watched(self._queues.rehome)

    async def _watched(self, what: Callable[[], object]) -> None:
        """A round that fails must not end the watch: it is logged, and the next one comes."""
        try:
            done = what()
            if asyncio.iscoroutine(done):
                await done
        except Exception as error:
            _LOG.trouble("boards.watch", error)

    def _known_hold(self, name: str, kept: Held) -> bool:
        """Whether this worker or the one before knows what holds a board.

        A queue that is paused and of which nobody wrote down why stays paused: an operator decides.
        """
        return (
            self._queues.held(name)
            or name in kept.operator
            or any(hardware in kept.faults for hardware in self.under(name))
        )

    # --- operator --------------------------------------------------------------------------------

    async def hold(self, name: str, by: str) -> None:
        """An operator holds a board: no new job; the running one may end.

        Raises:
            NotFound: There is no such board.
        """
        for board in self.named(name):
            self._queues.operator[board] = by
        self._save()
        await self._queues.settle(self.named(name))
        await self._queues.rehome()

    async def resume(self, name: str) -> None:
        """An operator lets a board go on; a fault that is still there holds it again at once.

        Raises:
            NotFound: There is no such board.
            Conflict: The driver cannot be asked, so nobody knows whether the cards are well.
        """
        names = self.named(name)
        hardware = {one for board in names for one in self.under(board)}
        if self._watcher is not None and hardware and self._watcher.away:
            raise Conflict(
                "the driver cannot be asked, so nobody knows whether the cards are well",
                next_step="restart the box; `secondchair-worker doctor` says what is wrong",
            )
        for board in names:
            self._queues.operator.pop(board, None)
        if self._watcher is not None:
            for one in hardware & set(self._faults()):
                await self._watcher.resume(one)
        self._save()
        await self._queues.settle(names)

    def named(self, name: str) -> tuple[str, ...]:
        """The boards of the settings meant: one of them, or those over a hardware board.

        Raises:
            NotFound: There is none.
        """
        if name in self._queues.names:
            return (name,)
        over = self._queues.over(name)
        if not over:
            known = ", ".join(self._queues.names)
            raise NotFound("there is no such board", next_step=f"this box has {known}")
        return over

    # --- what the watcher calls ------------------------------------------------------------------

    async def _stop_running(self, hardware: str) -> None:
        for name in self._queues.over(hardware):
            self._give_back(name)

    async def _tell(self, change: Change) -> None:
        """The operator's channel: the notebook and the log. A full disk silences neither pause."""
        try:
            self._notebook.say(change, self._now())
        except OSError as error:
            _LOG.trouble("boards.notebook", error)
        if change.kind in ("pause", "resume"):
            self._save()
        fields = {"kind": change.kind, "state": change.severity.value, "code": change.rule}
        fields |= {"board": change.board} if change.board else {}
        fields |= {"gpu": change.uuid} if change.uuid else {}
        say = _LOG.info if change.kind == "resume" else _LOG.warning
        say("boards.change", **fields)

    def _faults(self) -> Mapping[str, tuple[Verdict, ...]]:
        if self._watcher is None or self._watcher.health is None:
            return {}
        return self._watcher.health.paused

    def _save(self) -> None:
        seen = self._watcher is not None and self._watcher.health is not None
        # Where the driver was never asked, what was known before still holds.
        faults = dict(self._faults()) if seen else self._notebook.held().faults
        try:
            self._notebook.hold(Held(faults=faults, operator=dict(self._queues.operator)))
        except OSError as error:
            _LOG.trouble("boards.held", error)
