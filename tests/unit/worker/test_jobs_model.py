"""Any sequence of acts, tried on both keepers at once against a small model of the promise.

The model knows states, holders and remembered steps; what it does not predict (turn, ETA) must be
the same in both keepers. After every act: no gap in the events, one end at most, places 1 to n.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from protocol.errors import Conflict, ErrorValue
from protocol.events import LAST, Completed, Event, Failed, Found, Progress, Stage, Stopped
from protocol.ids import JobId, MatterId, UserName
from protocol.jobs import Job, JobState
from worker.jobs import (
    LEASE_S,
    MOST_CRASHES,
    JobQueue,
    Lease,
    LeaseLost,
    NewJob,
    StopAsked,
)
from worker.jobs.durable import DurableQueue
from worker.jobs.memory import MemoryQueue

T = TypeVar("T")

MATTERS = ("M-AAAA", "M-BBBB", "M-CCCC")
BOARDS = ("a", "b")
OWNERS = ("w-1", "w-2")
ENDED = {JobState.DONE, JobState.FAILED, JobState.STOPPED}
DONE = Completed(answer_sha256="a" * 64, verified=0, to_look_at=0, failing=0)
FAILED = Failed(error=ErrorValue(code="unavailable", message=""))


class Known:
    """What the model knows of one job."""

    def __init__(self, job: JobId, new: NewJob) -> None:
        self.job, self.new = job, new
        self.state = JobState.WAITING
        self.stop_asked = False
        self.crashes = 0
        self.crashes_ever = 0
        self.turns_before = 0
        self.lease: Lease | None = None
        self.beaten_at = dt.datetime.min.replace(tzinfo=dt.UTC)
        self.steps: dict[str, dict[str, Any]] = {}


class Queues(RuleBasedStateMachine):
    """Two keepers side by side, one of them in a file that is closed and opened by crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="secondchair-test-"))
        self.now = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
        self.loop = asyncio.new_event_loop()
        self.memory: JobQueue = MemoryQueue(self.clock, make_id=self.make_id)
        self.durable: JobQueue = self.opened()
        self.known: dict[JobId, Known] = {}
        self.old_leases: list[Lease] = []
        self.paused: set[str] = set()
        self.places = dict.fromkeys(BOARDS, 1)
        self.turns: dict[str, list[str]] = {board: [] for board in BOARDS}
        numbers = itertools.count(1)
        self.next_id = JobId("")
        self._made = (JobId(f"J-000000000-{number:04}") for number in numbers)

    def clock(self) -> dt.datetime:
        return self.now

    def make_id(self, now_ms: int) -> JobId:
        return self.next_id

    def opened(self) -> DurableQueue:
        path = self.folder / "queue.sqlite"
        return DurableQueue.open(path, self.clock, make_id=self.make_id)

    def teardown(self) -> None:
        self.loop.run_until_complete(self.durable.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    def both(self, act: Callable[[JobQueue], Awaitable[T]]) -> T:
        """Does the act on both keepers; gives the common result, raises the common error."""
        results: list[Any] = []  # values, or classes of errors
        for queue in (self.memory, self.durable):

            async def run(queue: JobQueue = queue) -> T:
                return await act(queue)

            try:
                results.append(self.loop.run_until_complete(run()))
            except (LeaseLost, StopAsked, Conflict) as error:
                results.append(type(error))
        assert results[0] == results[1]
        if isinstance(results[0], type):
            raise results[0]("as both said")
        return cast("T", results[0])

    # --- choosing ---

    def pick(self, number: int, *states: JobState) -> Known | None:
        fits = [known for known in self.known.values() if known.state in states]
        return fits[number % len(fits)] if fits else None

    # --- rules ---

    @rule(
        matter=st.sampled_from(MATTERS),
        board=st.sampled_from(BOARDS),
        weight_s=st.integers(0, 400),
        key=st.integers(0, 30),
        request=st.integers(0, 2),
    )
    def add(self, matter: str, board: str, weight_s: int, key: int, request: int) -> None:
        new = NewJob(
            matter=MatterId(matter),
            kind="ask",
            user=UserName("you"),
            board=board,
            weight_s=float(weight_s),
            key=f"k{key}",
            request_sha256=f"{request:064x}",
        )
        self.next_id = next(self._made)  # both keepers make the same id
        twin = next((known for known in self.known.values() if known.new.key == new.key), None)
        try:
            job = self.both(lambda queue: queue.add(new))
        except Conflict:
            assert twin is not None
            same = (twin.new.matter, twin.new.request_sha256)
            assert same != (new.matter, new.request_sha256)
            return
        if twin is not None:
            assert job.id == twin.job
        else:
            assert job.state is JobState.WAITING
            self.known[job.id] = Known(job.id, new)
            self.known[job.id].turns_before = len(self.turns[board])

    @rule(board=st.sampled_from(BOARDS), owner=st.sampled_from(OWNERS))
    def claim(self, board: str, owner: str) -> None:
        lease = self.both(lambda queue: queue.claim(board, owner))
        waiting = [k for k in self.on(board) if k.state is JobState.WAITING]
        running = [k for k in self.on(board) if k.state is JobState.RUNNING]
        free = board not in self.paused and len(running) < self.places[board]
        assert (lease is not None) == bool(waiting and free)
        if lease is not None:
            known = self.known[lease.job]
            assert known in waiting
            assert lease.attempt == known.crashes_ever + 1
            self.nobody_is_passed_over(known)
            known.state, known.lease, known.beaten_at = JobState.RUNNING, lease, self.now

    @rule(number=st.integers(0, 99), name=st.sampled_from(["one", "two", "three"]))
    def step(self, number: int, name: str) -> None:
        known = self.pick(number, JobState.RUNNING)
        if known is None:
            return
        value = {"at": number}
        try:
            self.both(lambda queue: queue.step(known.lease, name, value))  # type: ignore[arg-type]
        except StopAsked:
            assert known.stop_asked
            return
        assert not known.stop_asked
        if name not in known.steps:
            known.crashes = 0
        known.steps[name] = value

    @rule(number=st.integers(0, 99), eta_s=st.one_of(st.none(), st.integers(0, 100)))
    def say(self, number: int, eta_s: int | None) -> None:
        known = self.pick(number, JobState.RUNNING)
        if known is None:
            return
        body = (
            Found(passages=number, documents=1)
            if eta_s is None
            else Progress(stage=Stage.READING, done=1, total=2, eta_s=float(eta_s))
        )
        event = self.both(lambda queue: queue.say(known.lease, body))  # type: ignore[arg-type]
        assert event.body == body

    @rule(number=st.integers(0, 99))
    def stop(self, number: int) -> None:
        known = self.pick(number, *JobState)
        if known is None:
            return
        job = self.both(lambda queue: queue.stop(known.job))
        if known.state is JobState.WAITING:
            known.state = JobState.STOPPED
        elif known.state is JobState.RUNNING:
            known.stop_asked = True
        assert job.state is known.state

    @rule(number=st.integers(0, 99), rest_s=st.one_of(st.none(), st.integers(0, 300)))
    def park(self, number: int, rest_s: int | None) -> None:
        known = self.pick(number, JobState.RUNNING)
        if known is None:
            return
        rest = None if rest_s is None else float(rest_s)
        board = known.new.board
        gives_way = self.both(lambda queue: queue.gives_way(known.lease, rest))  # type: ignore[arg-type]
        self.both(lambda queue: queue.park(known.lease, rest))  # type: ignore[arg-type]
        self.lose(known, JobState.STOPPED if known.stop_asked else JobState.WAITING)
        if gives_way and not known.stop_asked:
            first = self.both(lambda queue: self.first_in_line(queue, board))
            assert first != known.job

    async def first_in_line(self, queue: JobQueue, board: str) -> JobId | None:
        for known in self.on(board):
            if (await queue.job(known.job)).place == 1:
                return known.job
        return None

    @rule(number=st.integers(0, 99), body=st.sampled_from([DONE, FAILED, Stopped()]))
    def end(self, number: int, body: Completed | Failed | Stopped) -> None:
        known = self.pick(number, JobState.RUNNING)
        if known is None:
            return
        try:
            job = self.both(lambda queue: queue.end(known.lease, body))  # type: ignore[arg-type]
        except StopAsked:
            assert known.stop_asked
            assert body is DONE
            return
        assert not (known.stop_asked and body is DONE)
        self.lose(known, job.state)

    @rule(seconds=st.sampled_from([0.5, 2.0, LEASE_S, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)

    @rule(number=st.integers(0, 99))
    def beat(self, number: int) -> None:
        known = self.pick(number, JobState.RUNNING)
        if known is None:
            return
        asked = self.both(lambda queue: queue.beat(known.lease))  # type: ignore[arg-type]
        assert asked == known.stop_asked
        known.beaten_at = self.now

    @rule()
    def leases_run_out(self) -> None:
        gone = self.both(lambda queue: queue.recover())
        late = self.now - dt.timedelta(seconds=LEASE_S)
        self.recovered(gone, [k for k in self.running() if k.beaten_at <= late])

    @rule()
    def crash(self) -> None:
        """The worker is killed and a new one starts: the file is opened again, all rows recover."""
        self.loop.run_until_complete(self.durable.close())
        self.durable = self.opened()
        gone = self.both(lambda queue: queue.recover(starting=True))
        self.recovered(gone, self.running())

    def recovered(self, gone: tuple[JobId, ...], expected: list[Known]) -> None:
        assert set(gone) == {known.job for known in expected}
        for known in expected:
            if known.stop_asked:
                self.lose(known, JobState.STOPPED)
            elif known.crashes >= MOST_CRASHES:
                self.lose(known, JobState.FAILED)
            else:
                known.crashes += 1
                known.crashes_ever += 1
                self.lose(known, JobState.WAITING)

    @rule(board=st.sampled_from(BOARDS))
    def pause_or_resume(self, board: str) -> None:
        if board in self.paused:
            self.paused.remove(board)
            self.both(lambda queue: queue.resume(board))
        else:
            self.paused.add(board)
            self.both(lambda queue: queue.pause(board))

    @rule(board=st.sampled_from(BOARDS), places=st.integers(1, 3))
    def set_places(self, board: str, places: int) -> None:
        self.places[board] = places
        self.both(lambda queue: queue.set_places(board, places))

    @rule(number=st.integers(0, 99))
    def a_thawed_worker_writes(self, number: int) -> None:
        if not self.old_leases:
            return
        lease = self.old_leases[number % len(self.old_leases)]
        for act in (
            lambda queue: queue.step(lease, "late", {}),
            lambda queue: queue.say(lease, Found(passages=0, documents=0)),
            lambda queue: queue.end(lease, DONE),
            lambda queue: queue.park(lease),
            lambda queue: queue.beat(lease),
        ):
            try:
                self.both(act)
            except LeaseLost:
                continue
            raise AssertionError("an old lease still wrote")

    @rule()
    def sweep(self) -> None:
        edge = self.now - dt.timedelta(seconds=50)
        before = len(self.known)
        swept = self.both(lambda queue: queue.sweep(edge))
        left = {job.id for matter in MATTERS for job in self.jobs_of(matter)}
        gone = [known for known in self.known.values() if known.job not in left]
        assert all(known.state in ENDED for known in gone)
        assert len(gone) == swept
        self.forget(gone)
        assert len(self.known) == before - swept

    @rule(matter=st.sampled_from(MATTERS))
    def close_matter(self, matter: str) -> None:
        running = self.both(lambda queue: queue.close_matter(MatterId(matter)))
        mine = [known for known in self.known.values() if known.new.matter == matter]
        assert set(running) == {k.job for k in mine if k.state is JobState.RUNNING}
        self.forget(mine)
        for board, turns in self.turns.items():
            self.turns[board] = ["" if turn == matter else turn for turn in turns]

    # --- looking ---

    def job(self, known: Known) -> Job:
        return self.both(lambda queue: queue.job(known.job))

    def jobs_of(self, matter: str) -> tuple[Job, ...]:
        return self.both(lambda queue: queue.jobs(MatterId(matter), 10_000))

    def events(self, known: Known) -> tuple[Event, ...]:
        return self.both(lambda queue: queue.events_since(known.job, 0))

    def remembered(self, known: Known, name: str) -> dict[str, Any] | None:
        return self.both(lambda queue: queue.remembered(known.job, name))

    # --- parts of the model ---

    def nobody_is_passed_over(self, chosen: Known) -> None:
        """No matter gets two turns while another waits."""
        turns = self.turns[chosen.new.board]
        matter = chosen.new.matter
        if matter in turns:
            last = len(turns) - 1 - turns[::-1].index(matter)
            since = turns[last:]
            for other in self.on(chosen.new.board):
                if other.state is JobState.WAITING and other.turns_before <= last:
                    assert other.new.matter in since
        turns.append(matter)

    def on(self, board: str) -> list[Known]:
        return [known for known in self.known.values() if known.new.board == board]

    def running(self) -> list[Known]:
        return [known for known in self.known.values() if known.state is JobState.RUNNING]

    def lose(self, known: Known, state: JobState) -> None:
        if known.lease is not None:
            self.old_leases.append(known.lease)
        known.state, known.lease = state, None

    def forget(self, gone: list[Known]) -> None:
        for known in gone:
            if known.lease is not None:
                self.old_leases.append(known.lease)
            del self.known[known.job]

    # --- what always holds ---

    @invariant()
    def every_job_is_as_the_model_says(self) -> None:
        for known in self.known.values():
            job = self.job(known)
            assert job.state is known.state
            events = self.events(known)
            assert [event.seq for event in events] == list(range(1, job.last_seq + 1))
            last = [isinstance(event.body, LAST) for event in events]
            assert last[-1] == (known.state in ENDED)
            assert not any(last[:-1])
            for name, value in known.steps.items():
                assert self.remembered(known, name) == value

    @invariant()
    def places_count_from_one(self) -> None:
        for board in BOARDS:
            places = sorted(
                self.job(known).place or 0
                for known in self.on(board)
                if known.state is JobState.WAITING
            )
            assert places == list(range(1, len(places) + 1))

    @invariant()
    def boards_are_listed_alike(self) -> None:
        self.both(lambda queue: queue.boards())


Queues.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestQueues = Queues.TestCase
