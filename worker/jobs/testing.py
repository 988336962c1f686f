"""For tests of this room and of those that use it: time that moves by hand, and small builders."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets

from protocol.errors import ErrorValue
from protocol.events import Completed, Failed
from protocol.ids import JobId, MatterId, UserName
from worker.jobs import JobQueue, Lease, NewJob


class HandClock:
    """A `worker.jobs.Clock` that stands still until it is told to move."""

    def __init__(self) -> None:
        self.now = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        """Lets seconds pass; fewer than 0 set the clock back."""
        self.now += dt.timedelta(seconds=seconds)


def new_job(
    matter: str = "M-AAAA",
    *,
    weight_s: float = 10.0,
    key: str | None = None,
    request: str = "a",
    board: str = "A",
    user: str = "you",
    kind: str = "ask",
) -> NewJob:
    """A request as the queue takes it in; without a key of its own it gets a fresh one.

    Args:
        request: Stands for the request's words; only its hash goes in.
    """
    return NewJob(
        matter=MatterId(matter),
        kind=kind,
        user=UserName(user),
        board=board,
        weight_s=weight_s,
        key=secrets.token_hex(8) if key is None else key,
        request_sha256=hashlib.sha256(request.encode()).hexdigest(),
    )


def done(answer_sha256: str = "a" * 64) -> Completed:
    """A last event of a job that ended well."""
    return Completed(answer_sha256=answer_sha256, verified=2, to_look_at=1, failing=0)


def failed(code: str = "unavailable") -> Failed:
    """A last event of a job that failed, as it is handed to the queue: without words."""
    return Failed(error=ErrorValue(code=code, message="", retry=True, reference="E-1"))


async def claimed(queue: JobQueue, owner: str = "w-1", board: str = "A") -> Lease:
    """The lease of the job whose turn it is; there must be one."""
    lease = await queue.claim(board, owner)
    assert lease is not None, "nothing to claim"
    return lease


async def kinds(queue: JobQueue, job: JobId) -> list[str]:
    """The names of a job's events in order; their numbers must run from 1 without gaps."""
    events = await queue.events_since(job, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [type(event.body).__name__ for event in events]
