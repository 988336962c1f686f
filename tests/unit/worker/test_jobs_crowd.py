"""Acts that came together share one commit; each has its own outcome, none is half done."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.errors import Conflict, NotFound, Unavailable
from protocol.events import Queued, Words
from protocol.ids import JobId, MatterId
from worker.jobs import NewJob
from worker.jobs.acts import Acts
from worker.jobs.durable import DurableQueue
from worker.jobs.testing import HandClock, new_job

clock = HandClock()
LONG_S = 60.0


def new(key: str, request: str = "a", matter: str = "M-7F3K") -> NewJob:
    return new_job(key=key, request=request, board="a", matter=matter)


class Held:
    """A queue whose thread stands until it is let go, so that what is asked meanwhile crowds."""

    def __init__(self, queue: DurableQueue) -> None:
        self.queue = queue
        self.traced: list[str] = []
        self._go = threading.Event()
        self._stands = threading.Event()

    async def hold(self) -> asyncio.Task[None]:
        def stand(acts: Acts) -> None:
            self.queue._store._db.set_trace_callback(self.traced.append)
            self._stands.set()
            assert self._go.wait(LONG_S)

        task = asyncio.create_task(self.queue._do(stand))
        await asyncio.to_thread(self._stands.wait, LONG_S)
        return task

    def go(self) -> None:
        self._go.set()

    async def done(self) -> None:
        await self.queue._do(lambda acts: self.queue._store._db.set_trace_callback(None))

    @property
    def commits(self) -> int:
        return self.traced.count("COMMIT")


@pytest.fixture
async def held(tmp_path: Path):
    queue = DurableQueue.open(tmp_path / "queue.sqlite", clock)
    made = Held(queue)
    yield made
    made.go()
    await queue.close()


async def crowd(held: Held, *asked: Callable[[], object]) -> list[object]:
    """What came of calls that were all made while the thread stood."""
    standing = await held.hold()
    tasks = [asyncio.ensure_future(ask()) for ask in asked]  # type: ignore[arg-type]
    await asyncio.sleep(0)
    held.go()
    await standing
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await held.done()
    return outcomes


async def test_what_came_together_is_committed_with_one_sync(held):
    queue = held.queue
    jobs = await crowd(held, *(lambda n=n: queue.add(new(f"k{n}")) for n in range(20)))
    assert held.commits == 1
    assert [job.place for job in jobs] == list(range(1, 21))
    assert [job.id for job in await queue.jobs(MatterId("M-7F3K"))] == [j.id for j in jobs][::-1]


async def test_one_that_is_refused_takes_nothing_of_the_others_with_it(held):
    queue = held.queue
    first, refused, absent, last = await crowd(
        held,
        lambda: queue.add(new("k")),
        lambda: queue.add(new("k", request="another")),
        lambda: queue.job(JobId("J-0DV3K9Q2A-0000")),
        lambda: queue.add(new("l")),
    )
    assert isinstance(refused, Conflict)
    assert isinstance(absent, NotFound)
    assert (first.place, last.place) == (1, 2)
    assert held.commits == 1
    [event] = await queue.events_since(first.id, 0)
    assert event.body == Queued(place=1, eta_s=event.body.eta_s)


async def test_one_that_fails_halfway_leaves_nothing_and_rings_nobody(held):
    queue = held.queue

    def half(acts: Acts) -> None:
        with acts._store.transaction("half"):
            acts.rung.add("a bell")
            acts._store._db.execute("UPDATE job SET reason = 'half'")
            raise ValueError("a mistake of ours")

    with queue._bells.listen("a bell") as bell:
        job, failed, other = await crowd(
            held, lambda: queue.add(new("k")), lambda: queue._do(half), lambda: queue.add(new("l"))
        )
        assert not bell.is_set()
    assert isinstance(failed, ValueError)
    assert (await queue.job(job.id)).reason == (await queue.job(other.id)).reason == ""


async def test_an_outcome_is_told_only_after_the_commit(tmp_path: Path):
    """A reader of the file itself sees everything that somebody was told."""
    path = tmp_path / "queue.sqlite"
    queue = DurableQueue.open(path, clock)
    job = await queue.add(new("k"))
    lease = await queue.claim("a", "w-1")
    assert lease is not None

    async def say(part: int) -> None:
        said = await queue.say(lease, Words(part=part))
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as reader:
            asked = "SELECT max(seq) FROM event WHERE job = ?"
            assert reader.execute(asked, (job.id,)).fetchone()[0] >= said.seq
        reader.close()

    await asyncio.gather(*(say(part) for part in range(60)))
    events = await queue.events_since(job.id, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    await queue.close()


async def test_when_the_disk_takes_all_back_each_is_tried_alone(held):
    """As SQLite does when the disk is full: the whole transaction is gone, not a part of it."""
    queue = held.queue

    def full(acts: Acts) -> None:
        with acts._store.transaction("full"):
            acts._store._db.execute("ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")

    first, failed, last = await crowd(
        held, lambda: queue.add(new("k")), lambda: queue._do(full), lambda: queue.add(new("l"))
    )
    assert isinstance(failed, Unavailable)
    assert (await queue.job(first.id), await queue.job(last.id)) == (first, last)
    assert len(await queue.jobs(MatterId("M-7F3K"))) == 2


async def test_a_closed_matter_is_gone_from_the_file_though_it_came_in_a_crowd(held, tmp_path):
    queue = held.queue
    job, _, other = await crowd(
        held,
        lambda: queue.add(new("k", matter="M-G0NE")),
        lambda: queue.close_matter(MatterId("M-G0NE")),
        lambda: queue.add(new("l")),
    )
    with pytest.raises(NotFound):
        await queue.job(job.id)
    assert (await queue.job(other.id)).matter == "M-7F3K"
    assert "wal_checkpoint" in " ".join(held.traced)
    left = b"".join(path.read_bytes() for path in tmp_path.glob("queue.sqlite*"))
    assert b"M-G0NE" not in left


async def test_one_taken_back_before_it_began_does_nothing(held):
    queue = held.queue
    standing = await held.hold()
    kept = asyncio.ensure_future(queue.add(new("k")))
    left = asyncio.ensure_future(queue.add(new("l")))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.sleep(0)
    held.go()
    await standing
    assert (await kept).place == 1
    with pytest.raises(asyncio.CancelledError):
        await left
    assert len(await queue.jobs(MatterId("M-7F3K"))) == 1
