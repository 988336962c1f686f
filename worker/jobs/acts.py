"""What may happen to a job, each act as one transaction over a `Store`.

Synchronous and free of SQL, so both keepers follow the same rules. Whom an act wakes stands in
`Acts.rung` until the keeper, after the commit, rings those bells.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from protocol.errors import BadRequest, Conflict, ErrorValue, Internal, Unavailable
from protocol.events import (
    Completed,
    Event,
    EventBody,
    Failed,
    Interrupted,
    Parked,
    Progress,
    Queued,
    Started,
    Stopped,
)
from protocol.ids import JobId, MatterId, matter_id, user_name
from protocol.jobs import Job, JobState
from worker.jobs import (
    LEASE_S,
    MOST_CRASHES,
    BoardInfo,
    Lease,
    NewJob,
    StepValue,
    StopAsked,
    turn,
    wordless,
)
from worker.jobs.entries import Entries, as_event, board_topic, events_topic, stop_topic
from worker.jobs.reasons import KEEPS_CRASHING
from worker.jobs.rows import (
    BoardRow,
    JobRow,
    as_lease,
    as_waiting,
    to_ms,
)

MOST_WAITING: Final = 500
"""Jobs that may wait on one board: hours of work; beyond it a request is refused, not forgotten."""

MOST_OF_ONE_MATTER: Final = 100
"""Of these, jobs of one matter: a script run wild in one matter leaves room for the others."""

MOST_KEY_CHARS: Final = 200
"""Longest idempotency key, in characters; a UUID has 36."""

_ACTIVE: Final = frozenset({JobState.WAITING, JobState.RUNNING})


class Acts(Entries):
    """The acts of a job's life. One thread at a time."""

    # --- from outside ---

    def add(self, new: NewJob) -> Job:
        _check_new(new)
        key = hashlib.sha256(f"{new.user}\0{new.key}".encode()).hexdigest()
        now = self._now()
        with self._store.transaction("add"):
            known = self._store.job_of_key(key)
            if known is not None:
                same = (known.request_sha256, known.matter, known.kind)
                if same != (new.request_sha256, new.matter, new.kind):
                    raise Conflict("this key was used for another request")
                return self._view(known)
            line = self._store.waiting(new.board)
            mine = sum(row.matter == new.matter for row in line)
            if len(line) >= MOST_WAITING or mine >= MOST_OF_ONE_MATTER:
                raise Unavailable("too many jobs are waiting", next_step="ask again later")
            row = JobRow(
                id=self._new_id(now),
                matter=new.matter,
                kind=new.kind,
                user=new.user,
                board=new.board,
                weight_s=new.weight_s,
                state=JobState.WAITING,
                attempts=0,
                turn=0,
                crashes=0,
                arrived=self._tick(new.board),
                created_ms=now,
                waiting_ms=now,
                expected_ms=0,
                ended_ms=0,
                owner="",
                lease_ms=0,
                stop_asked=False,
                reason="",
                key_sha256=key,
                request_sha256=new.request_sha256,
                answer_sha256="",
                last_seq=0,
                told_place=0,
            )
            self._store.put_job(row)
            its = next(place for place in self._places(new.board) if place.job == row.id)
            said = self._say(row, Queued(place=its.place, eta_s=its.eta_s))
            self._store.put_job(replace(said, told_place=its.place))
            self._tell_places(new.board)
            self.rung.add(board_topic(new.board))
            return self._view(self._row(row.id))

    def stop(self, job: JobId) -> Job:
        with self._store.transaction("stop"):
            row = self._row(job)
            if row.state is JobState.WAITING:
                self._end(row, Stopped())
            elif row.state is JobState.RUNNING and not row.stop_asked:
                self._store.put_job(replace(row, stop_asked=True))
                self.rung.add(stop_topic(job))
            return self._view(self._row(job))

    def job(self, job: JobId) -> Job:
        return self._view(self._row(job))

    def jobs(self, matter: MatterId, most: int) -> tuple[Job, ...]:
        rows = self._store.jobs_of(matter, max(0, most))
        boards = {row.board for row in rows if row.state is JobState.WAITING}
        places = {place.job: place for board in boards for place in self._places(board)}
        return tuple(self._view(row, places) for row in rows)

    def requests(self, matter: MatterId) -> dict[JobId, str]:
        return {row.id: row.request_sha256 for row in self._store.jobs_of(matter, None)}

    def events(self, job: JobId, after: int) -> tuple[tuple[Event, ...], bool]:
        """The events after a number, and whether more may come."""
        row = self._row(job)
        events = tuple(as_event(row, stored) for stored in self._store.events(job, after))
        return events, row.state in _ACTIVE

    # --- from inside ---

    def claim(self, board: str, owner: str) -> Lease | None:
        wordless.check_id(owner, "owner")
        now = self._now()
        with self._store.transaction("claim"):
            if not self.claimable(board):
                return None
            rows = {row.id: row for row in self._store.waiting(board)}
            order = turn.turns(
                [as_waiting(row) for row in rows.values()], self._store.last_turns(board), now
            )
            row = rows[next(order).job]
            self._store.put_turn(board, row.matter, self._tick(board))
            row = replace(
                row,
                state=JobState.RUNNING,
                attempts=row.attempts + 1,
                turn=row.turn + 1,
                owner=owner,
                lease_ms=now + int(LEASE_S * 1000),
                expected_ms=now + int(row.weight_s * 1000),
                told_place=0,
            )
            row = self._say(row, Started(attempt=row.attempts, board=board))
            self._tell_places(board)
            self.rung.add(board_topic(board))  # it may have a second place
            return as_lease(row)

    def claimable(self, board: str) -> bool:
        """Whether a claim would give a job."""
        info = self._board(board)
        if info.paused or len(self._store.running(board)) >= info.places:
            return False
        return bool(self._store.waiting(board))

    def beat(self, lease: Lease) -> bool:
        with self._store.transaction("beat"):
            row = self._held(lease)
            self._store.put_job(replace(row, lease_ms=self._now() + int(LEASE_S * 1000)))
            return row.stop_asked

    def stop_asked(self, lease: Lease) -> bool:
        """Whether a stop was asked of a job still held."""
        return self._held(lease).stop_asked

    def remembered(self, job: JobId, name: str) -> dict[str, Any] | None:
        self._row(job)
        value = self._store.step(job, name)
        return None if value is None else cast("dict[str, Any]", msgspec.json.decode(value))

    def step(self, lease: Lease, name: str, value: StepValue) -> None:
        wordless.check_id(name, "a step's name")
        encoded = wordless.encode_step(value)
        with self._store.transaction("step"):
            row = self._held(lease)
            if row.stop_asked:
                raise StopAsked
            if row.crashes and self._store.step(row.id, name) is None:
                self._store.put_job(replace(row, crashes=0))  # it got further than before
            self._store.put_step(row.id, name, encoded)

    def say(self, lease: Lease, body: EventBody) -> Event:
        wordless.check_said(body)
        with self._store.transaction("say"):
            row = self._held(lease)
            if isinstance(body, Progress) and body.eta_s is not None:
                later = self._now() + int(body.eta_s * 1000)
                row = replace(row, expected_ms=max(row.expected_ms, later))
            row = self._say(row, body)
            return as_event(row, self._store.events(row.id, row.last_seq - 1)[0])

    def gives_way(self, lease: Lease, rest_s: float | None) -> bool:
        row = self._held(lease)
        info = self._board(row.board)
        if info.paused or len(self._store.running(row.board)) < info.places:
            return False
        now = self._now()
        return turn.gives_way(
            as_waiting(replace(row, weight_s=_rest(row, rest_s), waiting_ms=now)),
            [as_waiting(waiting) for waiting in self._store.waiting(row.board)],
            self._store.last_turns(row.board),
            now,
        )

    def park(self, lease: Lease, rest_s: float | None) -> None:
        now = self._now()
        with self._store.transaction("park"):
            row = self._held(lease)
            if row.stop_asked:
                self._end(row, Stopped())
                return
            row = replace(row, attempts=row.attempts - 1, weight_s=_rest(row, rest_s))
            self._wait_again(replace(row, waiting_ms=now), Parked())

    def end(self, lease: Lease, body: Completed | Failed | Stopped, reason: str) -> Job:
        wordless.check_last(body)
        if reason:
            wordless.check_code(reason, "reason")
        with self._store.transaction("end"):
            row = self._held(lease)
            if row.stop_asked and isinstance(body, Completed):
                raise StopAsked
            self._end(row, body, reason)
            return self._view(self._row(row.id))

    def recover(self, starting: bool, mine: str = "") -> tuple[JobId, ...]:
        """See `worker.jobs.JobQueue.recover`; ``mine``: how the owners of this worker begin."""
        with self._store.transaction("recover"):
            now = self._now()
            gone = [
                row
                for row in self._store.running(None)
                if row.lease_ms <= now or (starting and row.owner.startswith(mine))
            ]
            for row in gone:
                self.rung.add(stop_topic(row.id))
                if row.stop_asked:
                    self._end(row, Stopped())
                elif row.crashes >= MOST_CRASHES:
                    error = ErrorValue(code=Internal.code, message="")
                    self._end(row, Failed(error=error), KEEPS_CRASHING)
                else:
                    self._wait_again(replace(row, crashes=row.crashes + 1), Interrupted())
            return tuple(row.id for row in gone)

    # --- from the operator ---

    def set_places(self, board: str, places: int) -> None:
        wordless.check_id(board, "board")
        if places < 1:
            raise ValueError("a board has at least one place; to hold it, pause it")
        with self._store.transaction("board"):
            self._store.put_board(replace(self._board(board), places=places))
            self._tell_places(board)
            self.rung.add(board_topic(board))

    def set_paused(self, board: str, paused: bool) -> None:
        wordless.check_id(board, "board")
        with self._store.transaction("board"):
            self._store.put_board(replace(self._board(board), paused=paused))
            self.rung.add(board_topic(board))

    def move(self, board: str, to: str, kinds: frozenset[str] | None) -> tuple[JobId, ...]:
        wordless.check_id(to, "board")
        if to == board or self._board(to).paused:
            return ()
        with self._store.transaction("move"):
            rows = [r for r in self._store.waiting(board) if kinds is None or r.kind in kinds]
            for row in rows:
                arrived = self._tick(to)
                self._store.put_job(replace(row, board=to, arrived=arrived, told_place=0))
            if rows:
                self._tell_places(board)
                self._tell_places(to)
                self.rung.add(board_topic(to))
        return tuple(row.id for row in rows)

    def boards(self) -> tuple[BoardInfo, ...]:
        return tuple(self._info(row) for row in self._store.boards())

    def _info(self, board: BoardRow) -> BoardInfo:
        running, waiting = self._store.running(board.name), self._store.waiting(board.name)
        return BoardInfo(
            name=board.name,
            paused=board.paused,
            places=board.places,
            running=len(running),
            waiting=len(waiting),
            weight_s=sum(row.weight_s for row in (*running, *waiting)),
        )

    def sweep(self, before: dt.datetime, keep: frozenset[MatterId]) -> int:
        with self._store.transaction("sweep"):
            jobs = self._store.ended(to_ms(before))
            if keep:
                rows = [self._store.job(job) for job in jobs]
                jobs = [row.id for row in rows if row is not None and row.matter not in keep]
            self._store.delete_jobs(jobs)
            self.rung.update(events_topic(job) for job in jobs)
        self._store.tidy()
        return len(jobs)

    def close_matter(self, matter: MatterId) -> tuple[JobId, ...]:
        with self._store.transaction("close_matter"):
            rows = self._store.jobs_of(matter, None)
            self._store.delete_jobs([row.id for row in rows])
            self._store.forget_turns(matter)
            for board in {row.board for row in rows if row.state in _ACTIVE}:
                self._tell_places(board)
                self.rung.add(board_topic(board))
            for row in rows:
                self.rung.update((events_topic(row.id), stop_topic(row.id)))
        self._store.tidy()
        return tuple(row.id for row in rows if row.state is JobState.RUNNING)


def _check_new(new: NewJob) -> None:
    matter_id(new.matter)
    user_name(new.user)
    wordless.check_code(new.kind, "kind")
    wordless.check_id(new.board, "board")
    wordless.check_hash(new.request_sha256, "request_sha256")
    if not 0 <= new.weight_s < float("inf"):
        raise ValueError("a weight is a finite number of seconds, 0 or more")
    if not 0 < len(new.key) <= MOST_KEY_CHARS:  # the one value here that a client makes up
        raise BadRequest(f"a key has 1 to {MOST_KEY_CHARS} characters")


def _rest(row: JobRow, rest_s: float | None) -> float:
    if rest_s is None:
        return row.weight_s
    if not 0 <= rest_s < float("inf"):
        raise ValueError("a rest is a finite number of seconds, 0 or more")
    return rest_s
