"""What a keeper stores, as plain rows, and the few statements a keeper must be able to make.

`acts` holds the rules and knows no SQL; a `Store` holds the rows and knows no rules.
"""

from __future__ import annotations

import datetime as dt
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from protocol.ids import JobId, MatterId, UserName
from protocol.jobs import Job, JobState
from worker.jobs import Lease
from worker.jobs.turn import Waiting


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job as stored. Times are ms of Unix time; 0 means "not yet"."""

    id: JobId
    matter: MatterId
    kind: str
    user: UserName
    board: str
    weight_s: float
    state: JobState
    attempts: int
    """Claims that were not merely a return from parking."""
    turn: int
    """All claims; the fence."""
    crashes: int
    """Interruptions since the last new step."""
    arrived: int
    """The board's tick at which it was added."""
    created_ms: int
    waiting_ms: int
    expected_ms: int
    """When a running job should end."""
    ended_ms: int
    owner: str
    lease_ms: int
    stop_asked: bool
    reason: str
    key_sha256: str
    request_sha256: str
    answer_sha256: str
    last_seq: int
    told_place: int
    """The place its last `Queued` named; 0 when none is current."""


class BoardRow(msgspec.Struct, frozen=True, kw_only=True):
    """One board as stored."""

    name: str
    paused: bool
    places: int
    ticks: int
    """Counts arrivals and turns."""


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event as stored; ``body`` is JSON."""

    seq: int
    at_ms: int
    body: bytes


class Store(Protocol):
    """Rows in, rows out, inside one transaction at a time. What is given back is never shared."""

    def transaction(self, name: str) -> AbstractContextManager[None]:
        """All or nothing; on disk when it is left without an exception."""
        ...

    def job(self, job: JobId) -> JobRow | None: ...
    def job_of_key(self, key_sha256: str) -> JobRow | None: ...
    def jobs_of(self, matter: MatterId, most: int | None) -> list[JobRow]:
        """Newest first; None means all."""
        ...

    def waiting(self, board: str) -> list[JobRow]: ...
    def running(self, board: str | None) -> list[JobRow]:
        """On one board, or on all."""
        ...

    def ended(self, before_ms: int) -> list[JobId]: ...
    def put_job(self, row: JobRow) -> None:
        """Adds the row or replaces it."""
        ...

    def delete_jobs(self, jobs: list[JobId]) -> None:
        """Events and steps first, then the jobs."""
        ...

    def events(self, job: JobId, after: int) -> list[EventRow]: ...
    def add_event(self, job: JobId, row: EventRow) -> None: ...
    def step(self, job: JobId, name: str) -> bytes | None: ...
    def put_step(self, job: JobId, name: str, value: bytes) -> None: ...
    def board(self, name: str) -> BoardRow | None: ...
    def boards(self) -> list[BoardRow]: ...
    def put_board(self, row: BoardRow) -> None: ...
    def last_turns(self, board: str) -> dict[MatterId, int]: ...
    def put_turn(self, board: str, matter: MatterId, tick: int) -> None: ...
    def forget_turns(self, matter: MatterId) -> None: ...
    def tidy(self) -> None:
        """After a deletion: leaves nothing of what was deleted in side files."""
        ...

    def close(self) -> None: ...


def as_waiting(row: JobRow) -> Waiting:
    """The row as the turn function sees it."""
    return Waiting(
        job=row.id,
        matter=row.matter,
        weight_s=row.weight_s,
        arrived=row.arrived,
        since_ms=row.waiting_ms,
    )


def as_lease(row: JobRow) -> Lease:
    """The right to run a row that was just claimed."""
    return Lease(
        job=row.id,
        matter=row.matter,
        kind=row.kind,
        user=row.user,
        board=row.board,
        request_sha256=row.request_sha256,
        attempt=row.attempts,
        owner=row.owner,
        turn=row.turn,
    )


def as_job(row: JobRow, place: int | None, eta_s: float | None) -> Job:
    """The row as everybody else sees it."""
    return Job(
        id=row.id,
        matter=row.matter,
        kind=row.kind,
        state=row.state,
        user=row.user,
        board=row.board,
        created_at=from_ms(row.created_ms),
        attempts=row.attempts,
        place=place,
        eta_s=eta_s,
        answer_sha256=row.answer_sha256,
        reason=row.reason,
        last_seq=row.last_seq,
    )


def from_ms(ms: int) -> dt.datetime:
    """Unix time in ms as an aware time in UTC, exact."""
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=ms)


def to_ms(time: dt.datetime) -> int:
    """An aware time as Unix time in ms, rounded down.

    Raises:
        ValueError: The time is naive.
    """
    if time.tzinfo is None:
        raise ValueError("times are aware")
    return (time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
