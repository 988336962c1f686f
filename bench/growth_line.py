"""Lines before boards, simulated: arrivals in, waiting times out. No clock, no chance, no office.

Whose turn it is, and whether a running job gives way, is decided by `worker.jobs.turn`, the very
functions that the queue uses; `tests/unit/bench` holds this line against the real queue job by
job, and against the closed forms of M/M/1 and M/M/c.
"""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from protocol.ids import JobId, MatterId
from worker.jobs import turn


@dataclass(frozen=True)
class Step:
    """A part of a job that cannot be interrupted."""

    cold_s: float
    """Seconds when the engine must read the whole prompt."""
    warm_s: float
    """Seconds when it still holds the head of the prompt."""
    head: str = ""
    """Names the head; empty: nothing that could be held."""


@dataclass(frozen=True)
class Arrival:
    """A job as it comes."""

    job: str
    at_s: float
    kind: str
    matter: str
    weight_s: float
    """What the queue is told it will take."""
    steps: tuple[Step, ...]
    tells_rest: bool = False
    """Whether it says what it has left between steps; else it stands by its weight, as the
    worker's jobs do today."""


@dataclass
class Outcome:
    """What became of a job."""

    kind: str
    board: int
    wait_s: float
    """From its arrival to its first start."""
    end_s: float = 0.0
    """From its arrival to its end; 0 while it has not ended."""
    parked: int = 0


@dataclass
class _Job:
    arrival: Arrival
    arrived: int
    done: int = 0

    @property
    def rest_s(self) -> float:
        """What it says it has left when it might give way."""
        if not self.arrival.tells_rest:
            return self.arrival.weight_s
        return self.arrival.weight_s * (1 - self.done / len(self.arrival.steps))


@dataclass
class Board:
    """One board with its line. ``heads`` is how many heads of prompts the engine can hold."""

    places: int = 1
    heads: int = 4
    ticks: int = 0
    busy_s: float = 0.0
    running: dict[str, tuple[_Job, float]] = field(default_factory=dict)
    """Job to (job, when its weight says it should end)."""
    waiting: dict[str, tuple[_Job, turn.Waiting]] = field(default_factory=dict)
    last_turn: dict[MatterId, int] = field(default_factory=dict)
    held: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def tick(self) -> int:
        self.ticks += 1
        return self.ticks

    def backlog_s(self, now_s: float) -> float:
        """Seconds of work before somebody who came now, by the weights. A job that has outlasted
        its weight counts as a second: a board with a free place always goes before a busy one."""
        rests = sum(max(1.0, ends - now_s) for _, ends in self.running.values())
        ahead = sum(row.weight_s for _, row in self.waiting.values())
        free = len(self.running) < self.places
        return 0.0 if free and not ahead else (rests + ahead) / self.places


def simulate(arrivals: Sequence[Arrival], boards: Sequence[Board]) -> dict[str, Outcome]:
    """Runs every job to its end.

    A job goes to the board that holds the head of its prompt if the wait there is no longer than
    what reading the head again would cost, else to the one with the shortest line.

    Returns:
        Job to outcome, in the order in which the jobs first got a board.
    """
    return _Simulation(boards).run(arrivals)


class _Simulation:
    def __init__(self, boards: Sequence[Board]) -> None:
        self._boards = boards
        self._outcomes: dict[str, Outcome] = {}
        self._later: list[tuple[float, int, int, str]] = []
        self._order = itertools.count()

    def run(self, arrivals: Sequence[Arrival]) -> dict[str, Outcome]:
        coming = sorted(arrivals, key=lambda arrival: arrival.at_s)
        at = 0
        while at < len(coming) or self._later:
            if self._later and (at == len(coming) or self._later[0][0] <= coming[at].at_s):
                now_s, _, number, job = heapq.heappop(self._later)
                self._step_ended(self._boards[number], number, job, now_s)
            else:
                self._arrives(coming[at])
                at += 1
        return self._outcomes

    def _arrives(self, arrival: Arrival) -> None:
        number = self._choose(arrival)
        board = self._boards[number]
        job = _Job(arrival, board.tick())
        self._wait(board, job, arrival.weight_s, arrival.at_s)
        self._fill(board, number, arrival.at_s)

    def _choose(self, arrival: Arrival) -> int:
        waits = [board.backlog_s(arrival.at_s) for board in self._boards]
        best = min(range(len(waits)), key=lambda number: (waits[number], number))
        first = arrival.steps[0]
        for number, board in enumerate(self._boards):
            saved = first.cold_s - first.warm_s
            if first.head and first.head in board.held and waits[number] <= waits[best] + saved:
                return number
        return best

    def _wait(self, board: Board, job: _Job, weight_s: float, now_s: float) -> None:
        row = turn.Waiting(
            job=JobId(job.arrival.job),
            matter=MatterId(job.arrival.matter),
            weight_s=weight_s,
            arrived=job.arrived,
            since_ms=int(now_s * 1000),
        )
        board.waiting[job.arrival.job] = (job, row)

    def _fill(self, board: Board, number: int, now_s: float) -> None:
        while board.waiting and len(board.running) < board.places:
            rows = [row for _, row in board.waiting.values()]
            chosen = next(turn.turns(rows, board.last_turn, int(now_s * 1000)))
            job, row = board.waiting.pop(chosen.job)
            board.last_turn[chosen.matter] = board.tick()
            if job.arrival.job not in self._outcomes:
                wait_s = now_s - job.arrival.at_s
                self._outcomes[chosen.job] = Outcome(job.arrival.kind, number, wait_s)
            board.running[chosen.job] = (job, now_s + row.weight_s)
            self._begin_step(board, number, job, now_s)

    def _begin_step(self, board: Board, number: int, job: _Job, now_s: float) -> None:
        step = job.arrival.steps[job.done]
        takes_s = step.warm_s if step.head in board.held else step.cold_s
        if step.head and board.heads:
            board.held[step.head] = None
            board.held.move_to_end(step.head)
            while len(board.held) > board.heads:
                board.held.popitem(last=False)
        board.busy_s += takes_s
        ends_s = now_s + takes_s
        heapq.heappush(self._later, (ends_s, next(self._order), number, job.arrival.job))

    def _step_ended(self, board: Board, number: int, name: str, now_s: float) -> None:
        job, _ = board.running[name]
        job.done += 1
        if job.done == len(job.arrival.steps):
            del board.running[name]
            self._outcomes[name].end_s = now_s - job.arrival.at_s
            self._fill(board, number, now_s)
        elif self._gives_way(board, job, now_s):
            del board.running[name]
            self._outcomes[name].parked += 1
            self._wait(board, job, job.rest_s, now_s)
            self._fill(board, number, now_s)
        else:
            self._begin_step(board, number, job, now_s)

    def _gives_way(self, board: Board, job: _Job, now_s: float) -> bool:
        if len(board.running) < board.places or not board.waiting:
            return False
        now_ms = int(now_s * 1000)
        as_waiting = turn.Waiting(
            job=JobId(job.arrival.job),
            matter=MatterId(job.arrival.matter),
            weight_s=job.rest_s,
            arrived=job.arrived,
            since_ms=now_ms,
        )
        rows = [row for _, row in board.waiting.values()]
        return turn.gives_way(as_waiting, rows, board.last_turn, now_ms)
