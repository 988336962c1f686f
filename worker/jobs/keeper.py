"""Makes a `JobQueue` out of the acts: awaiting, waking, closing. Shared by all keepers here.

Whatever a keeper does for an act (run it at once, hand it to a thread), bells ring on the loop
after the commit, also when the caller has been cancelled meanwhile.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from protocol.events import Completed, Event, EventBody, Failed, Stopped
from protocol.ids import JobId, MatterId
from protocol.jobs import Job
from worker.jobs import BoardInfo, Lease, LeaseLost, NewJob, StepValue
from worker.jobs.acts import Acts
from worker.jobs.bells import Bells
from worker.jobs.entries import board_topic, events_topic, stop_topic

T = TypeVar("T")


class Keeper(ABC):
    """The promise of `worker.jobs.JobQueue`, but for how an act is run."""

    def __init__(self) -> None:
        self._bells = Bells()

    @abstractmethod
    async def _do(self, act: Callable[[Acts], T]) -> T:
        """Runs one act and, once it is committed, rings the bells it left."""

    async def _look(self, act: Callable[[Acts], T]) -> T:
        """Runs one act that changes nothing."""
        return await self._do(act)

    @abstractmethod
    async def close(self) -> None: ...

    async def add(self, new: NewJob) -> Job:
        return await self._do(lambda acts: acts.add(new))

    async def stop(self, job: JobId) -> Job:
        return await self._do(lambda acts: acts.stop(job))

    async def job(self, job: JobId) -> Job:
        return await self._look(lambda acts: acts.job(job))

    async def jobs(self, matter: MatterId, most: int = 50) -> tuple[Job, ...]:
        return await self._look(lambda acts: acts.jobs(matter, most))

    async def requests(self, matter: MatterId) -> Mapping[JobId, str]:
        return await self._look(lambda acts: acts.requests(matter))

    async def events_since(self, job: JobId, after: int) -> tuple[Event, ...]:
        events, _ = await self._look(lambda acts: acts.events(job, after))
        return events

    async def wait_event(self, job: JobId, after: int) -> tuple[Event, ...]:
        with self._bells.listen(events_topic(job)) as bell:
            while True:
                bell.clear()
                events, more = await self._look(lambda acts: acts.events(job, after))
                if events or not more:
                    return events
                await bell.wait()

    async def claim(self, board: str, owner: str) -> Lease | None:
        return await self._do(lambda acts: acts.claim(board, owner))

    async def wait_turn(self, board: str) -> None:
        with self._bells.listen(board_topic(board)) as bell:
            while True:
                bell.clear()
                if await self._look(lambda acts: acts.claimable(board)):
                    return
                await bell.wait()

    async def beat(self, lease: Lease) -> bool:
        return await self._do(lambda acts: acts.beat(lease))

    async def wait_stop(self, lease: Lease) -> None:
        with self._bells.listen(stop_topic(lease.job)) as bell:
            while True:
                bell.clear()
                try:
                    if await self._look(lambda acts: acts.stop_asked(lease)):
                        return
                except LeaseLost:
                    return
                await bell.wait()

    async def remembered(self, job: JobId, name: str) -> dict[str, Any] | None:
        return await self._look(lambda acts: acts.remembered(job, name))

    async def step(self, lease: Lease, name: str, value: StepValue) -> None:
        await self._do(lambda acts: acts.step(lease, name, value))

    async def say(self, lease: Lease, body: EventBody) -> Event:
        return await self._do(lambda acts: acts.say(lease, body))

    async def gives_way(self, lease: Lease, rest_s: float | None = None) -> bool:
        return await self._do(lambda acts: acts.gives_way(lease, rest_s))

    async def park(self, lease: Lease, rest_s: float | None = None) -> None:
        await self._do(lambda acts: acts.park(lease, rest_s))

    async def end(
        self, lease: Lease, body: Completed | Failed | Stopped, *, reason: str = ""
    ) -> Job:
        return await self._do(lambda acts: acts.end(lease, body, reason))

    async def recover(self, *, starting: bool = False) -> tuple[JobId, ...]:
        return await self._do(lambda acts: acts.recover(starting))

    async def set_places(self, board: str, places: int) -> None:
        await self._do(lambda acts: acts.set_places(board, places))

    async def pause(self, board: str) -> None:
        await self._do(lambda acts: acts.set_paused(board, True))

    async def resume(self, board: str) -> None:
        await self._do(lambda acts: acts.set_paused(board, False))

    async def move(
        self, board: str, to: str, kinds: frozenset[str] | None = None
    ) -> tuple[JobId, ...]:
        return await self._do(lambda acts: acts.move(board, to, kinds))

    async def boards(self) -> tuple[BoardInfo, ...]:
        return await self._look(lambda acts: acts.boards())

    async def sweep(self, before: dt.datetime, *, keep: frozenset[MatterId] = frozenset()) -> int:
        return await self._do(lambda acts: acts.sweep(before, keep))

    async def close_matter(self, matter: MatterId) -> tuple[JobId, ...]:
        return await self._do(lambda acts: acts.close_matter(matter))
