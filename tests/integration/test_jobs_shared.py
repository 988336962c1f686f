"""Several boxes on one real PostgreSQL: kill -9, a box that stays away, a frozen one, a server that
crashes. Nothing lost, nothing twice, no gap in the events."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from bench import postgres
from protocol.errors import Damaged, Unavailable
from protocol.events import LAST, Event, Found, Interrupted, Started
from protocol.ids import JobId, MatterId
from protocol.jobs import JobState
from worker.jobs import LEASE_S, JobQueue, LeaseLost, acts, open_shared_queue
from worker.jobs.rows import JobRow
from worker.jobs.testing import HandClock, claimed, done, kinds, new_job

pytestmark = pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing())

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("jobs_worker.py")
PAGES = 4
JOBS = 5
LEASE = "3"
"""Seconds: short enough to wait for, long enough that a living box on a busy machine keeps it."""
MANY = "100"
"""So many kills that the same job may well be hit by several, and none is to be given up."""
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.server() as running:
        yield running


@pytest.fixture
def conninfo(server: postgres.Server) -> str:
    """A fresh database on the server."""
    import psycopg  # noqa: TID251

    name = f"case{next(_NUMBERS)}"
    with psycopg.connect(server.conninfo, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    return server.conninfo.replace("dbname=postgres", f"dbname={name}")


def start(folder: Path, conninfo: str, run: str, kill_at: str, *more: str) -> subprocess.Popen[str]:
    more = more if "--box" in more else (*more, "--box", "one")
    return subprocess.Popen(
        [sys.executable, str(WORKER), str(folder), run, kill_at, "--shared", conninfo, *more],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def ended(worker: subprocess.Popen[str]) -> list[JobId]:
    """Lets a worker run to its end; the ids it accepted."""
    printed, _ = worker.communicate(timeout=120)
    assert worker.returncode == 0
    assert "finished" in printed
    return accepted(printed)


def accepted(printed: str) -> list[JobId]:
    lines = [line.split() for line in printed.splitlines()]
    return [JobId(line[1]) for line in lines if line[0] == "accepted"]


def check(folder: Path, conninfo: str, jobs: list[JobId]) -> Counter[str]:
    """What must hold for every accepted job once all is over; counts of the events by kind."""
    return asyncio.run(_check(folder, conninfo, jobs))


async def _check(folder: Path, conninfo: str, jobs: list[JobId]) -> Counter[str]:
    queue = open_shared_queue(conninfo, box="looker")
    said: Counter[str] = Counter()
    runs = Counter((folder / "effects.txt").read_text().splitlines())
    try:
        for job in jobs:
            info = await queue.job(job)
            pages = 2 if info.kind == "stopme" else PAGES
            assert info.state is (JobState.STOPPED if pages == 2 else JobState.DONE)
            events = await queue.events_since(job, 0)
            assert [event.seq for event in events] == list(range(1, info.last_seq + 1))
            lasts = [isinstance(event.body, LAST) for event in events]
            assert lasts == [False] * (len(events) - 1) + [True]
            for page in range(PAGES):
                kept = {"page": page} if page < pages else None
                assert await queue.remembered(job, f"page-{page}") == kept
            bodies = [event.body for event in events]
            attempts = [body.attempt for body in bodies if isinstance(body, Started)]
            crashes = sum(isinstance(body, Interrupted) for body in bodies)
            assert attempts == sorted(attempts)
            assert attempts[-1] == crashes + 1
            repeated = sum(max(0, runs[f"{job} page-{page}"] - 1) for page in range(pages))
            assert repeated <= crashes  # of each crash the open step alone
            said.update(type(body).__name__ for body in bodies)
    finally:
        await queue.close()
    return said


SCRIPTS = [
    ["add:after#2", "claim:before#1"],
    ["claim:after#1"],
    ["step:before#1"],
    ["step:after#2", "recover:before#1"],
    ["say:before#9", "recover:after#1"],
    ["end:before#1"],
    ["park:after#1"],
    ["end:after#2"],
    ["stop:after#1"],
    ["statement#40", "statement#333", "byte#5"],
]


@pytest.mark.parametrize("kills", SCRIPTS, ids=[" then ".join(script) for script in SCRIPTS])
def test_a_box_killed_at_a_named_point_goes_on_when_it_is_back(
    tmp_path: Path, conninfo: str, kills: list[str]
) -> None:
    for kill_at in kills:
        worker = start(tmp_path, conninfo, "r", kill_at)
        worker.communicate(timeout=120)
        assert worker.returncode == -signal.SIGKILL, "the hook never came by"
    jobs = ended(start(tmp_path, conninfo, "r", "never"))
    assert len(set(jobs)) == JOBS  # keys sent again after each crash made no second job
    said = check(tmp_path, conninfo, jobs)
    assert said["Interrupted"] <= len(kills)


def test_a_box_that_stays_away_is_replaced_once_its_lease_ran_out(
    tmp_path: Path, conninfo: str
) -> None:
    """Both serve the same board; what the dead one ran is begun again by the other."""
    dead = start(tmp_path, conninfo, "r", "byte#5", "--box", "one", "--lease", LEASE)
    printed, _ = dead.communicate(timeout=120)
    assert dead.returncode == -signal.SIGKILL
    jobs = ended(start(tmp_path, conninfo, "r", "never", "--box", "two", "--lease", LEASE))
    assert set(accepted(printed)) <= set(jobs)
    said = check(tmp_path, conninfo, jobs)
    assert said["Interrupted"] >= 1


def test_two_boxes_killed_at_random_while_both_work(tmp_path: Path, conninfo: str) -> None:
    chance = random.Random(20261130)
    jobs: set[JobId] = set()
    for turn in range(4):
        pair = [
            start(
                tmp_path,
                conninfo,
                f"{box}{turn}",
                f"any#{chance.randrange(20, 120)}",
                *("--box", box, "--lease", LEASE, "--crashes", MANY),
            )
            for box in ("one", "two")
        ]
        for worker in pair:
            printed, _ = worker.communicate(timeout=120)
            jobs.update(accepted(printed))
    last = start(tmp_path, conninfo, "last", "never", "--lease", LEASE, "--crashes", MANY)
    jobs.update(ended(last))
    check(tmp_path, conninfo, sorted(jobs))


def test_a_frozen_box_is_fenced_off_when_it_wakes(tmp_path: Path, conninfo: str) -> None:
    frozen = start(tmp_path, conninfo, "r", "never", "--box", "one", "--lease", LEASE)
    assert frozen.stdout is not None
    printed = [frozen.stdout.readline() for _ in range(10)]
    frozen.send_signal(signal.SIGSTOP)
    jobs = ended(start(tmp_path, conninfo, "r", "never", "--box", "two", "--lease", LEASE))
    frozen.send_signal(signal.SIGCONT)
    rest, _ = frozen.communicate(timeout=60)
    assert frozen.returncode == 0
    jobs = sorted({*jobs, *accepted("".join(printed) + rest)})
    assert len(jobs) == JOBS
    said = check(tmp_path, conninfo, jobs)
    assert said["Interrupted"] >= 1


async def test_a_server_that_crashes_is_waited_for(server: postgres.Server, conninfo: str) -> None:
    queue = open_shared_queue(conninfo, box="one")
    other = open_shared_queue(conninfo, box="two")
    job = await queue.add(new_job())
    lease = await claimed(queue)
    follower = asyncio.create_task(other.wait_event(job.id, job.last_seq + 1))
    server.stop(kill=True)
    try:
        with pytest.raises(Unavailable) as said:
            await queue.say(lease, Found(passages=1, documents=1))
        assert conninfo not in str(said.value)
    finally:
        server.start()
    await queue.say(lease, Found(passages=1, documents=1))
    async with asyncio.timeout(60):
        while not follower.done():  # its listener may have been away: then it looks for itself
            await asyncio.wait([follower], timeout=0.1)
        if follower.exception() is not None:
            follower = asyncio.create_task(other.wait_event(job.id, job.last_seq + 1))
        assert isinstance((await follower)[0].body, Found)
    await queue.end(lease, done())
    assert await kinds(other, job.id) == ["Queued", "Started", "Found", "Completed"]
    await queue.close()
    await other.close()


async def test_another_box_is_woken_by_what_this_one_does(conninfo: str) -> None:
    one = open_shared_queue(conninfo, box="one")
    two = open_shared_queue(conninfo, box="two")
    turn = asyncio.create_task(two.wait_turn("A"))
    await asyncio.sleep(0)
    await two.boards()  # its acts follow one another: it has looked, found nothing and waits
    assert not turn.done()
    job = await one.add(new_job())
    async with asyncio.timeout(60):
        await turn
        lease = await claimed(two)
        assert lease.owner == "two:w-1"
        stopping = asyncio.create_task(two.wait_stop(lease))
        await one.stop(job.id)
        await stopping
    await one.close()
    await two.close()


async def test_a_restart_takes_back_its_own_jobs_and_leaves_those_of_others(conninfo: str) -> None:
    one = open_shared_queue(conninfo, box="one")
    two = open_shared_queue(conninfo, box="two")
    mine = await one.add(new_job(board="one.A"))
    theirs = await one.add(new_job(board="two.A"))
    old = await claimed(one, board="one.A")
    kept = await claimed(two, board="two.A")
    await one.close()
    one = open_shared_queue(conninfo, box="one")
    assert await one.recover(starting=True) == (mine.id,)
    assert (await one.job(theirs.id)).state is JobState.RUNNING
    await two.say(kept, Found(passages=1, documents=1))
    with pytest.raises(LeaseLost):
        await one.say(old, Found(passages=1, documents=1))
    await one.close()
    await two.close()


async def test_many_acts_of_two_boxes_at_once_leave_no_gap_and_no_ring_of_locks(
    conninfo: str,
) -> None:
    """Adds, claims, words, stops, removals and recoveries crossing each other on few rows."""
    boxes = [open_shared_queue(conninfo, box=name) for name in ("one", "two")]
    for queue in boxes:
        await queue.set_places("A", 3)
    added: list[JobId] = []
    over = Counter[str]()

    async def adds(queue: JobQueue, name: str) -> None:
        for number in range(25):
            matter = f"M-AAA{number % 5}"
            added.append((await queue.add(new_job(matter, key=f"{name}{number}"))).id)

    async def works(queue: JobQueue, number: int) -> None:
        while sum(over.values()) < 50:
            lease = await queue.claim("A", f"w-{number}")
            if lease is None:
                await asyncio.sleep(0.005)
                continue
            for _ in range(4):
                await queue.say(lease, Found(passages=1, documents=1))
            if number == 0 and lease.attempt == 1:
                await queue.park(lease)
                continue
            await queue.step(lease, "one", {"n": 1})
            await queue.beat(lease)
            await queue.end(lease, done())
            over[lease.job] += 1

    async def disturbs(queue: JobQueue) -> None:
        while sum(over.values()) < 50:
            await queue.recover()
            await queue.jobs(MatterId("M-AAA1"))
            await queue.boards()
            await queue.pause("A")
            await queue.resume("A")

    async with asyncio.timeout(90):
        await asyncio.gather(
            adds(boxes[0], "x"),
            adds(boxes[1], "y"),
            *(works(boxes[number % 2], number) for number in range(4)),
            disturbs(boxes[0]),
        )
    assert set(over) == set(added)
    assert set(over.values()) == {1}
    for job in added:
        names = await kinds(boxes[1], job)
        assert names.count("Completed") == 1
    gone = await boxes[0].close_matter(MatterId("M-AAA0"))
    assert gone == ()
    assert await boxes[1].jobs(MatterId("M-AAA0")) == ()
    for queue in boxes:
        await queue.close()


async def test_what_a_recovery_has_read_stays_as_it_is_until_it_has_written(conninfo: str) -> None:
    """A word said between the two would take the number of the recovery's own event."""
    import psycopg  # noqa: TID251

    from worker.jobs.shared import SharedQueue

    clock = HandClock()
    one = SharedQueue.open(conninfo, clock, box="one")
    two = SharedQueue.open(conninfo, clock, box="two")
    job = await one.add(new_job())
    lease = await claimed(one)
    clock.pass_s(LEASE_S + 1)
    loop = asyncio.get_running_loop()
    saying: list[Future[Event]] = []
    read = two._store.running

    def running(board: str | None) -> list[JobRow]:
        rows = read(board)
        word = one.say(lease, Found(passages=1, documents=1))
        saying.append(asyncio.run_coroutine_threadsafe(word, loop))
        waits = (
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%job%'"
        )
        with psycopg.connect(conninfo, autocommit=True) as db:
            while not saying[0].done() and db.execute(waits).fetchone() is None:
                pass  # it is on its way; the test run's own deadline is the end of this
        return rows

    two._store.running = running  # type: ignore[method-assign]
    assert await two.recover() == (job.id,)
    with pytest.raises(LeaseLost):
        await asyncio.wrap_future(saying[0])
    assert await kinds(one, job.id) == ["Queued", "Started", "Interrupted", "Queued"]
    await one.close()
    await two.close()


async def test_a_schema_that_is_not_ours_is_refused_and_left_alone(conninfo: str) -> None:
    import psycopg  # noqa: TID251

    with psycopg.connect(conninfo, autocommit=True) as db:
        db.execute("CREATE SCHEMA secondchair")
        db.execute("CREATE TABLE secondchair.job (words text)")
        with pytest.raises(Damaged):
            open_shared_queue(conninfo, box="one")
        count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'secondchair'"
        assert db.execute(count).fetchone() == (1,)
        db.execute("DROP SCHEMA secondchair CASCADE")
    queue = open_shared_queue(conninfo, box="one")
    await queue.close()
    with psycopg.connect(conninfo, autocommit=True) as db:
        db.execute("UPDATE secondchair.version SET number = 2")
    with pytest.raises(Damaged):
        open_shared_queue(conninfo, box="one")


def test_a_server_that_is_not_there_is_unavailable_and_its_secret_is_in_no_error() -> None:
    with pytest.raises(Unavailable) as said:
        open_shared_queue("host=/nowhere user=u password=zebrastein", box="one")
    assert "zebrastein" not in str(said.value)


async def test_it_leaves_no_thread_behind(conninfo: str) -> None:
    before = threading.active_count()
    queue = open_shared_queue(conninfo, box="one")
    await queue.boards()
    await queue.close()
    await queue.close()
    # The loop's own pool may keep the one thread in which the listener was waited for.
    assert threading.active_count() <= before + 1
    assert "jobs-listen" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ValueError, match="closed"):
        await queue.boards()


def test_the_acts_that_lock_one_row_touch_one_job(conninfo: str) -> None:
    """The store tells acts apart by name; a new act is of the careful kind until it is listed."""
    from worker.jobs.shared_store import OF_ONE_JOB

    text = Path(acts.__file__).read_text("utf-8")
    for name in OF_ONE_JOB:
        body = text.partition(f'transaction("{name}")')[2].partition("\n    def ")[0]
        assert body
        assert "_tell_places" not in body
        assert "_end(" not in body
        assert "_wait_again(" not in body
        assert "self._held(lease)" in body
