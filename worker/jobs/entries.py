"""The entries every act is made of: events, places, ends, and the fence.

Each method here leaves the rows of one job and its board in agreement; `acts` puts them together
into what may happen to a job. Nothing here begins or ends a transaction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from protocol.errors import NotFound
from protocol.events import (
    Completed,
    Event,
    EventBody,
    Failed,
    Interrupted,
    Parked,
    Queued,
    Stopped,
)
from protocol.ids import JobId
from protocol.jobs import Job, JobState
from worker.jobs import Clock, Lease, LeaseLost, MakeId, turn
from worker.jobs.reasons import with_sentence
from worker.jobs.rows import (
    BoardRow,
    EventRow,
    JobRow,
    Store,
    as_job,
    as_waiting,
    from_ms,
    to_ms,
)

PLACES_TOLD: Final = 20
"""Places from the front that are told when they change: keeps a claim's cost bounded."""

_BODIES: Final = msgspec.json.Decoder(EventBody)


def events_topic(job: JobId) -> str:
    """Rung when the job has a new event or is removed."""
    return f"events:{job}"


def stop_topic(job: JobId) -> str:
    """Rung when a running job is asked to stop or loses its lease."""
    return f"stop:{job}"


def board_topic(board: str) -> str:
    """Rung when the board may have a job to give."""
    return f"board:{board}"


class Entries:
    """Rows, the present time, and whom to wake after the commit."""

    def __init__(self, store: Store, clock: Clock, make_id: MakeId) -> None:
        self._store = store
        self._clock = clock
        self._make_id = make_id
        self.rung: set[str] = set()

    def _now(self) -> int:
        return to_ms(self._clock())

    def _new_id(self, now: int) -> JobId:
        """An id nobody has: of many made in one millisecond, two may be alike."""
        while self._store.job(made := self._make_id(now)) is not None:
            pass
        return made

    def _row(self, job: JobId) -> JobRow:
        row = self._store.job(job)
        if row is None:
            raise NotFound("no such job")
        return row

    def _held(self, lease: Lease) -> JobRow:
        """The fence: the row, if this lease still holds it."""
        row = self._store.job(lease.job)
        if row is None or row.state is not JobState.RUNNING:
            raise LeaseLost
        if (row.owner, row.turn) != (lease.owner, lease.turn):
            raise LeaseLost
        return row

    def _board(self, name: str) -> BoardRow:
        row = self._store.board(name)
        return row or BoardRow(name=name, paused=False, places=1, ticks=0)

    def _tick(self, name: str) -> int:
        row = self._board(name)
        self._store.put_board(replace(row, ticks=row.ticks + 1))
        return row.ticks + 1

    def _say(self, row: JobRow, body: EventBody) -> JobRow:
        """Stores the row with its next event; the only place where events come from."""
        row = replace(row, last_seq=row.last_seq + 1)
        self._store.put_job(row)
        stored = EventRow(seq=row.last_seq, at_ms=self._now(), body=msgspec.json.encode(body))
        self._store.add_event(row.id, stored)
        self.rung.add(events_topic(row.id))
        return row

    def _end(self, row: JobRow, body: Completed | Failed | Stopped, reason: str = "") -> None:
        """Stores the last event and state, and lets the next job on the board."""
        state, answer = JobState.STOPPED, ""
        if isinstance(body, Completed):
            state, answer = JobState.DONE, body.answer_sha256
        elif isinstance(body, Failed):
            state, reason = JobState.FAILED, reason or body.error.code
        ended = replace(
            row,
            state=state,
            reason=reason if state is JobState.FAILED else "",
            answer_sha256=answer,
            ended_ms=self._now(),
            owner="",
            lease_ms=0,
            told_place=0,
        )
        self._say(ended, body)
        self._tell_places(row.board)
        self.rung.add(board_topic(row.board))

    def _wait_again(self, row: JobRow, body: Parked | Interrupted) -> None:
        again = replace(row, state=JobState.WAITING, owner="", lease_ms=0, expected_ms=0)
        self._say(again, body)
        self._tell_places(row.board)
        self.rung.add(board_topic(row.board))

    def _places(self, board: str) -> Iterator[turn.Place]:
        info = self._board(board)
        return turn.places(
            [as_waiting(row) for row in self._store.waiting(board)],
            self._store.last_turns(board),
            [turn.Ahead(expected_ms=row.expected_ms) for row in self._store.running(board)],
            at_once=info.places,
            paused=info.paused,
            now_ms=self._now(),
        )

    def _tell_places(self, board: str) -> None:
        """Says `Queued` again to those near the front whose place changed."""
        for place in itertools.islice(self._places(board), PLACES_TOLD):
            row = self._row(place.job)
            if row.told_place != place.place:
                row = replace(row, told_place=place.place)
                self._say(row, Queued(place=place.place, eta_s=place.eta_s))

    def _view(self, row: JobRow, places: dict[JobId, turn.Place] | None = None) -> Job:
        if row.state is JobState.RUNNING:
            rest_ms = row.expected_ms - self._now()
            return as_job(row, None, rest_ms / 1000 if rest_ms >= 0 else None)
        if row.state is not JobState.WAITING:
            return as_job(row, None, None)
        if places is None:
            places = {place.job: place for place in self._places(row.board)}
        place = places[row.id]
        return as_job(row, place.place, place.eta_s)


def as_event(row: JobRow, stored: EventRow) -> Event:
    """A stored event as its followers get it."""
    body = _BODIES.decode(stored.body)
    if isinstance(body, Failed):
        body = Failed(error=with_sentence(body.error, row.reason))
    return Event(job=row.id, seq=stored.seq, at=from_ms(stored.at_ms), body=body)
