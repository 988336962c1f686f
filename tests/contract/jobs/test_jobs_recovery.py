"""Crashes, leases that run out, workers that froze. Over every keeper."""

from __future__ import annotations

import pytest

from protocol.events import (
    EngineLost,
    Failed,
)
from protocol.jobs import JobState
from worker.jobs import (
    LEASE_S,
    MOST_CRASHES,
    JobQueue,
    LeaseLost,
)
from worker.jobs.testing import HandClock, claimed, done, kinds, new_job

BOARD = "A"


# --- crashes and leases ---


async def test_an_interrupted_job_waits_again_and_says_so(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    await claimed(queue)
    assert await queue.recover(starting=True) == (job.id,)
    assert (await claimed(queue, "w-2")).attempt == 2
    assert await kinds(queue, job.id) == ["Queued", "Started", "Interrupted", "Queued", "Started"]


async def test_a_lease_that_is_beaten_is_not_recovered(queue: JobQueue, clock: HandClock) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    for _ in range(5):
        clock.pass_s(LEASE_S * 0.9)
        await queue.beat(lease)
        assert await queue.recover() == ()
    clock.pass_s(LEASE_S)
    assert await queue.recover() == (job.id,)


async def test_a_worker_that_froze_is_refused_when_it_wakes(
    queue: JobQueue, clock: HandClock
) -> None:
    job = await queue.add(new_job())
    frozen = await claimed(queue, "w-1")
    clock.pass_s(LEASE_S)
    await queue.recover()
    fresh = await claimed(queue, "w-2")
    for write in (
        queue.step(frozen, "answer", {"from": "frozen"}),
        queue.say(frozen, EngineLost()),
        queue.end(frozen, done()),
        queue.park(frozen),
    ):
        with pytest.raises(LeaseLost):
            await write
    await queue.step(fresh, "answer", {"from": "fresh"})
    await queue.end(fresh, done())
    assert await queue.remembered(job.id, "answer") == {"from": "fresh"}


async def test_an_older_lease_of_the_same_worker_is_refused_too(queue: JobQueue) -> None:
    await queue.add(new_job())
    old = await claimed(queue, "w-1")
    await queue.park(old)
    await claimed(queue, "w-1")
    with pytest.raises(LeaseLost):
        await queue.say(old, EngineLost())


async def test_a_job_that_keeps_crashing_the_worker_is_given_up(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    for _ in range(MOST_CRASHES):
        await claimed(queue)
        await queue.recover(starting=True)
        assert (await queue.job(job.id)).state is JobState.WAITING
    await claimed(queue)
    await queue.recover(starting=True)
    ended = await queue.job(job.id)
    assert (ended.state, ended.reason) == (JobState.FAILED, "keeps_crashing")
    last = (await queue.events_since(job.id, 0))[-1].body
    assert isinstance(last, Failed)
    assert "went down several times" in last.error.message


async def test_a_job_that_gets_further_each_time_is_not_given_up(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    for page in range(MOST_CRASHES * 3):
        lease = await claimed(queue)
        await queue.step(lease, f"page-{page:04}", {})
        await queue.recover(starting=True)
    assert (await queue.job(job.id)).state is JobState.WAITING


async def test_doing_the_same_step_over_and_over_is_not_getting_further(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    for _ in range(MOST_CRASHES + 2):
        lease = await queue.claim(BOARD, "w-1")
        if lease is None:
            break
        await queue.step(lease, "page-0001", {})
        await queue.recover(starting=True)
    assert (await queue.job(job.id)).state is JobState.FAILED
