"""For tests of the runner: a queue in memory, work out of a table, an engine that streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from protocol.errors import ErrorValue
from protocol.events import Completed, Event, Words
from protocol.ids import JobId
from protocol.jobs import Job
from worker.jobs import JobContext, Lease, StepValue
from worker.jobs.memory import MemoryQueue
from worker.jobs.runner import Runner
from worker.jobs.testing import HandClock, new_job

MARKER = "Zebrastein's words"
DONE = Completed(answer_sha256="a" * 64, verified=1, to_look_at=0, failing=0)


class House:
    """A queue with a runner whose work is a table from job kind to coroutine."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.queue = MemoryQueue(self.clock)
        self.works: dict[str, Callable[[JobContext], Awaitable[Completed]]] = {}
        self.ran: list[str] = []
        self.idle_calls = 0
        self.engine_idle = asyncio.Event()
        """Cleared while the engine still runs something."""
        self.engine_idle.set()
        self.failures: list[ErrorValue] = []
        self.runner = self.new_runner()

    def new_runner(self, places: int = 1) -> Runner:
        """A runner of board ``a``; the one before must be shut down."""
        return Runner(
            self.queue,
            {"a": places},
            self._work,
            idle=self._idle,
            keep_failure=self._keep_failure,
        )

    async def _work(self, context: JobContext) -> Completed:
        self.ran.append(context.kind)
        return await self.works[context.kind](context)

    async def _idle(self, board: str) -> None:
        self.idle_calls += 1
        await self.engine_idle.wait()

    async def _keep_failure(self, lease: Lease, error: ErrorValue) -> None:
        self.failures.append(error)

    async def add(self, kind: str, matter: str = "M-AAAA", weight_s: float = 10) -> JobId:
        """Puts a job in line whose work stands in `works` under its kind."""
        new = new_job(matter, weight_s=weight_s, kind=kind, board="a")
        return (await self.queue.add(new)).id

    async def ended(self, job: JobId) -> Job:
        """The job once it has ended, however."""
        after = 0
        async with asyncio.timeout(60):
            while events := await self.queue.wait_event(job, after):
                after = events[-1].seq
        return await self.queue.job(job)

    async def last(self, job: JobId) -> Event:
        """The newest event of a job."""
        return (await self.queue.events_since(job, 0))[-1]


async def until(true: Callable[[], bool]) -> None:
    """Returns once it is true; a minute is time that only what never comes can take."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - what is waited for is a number of turns of the loop
            await asyncio.sleep(0)


async def ends_well(context: JobContext) -> Completed:
    """Work that has nothing to do."""
    return DONE


class Engine:
    """A stream of words that notes how it ended."""

    def __init__(self) -> None:
        self.streaming = asyncio.Event()
        self.closed = False
        self.swallow = False
        self.error: Exception | None = None

    async def __call__(self, context: JobContext) -> Completed:
        try:
            for part in range(10**6):
                await context.say(Words(part=part))
                if part == 3:
                    self.streaming.set()
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.closed = True
            assert context.stopping
            if self.error:
                raise self.error from None
            if not self.swallow:
                raise
        return DONE


def remember(told: list[str]) -> Callable[[], Awaitable[StepValue]]:
    """A step that leaves a mark each time it runs."""

    async def function() -> StepValue:
        told.append("done")
        return {}

    return function
