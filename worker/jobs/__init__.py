"""The promise of the job queue: a request that was accepted is never lost and never done twice.

Read this file, then one keeper. `durable` keeps the promise in one SQLite file and survives kill
-9; `shared` in a PostgreSQL database for several boxes; `memory` in dictionaries, for tests of
other rooms; `turn` decides whose turn it is; `runner` joins the queue to the work. No keeper holds
a word of a matter: ids, kinds, counts, hashes and times only, checked by `wordless` on the way in.
The words lie in the matter's own file, which is written first; a step or an event then names them.

Words used here: a *job* is one request; a *step* is one remembered part of it; an *event* is one
numbered thing said about it; a *lease* is a worker's right to run it until a time; a *board* runs
as many jobs at once as it has places. Parking is just waiting again; pausing belongs to the board.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from protocol.errors import Unavailable
from protocol.events import Completed, Event, EventBody, Failed, Stopped
from protocol.ids import JobId, MatterId, UserName
from protocol.jobs import Job

Clock = Callable[[], dt.datetime]
"""Gives the present time, aware and in UTC. Injected, so that tests own it."""

MakeId = Callable[[int], JobId]
"""Gives a job id for a time in ms of Unix time; one that is taken is asked for again."""

StepValue = Mapping[str, Any]
"""What a step remembers: JSON of ids, counts and hashes. A string in it is one word of at most 128
characters out of letters, digits and ``. _ : / + = -``; anything that could be a sentence is a
`ValueError`."""

STEP_BYTES: Final = 4096
"""Largest step value as JSON, in bytes. 60 passage ids of 50 characters fit; a page of text does
not, and must not."""

LEASE_S: Final = 6.0
"""How long a lease lasts without a beat; the runner beats three times in it. Longer than a pause
of the loop under load, short enough that a person does not give up waiting."""

MOST_CRASHES: Final = 3
"""A job that was interrupted more often than this without a new step in between is failed: it
would keep crashing the worker."""


class LeaseLost(Exception):
    """This worker may no longer speak for the job: it was recovered, ended or removed meanwhile.

    Not an error of the job. Whoever holds the lost lease drops what it has and says nothing.
    """


class StopAsked(Exception):
    """Somebody asked for the job to stop before this write was made; the write was not made."""


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    """A request as the queue takes it in."""

    matter: MatterId
    kind: str
    """ask, find, summarize, extract, ingest, ..."""
    user: UserName
    board: str
    weight_s: float
    """Estimated seconds of work on the board; decides turn and ETA, promises nothing."""
    key: str
    """The client's idempotency key, unique per user; only its hash is stored."""
    request_sha256: str
    """Hash of the request without its key, under which the matter's file holds the words. The same
    key with another hash is a `Conflict`."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to run one job, given by `JobQueue.claim`."""

    job: JobId
    matter: MatterId
    kind: str
    user: UserName
    board: str
    request_sha256: str
    attempt: int
    """From 1; a claim after parking is the same attempt."""
    owner: str
    turn: int
    """Which claim of this job it is; with `owner` the fence against a worker that froze."""


class BoardInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A board as the queue sees it."""

    name: str
    paused: bool
    places: int
    """How many jobs may run on it at once."""
    running: int
    waiting: int
    weight_s: float = 0.0
    """Estimated seconds of all that runs or waits on it."""


class JobQueue(Protocol):
    """Keeps jobs, their steps and their events.

    For every method: when it returns, what it did is on disk (``memory``: in the process). A
    cancelled call took effect as a whole or not at all, and the caller cannot tell which. A backend
    that is away or full raises `protocol.errors.Unavailable`; a damaged one
    `protocol.errors.Damaged`. An id nobody knows raises `protocol.errors.NotFound`. A lease that is
    no longer held raises `LeaseLost`. Text where an id belongs raises `ValueError`, without it.
    """

    # --- from outside: the service ---

    async def add(self, new: NewJob) -> Job:
        """Puts a request in line; its first event is `Queued`.

        A second call of the same user with the same key and request gives the existing job,
        whatever state it is in.

        Raises:
            BadRequest: The key is empty or too long.
            Conflict: The key was used for another request.
            Unavailable: Too many jobs wait on the board, or of this matter.
        """
        ...

    async def stop(self, job: JobId) -> Job:
        """Asks a job to stop. A waiting one is stopped when this returns; a running one is woken
        and ends soon; an ended one stays as it is. Asking twice is harmless."""
        ...

    async def job(self, job: JobId) -> Job:
        """One job with its place and ETA. ``review`` is left None: decisions live in the matter."""
        ...

    async def jobs(self, matter: MatterId, most: int = 50) -> tuple[Job, ...]:
        """The newest jobs of a matter, newest first; empty when it has none."""
        ...

    async def requests(self, matter: MatterId) -> Mapping[JobId, str]:
        """For every job of a matter the hash under which the matter's file holds its request."""
        ...

    async def events_since(self, job: JobId, after: int) -> tuple[Event, ...]:
        """The job's events with a number above ``after``, in order; empty when there are none.

        Bodies hold no words: the sender joins `Words.text` and `Completed.answer` from the matter's
        file. A `Failed` carries the plain sentence of its reason; a fuller one, if the matter's
        file has it, is joined by the sender too.
        """
        ...

    async def wait_event(self, job: JobId, after: int) -> tuple[Event, ...]:
        """As `events_since`, but waits until there is one; empty only when the job has ended and
        everything up to its last event is known already. Woken in process; may be cancelled."""
        ...

    # --- from inside: the runner ---

    async def claim(self, board: str, owner: str) -> Lease | None:
        """Gives the job whose turn it is, with a fresh lease and the event `Started`; None when the
        board is paused, has no free place or nothing waits."""
        ...

    async def wait_turn(self, board: str) -> None:
        """Returns as soon as a `claim` on this board would give a job."""
        ...

    async def beat(self, lease: Lease) -> bool:
        """Keeps the lease alive for another `LEASE_S`; True when a stop was asked."""
        ...

    async def wait_stop(self, lease: Lease) -> None:
        """Returns when the job was asked to stop or the lease is lost; may be cancelled."""
        ...

    async def remembered(self, job: JobId, name: str) -> dict[str, Any] | None:
        """The value of a step that was done, in this attempt or an earlier one; else None."""
        ...

    async def step(self, lease: Lease, name: str, value: StepValue) -> None:
        """Remembers that a step is done. A second value under the same name replaces the first.

        Raises:
            StopAsked: A stop was asked; the value was not kept.
            ValueError: The value is too large or holds something that is no id, count or hash.
        """
        ...

    async def say(self, lease: Lease, body: EventBody) -> Event:
        """Appends the next event and wakes the followers.

        Raises:
            ValueError: The body holds words, or is one that only the queue may say.
        """
        ...

    async def gives_way(self, lease: Lease, rest_s: float | None = None) -> bool:
        """Whether a shorter job would have the board if this one parked now.

        Args:
            rest_s: Estimated seconds of work left; None means the weight it came with.
        """
        ...

    async def park(self, lease: Lease, rest_s: float | None = None) -> None:
        """Puts a running job back in line between two steps; the lease ends. ``rest_s`` becomes
        its weight. With a stop asked the job is stopped instead."""
        ...

    async def end(
        self, lease: Lease, body: Completed | Failed | Stopped, *, reason: str = ""
    ) -> Job:
        """Ends the job with its last event; the lease ends.

        Args:
            body: `Completed` makes it done, `Failed` failed, `Stopped` stopped.
            reason: For `Failed`, the reason code if it is finer than the error's code.

        Raises:
            StopAsked: `Completed` came after a stop was asked; end it as `Stopped`.
        """
        ...

    async def recover(self, *, starting: bool = False) -> tuple[JobId, ...]:
        """Puts jobs whose worker is gone back in line, and gives their ids.

        Those asked to stop become stopped; those interrupted more than `MOST_CRASHES` times
        without a new step become failed; the others wait again after the event `Interrupted`.

        Args:
            starting: The caller is the only worker and has just started, so every running job is
                one whose worker is gone; otherwise only those whose lease ran out.
        """
        ...

    # --- from the operator ---

    async def set_places(self, board: str, places: int) -> None:
        """How many jobs the board may run at once; a board nobody named has one place."""
        ...

    async def pause(self, board: str) -> None:
        """No new claim on this board; a running job goes on."""
        ...

    async def resume(self, board: str) -> None:
        """Ends a pause and wakes the board."""
        ...

    async def move(
        self, board: str, to: str, kinds: frozenset[str] | None = None
    ) -> tuple[JobId, ...]:
        """Puts the jobs that wait on one board in line on another, in their order, and gives their
        ids. Running ones stay; nothing is moved to a paused board.

        Args:
            kinds: Only jobs of these kinds; None means all.
        """
        ...

    async def boards(self) -> tuple[BoardInfo, ...]:
        """Every board the queue has heard of, by name."""
        ...

    async def sweep(self, before: dt.datetime, *, keep: frozenset[MatterId] = frozenset()) -> int:
        """Deletes jobs that ended before a time, with steps and events; gives their number.

        Args:
            before: The time.
            keep: Matters on hold: nothing of theirs goes.
        """
        ...

    async def close_matter(self, matter: MatterId) -> tuple[JobId, ...]:
        """Deletes every job of a matter at once; gives the ids of those that were running."""
        ...

    async def close(self) -> None:
        """Lets go of the backend. Calling anything afterwards is misuse; closing twice is not."""
        ...


class JobContext(Protocol):
    """What the work of one job may see and do. The runner makes it."""

    @property
    def job(self) -> JobId: ...
    @property
    def matter(self) -> MatterId: ...
    @property
    def kind(self) -> str: ...
    @property
    def user(self) -> UserName: ...
    @property
    def board(self) -> str: ...
    @property
    def request_sha256(self) -> str:
        """The reference under which the matter's file holds the request's words."""
        ...

    @property
    def attempt(self) -> int:
        """From 1. Over 1: live text of the attempt before is void."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether a stop was asked. The work is also cancelled then; a thread may look here."""
        ...

    async def say(self, body: EventBody) -> Event:
        """Says `Progress`, `Found`, `Words` or `EngineLost`; words stay in the matter's file."""
        ...

    async def step(self, name: str, function: Callable[[], Awaitable[StepValue]]) -> dict[str, Any]:
        """The remembered value of a step; runs ``function`` once and remembers it if it is new.

        The name is stable ("retrieve", "page-0017", "answer"), never a counter of calls. The
        function may run again after a crash, so its own writes are keyed by (job, step name) and
        replace what is there.
        """
        ...

    async def breathe(self, rest_s: float | None = None) -> None:
        """Called between two long steps. When a shorter job waits, this one is parked here: the
        work is cancelled at this point and later starts again from the top, its steps remembered.
        Nothing happens before the first new step since it last started: parking would then throw
        away what was done, and could go on for ever.

        Args:
            rest_s: Estimated seconds of work left.
        """
        ...


Work = Callable[[JobContext], Awaitable[Completed]]
"""One job from its request to the event that ends it well. An `AppError` it raises becomes `Failed`
with that code; anything else becomes an internal error known by its reference only."""


def open_queue(path: Path, clock: Clock) -> JobQueue:
    """The durable queue in the SQLite file at ``path``, made if it is not there.

    Raises:
        Unavailable: Another process has it open for writing.
        Damaged: The file is not a job queue, or not one of this version.
    """
    from worker.jobs.durable import DurableQueue

    return DurableQueue.open(path, clock)


def open_shared_queue(conninfo: str, *, box: str) -> JobQueue:
    """The queue of several boxes in a PostgreSQL database; time is the server's.

    Args:
        conninfo: As libpq takes it. It may hold a secret: no error repeats it.
        box: This box's name among them, a short code in lower case; no other may use it.

    Raises:
        Unavailable: The server is away or refuses, or ``psycopg`` is not installed.
        Damaged: The tables there are not a job queue of this version.
    """
    try:
        from worker.jobs.shared import SharedQueue
    except ImportError as error:
        raise Unavailable(
            "the shared queue needs psycopg, which is not installed",
            next_step='pip install "psycopg[binary]"',
        ) from error
    if not box:
        raise ValueError("a box that shares a queue has a name")
    return SharedQueue.open(conninfo, box=box)
