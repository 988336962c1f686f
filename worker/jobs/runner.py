"""Runs the jobs of the boards: one task per place, each claims, works and ends one job at a time.

It knows the queue and a callable, nothing of what the work is. Stop, parking and shutdown all reach
the work as a cancellation of its task; which of the three it was decides what is written then, and
a shutdown writes nothing: the row stays running, and the next start recovers it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from protocol.errors import AppError, ErrorValue, Internal
from protocol.events import Completed, Event, EventBody, Failed, Stopped
from protocol.ids import JobId, MatterId, UserName
from worker.jobs import (
    LEASE_S,
    JobQueue,
    Lease,
    LeaseLost,
    StepValue,
    StopAsked,
    Work,
)
from worker.logs import Log

Idle = Callable[[str], Awaitable[None]]
"""Returns when the board's engine runs nothing any more; a board is given away only after it."""

KeepFailure = Callable[[Lease, ErrorValue], Awaitable[None]]
"""Writes the full error, with its words, to the matter's own file; called before the job ends."""

AGAIN_S: Final = 1.0
"""Pause before trying again after the queue or an engine failed, in seconds."""

_LOG: Final = Log("jobs")


async def _nothing(lease: Lease, error: ErrorValue) -> None:
    """Keeps no words of a failure."""


class Context:
    """What the work of one job sees; keeps `worker.jobs.JobContext`."""

    def __init__(self, queue: JobQueue, lease: Lease) -> None:
        self._queue = queue
        self._lease = lease
        self._cancel: Callable[[], object] = lambda: None
        self._further = False
        self.stopping = False
        self.parking = False
        self.rest_s: float | None = None
        self.gone = asyncio.Event()
        """Set once nothing of the work runs any more."""

    @property
    def job(self) -> JobId:
        return self._lease.job

    @property
    def matter(self) -> MatterId:
        return self._lease.matter

    @property
    def kind(self) -> str:
        return self._lease.kind

    @property
    def user(self) -> UserName:
        return self._lease.user

    @property
    def board(self) -> str:
        return self._lease.board

    @property
    def request_sha256(self) -> str:
        return self._lease.request_sha256

    @property
    def attempt(self) -> int:
        return self._lease.attempt

    def work_is(self, task: asyncio.Task[Completed]) -> None:
        """Names the task that a stop or a parking cancels."""
        self._cancel = task.cancel

    def stop(self) -> None:
        """Tells the work to stop: the flag, then the cancellation, once."""
        if not self.stopping:
            self.stopping = True
            self._cancel()

    def give_back(self) -> None:
        """Parks the work wherever it is: the board under it is gone."""
        if not self.parking and not self.stopping:
            self.parking = True
            self._cancel()

    async def say(self, body: EventBody) -> Event:
        return await self._queue.say(self._lease, body)

    async def step(self, name: str, function: Callable[[], Awaitable[StepValue]]) -> dict[str, Any]:
        known = await self._queue.remembered(self.job, name)
        if known is not None:
            return known
        value = await function()
        await self._queue.step(self._lease, name, value)
        self._further = True
        # As it will be read back, so that a first run and a resumed one see the same value.
        return cast("dict[str, Any]", msgspec.json.decode(msgspec.json.encode(value)))

    async def breathe(self, rest_s: float | None = None) -> None:
        if not self._further or not await self._queue.gives_way(self._lease, rest_s):
            return
        self.parking, self.rest_s = True, rest_s
        self._cancel()
        await asyncio.get_running_loop().create_future()  # the cancellation arrives here


class Runner:
    """Keeps every board busy with the job whose turn it is.

    Args:
        queue: Where jobs come from and what becomes of them goes.
        boards: The names of the boards served here, each with its number of places.
        work: What a job is.
        idle: Awaited after a job before its place is given away.
        keep_failure: Where the words of a failure go.
        owner: This worker's id, unique per process start; made up when empty.
    """

    def __init__(
        self,
        queue: JobQueue,
        boards: Mapping[str, int],
        work: Work,
        *,
        idle: Idle,
        keep_failure: KeepFailure = _nothing,
        owner: str = "",
    ) -> None:
        self._queue = queue
        self._boards = dict(boards)
        self._work = work
        self._idle = idle
        self._keep_failure = keep_failure
        self._owner = owner or f"w-{secrets.token_hex(8)}"
        self._held: dict[JobId, tuple[Lease, Context]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> tuple[JobId, ...]:
        """Recovers what the worker before left running, then serves the boards.

        Returns:
            The ids of the jobs that were recovered.
        """
        for board, places in self._boards.items():
            await self._queue.set_places(board, places)
        recovered = await self._queue.recover(starting=True)
        for job in recovered:
            _LOG.info("job.recovered", job=job)
        for board, places in self._boards.items():
            self._tasks += [asyncio.create_task(self._serve(board)) for _ in range(places)]
        self._tasks.append(asyncio.create_task(self._keep_leases()))
        return recovered

    async def let_go(self, jobs: Iterable[JobId]) -> None:
        """Returns when nothing of these jobs runs here any more; it stops none of them.

        For closing a matter: first `JobQueue.close_matter`, then this, then remove the folder.
        """
        for job in jobs:
            if job in self._held:
                await self._held[job][1].gone.wait()

    def give_back(self, board: str) -> tuple[JobId, ...]:
        """Parks what runs on a board now: its steps are kept, and it waits in line again.

        For a board that can no longer be trusted; pause it first, else it would claim them at once.
        A job that is about to end may end.
        """
        parked = [(job, one) for job, (lease, one) in self._held.items() if lease.board == board]
        for _, context in parked:
            context.give_back()
        return tuple(job for job, _ in parked)

    async def shut_down(self) -> None:
        """Cancels all work and waits until it has let go. Running rows stay for recovery."""
        await _cancel(*self._tasks)
        self._tasks.clear()

    async def _serve(self, board: str) -> None:
        """One place of a board, for ever."""
        while True:
            lease = await self._next(board)
            try:
                await self._run(lease)
            except LeaseLost:  # recovered, removed or ended by somebody else: theirs to speak for
                _LOG.warning("job.lease_lost", job=lease.job, attempt=lease.attempt)
            except Exception as error:  # the row stays running; its lease runs out and it recovers
                _LOG.trouble("job.unsettled", error, job=lease.job)
            await self._until_idle(board)

    async def _next(self, board: str) -> Lease:
        while True:
            try:
                lease = await self._queue.claim(board, self._owner)
                if lease is not None:
                    return lease
                await self._queue.wait_turn(board)
            except Exception as error:  # a full disk must not end the board's task
                _LOG.trouble("board.claim", error, board=board)
                await asyncio.sleep(AGAIN_S)

    async def _until_idle(self, board: str) -> None:
        """A board whose engine may still be working is not given away, however long it takes."""
        while True:
            try:
                return await self._idle(board)
            except Exception as error:
                _LOG.trouble("board.not_idle", error, board=board)
                await asyncio.sleep(AGAIN_S)

    async def _run(self, lease: Lease) -> None:
        """One job from its claim to the end of its lease."""
        context = Context(self._queue, lease)
        task: asyncio.Task[Completed] = asyncio.create_task(_coroutine(self._work, context))
        context.work_is(task)
        ear = asyncio.create_task(self._hear_stop(lease, context))
        self._held[lease.job] = (lease, context)
        try:
            await asyncio.wait({task})
        finally:
            # On shutdown too: the work must have let go before anything else happens.
            await _cancel(ear, task)
            self._held.pop(lease.job, None)
            context.gone.set()
        await self._settle(lease, context, task)

    async def _hear_stop(self, lease: Lease, context: Context) -> None:
        while True:
            try:
                await self._queue.wait_stop(lease)
                return context.stop()
            except Exception as error:
                _LOG.trouble("job.wait_stop", error, job=lease.job)
                await asyncio.sleep(AGAIN_S)

    async def _keep_leases(self) -> None:
        """Beats for what runs here, then recovers what nobody beats for any more.

        The beat is also the second look for a stop, should its ring come from another process.
        """
        while True:
            await asyncio.sleep(LEASE_S / 3)
            for lease, context in list(self._held.values()):
                try:
                    if await self._queue.beat(lease):
                        context.stop()
                except LeaseLost:
                    context.stop()
                except Exception as error:  # the lease may outlast it
                    _LOG.trouble("job.beat", error, job=lease.job)
            try:
                await self._queue.recover()
            except Exception as error:
                _LOG.trouble("jobs.recover", error)

    async def _settle(self, lease: Lease, context: Context, task: asyncio.Task[Completed]) -> None:
        """Writes what became of the job, once its task has ended."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if isinstance(error, LeaseLost):
            raise error
        if error is None:
            await self._complete(lease, task.result())
        elif context.stopping or isinstance(error, StopAsked):
            await self._queue.end(lease, Stopped())
        elif context.parking:
            await self._queue.park(lease, context.rest_s)
        elif isinstance(error, AppError):
            await self._fail(lease, error)
        elif error is not None:
            await self._fail(lease, _internal(error, lease))

    async def _complete(self, lease: Lease, completed: Completed) -> None:
        try:
            await self._queue.end(lease, completed)
        except StopAsked:
            await self._queue.end(lease, Stopped())
        except ValueError as error:  # the work handed over words
            await self._fail(lease, _internal(error, lease))

    async def _fail(self, lease: Lease, error: AppError) -> None:
        value = ErrorValue(
            code=error.code,
            message=error.message,
            next_step=error.next_step,
            retry=error.retry,
            reference=error.reference,
        )
        try:
            await self._keep_failure(lease, value)
        except Exception as second:  # the sentence of the code is shown instead
            _LOG.trouble("job.keep_failure", second, job=lease.job)
        bare = ErrorValue(code=value.code, message="", retry=value.retry)
        try:
            last = Failed(error=replace(bare, reference=value.reference))
            await self._queue.end(lease, last)
        except ValueError:  # a reference that is none: rather no reference than no end
            await self._queue.end(lease, Failed(error=bare))
        _LOG.warning("job.failed", job=lease.job, code=value.code)


def _internal(error: BaseException, lease: Lease) -> Internal:
    """Our fault: the log gets class and place of the error, the user gets the reference."""
    reference = _LOG.trouble("job.internal", error, job=lease.job, attempt=lease.attempt)
    return Internal("something went wrong on our side", reference=reference)


async def _coroutine(work: Work, context: Context) -> Completed:
    """A task needs a coroutine; `Work` may give any awaitable."""
    return await work(context)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks and waits until each has ended, however; an ended one stays as it is."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
