"""The queue in dictionaries: for tests of other rooms. Nothing survives the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from protocol.ids import JobId, MatterId, new_job_id
from protocol.jobs import JobState
from worker.jobs import Clock, MakeId
from worker.jobs.acts import Acts
from worker.jobs.keeper import Keeper
from worker.jobs.rows import BoardRow, EventRow, JobRow

T = TypeVar("T")

_ACTIVE = frozenset({JobState.WAITING, JobState.RUNNING})


class MemoryStore:
    """Rows in dictionaries; a transaction that fails puts back what was there."""

    def __init__(self) -> None:
        self._jobs: dict[JobId, JobRow] = {}
        self._events: dict[JobId, list[EventRow]] = {}
        self._steps: dict[tuple[JobId, str], bytes] = {}
        self._boards: dict[str, BoardRow] = {}
        self._turns: dict[tuple[str, MatterId], int] = {}

    @contextmanager
    def transaction(self, name: str) -> Iterator[None]:
        before = (
            dict(self._jobs),
            {job: list(events) for job, events in self._events.items()},
            dict(self._steps),
            dict(self._boards),
            dict(self._turns),
        )
        try:
            yield
        except BaseException:
            self._jobs, self._events, self._steps, self._boards, self._turns = before
            raise

    def job(self, job: JobId) -> JobRow | None:
        return self._jobs.get(job)

    def job_of_key(self, key_sha256: str) -> JobRow | None:
        rows = (row for row in self._jobs.values() if row.key_sha256 == key_sha256)
        return next(rows, None)

    def jobs_of(self, matter: MatterId, most: int | None) -> list[JobRow]:
        rows = [row for row in self._jobs.values() if row.matter == matter]
        return rows[::-1][:most]

    def waiting(self, board: str) -> list[JobRow]:
        return self._in_state(JobState.WAITING, board)

    def running(self, board: str | None) -> list[JobRow]:
        return self._in_state(JobState.RUNNING, board)

    def ended(self, before_ms: int) -> list[JobId]:
        rows = (row for row in self._jobs.values() if row.state not in _ACTIVE)
        return [row.id for row in rows if row.ended_ms < before_ms]

    def put_job(self, row: JobRow) -> None:
        self._jobs[row.id] = row

    def delete_jobs(self, jobs: list[JobId]) -> None:
        gone = set(jobs)
        for job in gone:
            self._events.pop(job, None)
            self._jobs.pop(job, None)
        self._steps = {key: value for key, value in self._steps.items() if key[0] not in gone}

    def events(self, job: JobId, after: int) -> list[EventRow]:
        return [row for row in self._events.get(job, []) if row.seq > after]

    def add_event(self, job: JobId, row: EventRow) -> None:
        self._events.setdefault(job, []).append(row)

    def step(self, job: JobId, name: str) -> bytes | None:
        return self._steps.get((job, name))

    def put_step(self, job: JobId, name: str, value: bytes) -> None:
        self._steps[(job, name)] = value

    def board(self, name: str) -> BoardRow | None:
        return self._boards.get(name)

    def boards(self) -> list[BoardRow]:
        return sorted(self._boards.values(), key=lambda row: row.name)

    def put_board(self, row: BoardRow) -> None:
        self._boards[row.name] = row

    def last_turns(self, board: str) -> dict[MatterId, int]:
        return {matter: tick for (name, matter), tick in self._turns.items() if name == board}

    def put_turn(self, board: str, matter: MatterId, tick: int) -> None:
        self._turns[(board, matter)] = tick

    def forget_turns(self, matter: MatterId) -> None:
        self._turns = {key: tick for key, tick in self._turns.items() if key[1] != matter}

    def tidy(self) -> None:
        """Nothing to do: there are no side files."""

    def close(self) -> None:
        """Nothing to do."""

    def _in_state(self, state: JobState, board: str | None) -> list[JobRow]:
        rows = (row for row in self._jobs.values() if row.state is state)
        return [row for row in rows if board is None or row.board == board]


class MemoryQueue(Keeper):
    """A queue that lasts as long as the process; its acts run at once on the loop."""

    def __init__(self, clock: Clock, *, make_id: MakeId = new_job_id) -> None:
        super().__init__()
        self._acts = Acts(MemoryStore(), clock, make_id)

    async def close(self) -> None:
        """Nothing to let go of; what it holds stays readable."""

    async def _do(self, act: Callable[[Acts], T]) -> T:
        self._acts.rung.clear()
        result = act(self._acts)
        self._bells.ring(self._acts.rung)
        return result
