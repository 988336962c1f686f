"""How a job ends: stopped, done, failed. Over every keeper."""

from __future__ import annotations

import asyncio

import pytest

from protocol.errors import ErrorValue
from protocol.events import (
    LAST,
    Completed,
    EngineLost,
    Failed,
    Stopped,
)
from protocol.jobs import JobState
from worker.jobs import (
    JobQueue,
    LeaseLost,
    StopAsked,
)
from worker.jobs.testing import claimed, done, failed, kinds, new_job

BOARD = "A"


# --- stopping ---


async def test_a_waiting_job_is_stopped_at_once(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    assert (await queue.stop(job.id)).state is JobState.STOPPED
    assert await kinds(queue, job.id) == ["Queued", "Stopped"]
    assert await queue.claim(BOARD, "w-1") is None


async def test_a_running_job_hears_the_stop_and_ends_as_stopped(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    hears = asyncio.create_task(queue.wait_stop(lease))
    await asyncio.sleep(0.01)
    assert not hears.done()
    assert (await queue.stop(job.id)).state is JobState.RUNNING
    await asyncio.wait_for(hears, 60)
    assert (await queue.end(lease, Stopped())).state is JobState.STOPPED


async def test_stopping_twice_changes_nothing(queue: JobQueue) -> None:
    running, waiting = await queue.add(new_job()), await queue.add(new_job("M-BBBB"))
    await claimed(queue)
    for job in (running, waiting):
        first = await queue.stop(job.id)
        assert await queue.stop(job.id) == first


@pytest.mark.parametrize("body", [done(), failed(), Stopped()], ids=["done", "failed", "stopped"])
async def test_stopping_an_ended_job_leaves_it_as_it_is(
    queue: JobQueue, body: Completed | Failed | Stopped
) -> None:
    job = await queue.add(new_job())
    ended = await queue.end(await claimed(queue), body)
    assert await queue.stop(job.id) == ended


async def test_a_stop_before_the_last_write_wins(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    await queue.stop(job.id)
    with pytest.raises(StopAsked):
        await queue.step(lease, "answer", {})
    with pytest.raises(StopAsked):
        await queue.end(lease, done())
    assert await queue.remembered(job.id, "answer") is None
    assert (await queue.end(lease, Stopped())).state is JobState.STOPPED
    assert await kinds(queue, job.id) == ["Queued", "Started", "Stopped"]


async def test_a_stop_is_seen_by_the_beat_too(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    assert not await queue.beat(lease)
    await queue.stop(job.id)
    assert await queue.beat(lease)


async def test_a_job_asked_to_stop_is_stopped_when_it_parks(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    await queue.stop(job.id)
    await queue.park(lease)
    assert (await queue.job(job.id)).state is JobState.STOPPED


async def test_a_job_asked_to_stop_is_stopped_when_its_worker_dies(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    await claimed(queue)
    await queue.stop(job.id)
    assert await queue.recover(starting=True) == (job.id,)
    assert (await queue.job(job.id)).state is JobState.STOPPED


# --- ending ---


async def test_a_done_job_names_its_answer(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    ended = await queue.end(await claimed(queue), done("b" * 64))
    assert (ended.state, ended.answer_sha256, ended.reason) == (JobState.DONE, "b" * 64, "")
    assert await kinds(queue, job.id) == ["Queued", "Started", "Completed"]
    assert await queue.wait_event(job.id, 3) == ()


async def test_a_failed_job_has_a_reason_and_a_plain_sentence(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    ended = await queue.end(await claimed(queue), failed("damaged"))
    assert (ended.state, ended.reason) == (JobState.FAILED, "damaged")
    [event] = await queue.events_since(job.id, 2)
    assert isinstance(event.body, Failed)
    assert event.body.error.message == "Something stored in this matter does not match its hash."
    assert event.body.error.next_step
    assert (event.body.error.retry, event.body.error.reference) == (True, "E-1")


async def test_an_unknown_reason_still_reads_as_a_sentence(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    ended = await queue.end(await claimed(queue), failed(), reason="board_on_fire")
    assert ended.reason == "board_on_fire"
    [event] = await queue.events_since(job.id, 2)
    assert isinstance(event.body, Failed)
    assert event.body.error.message.startswith("A part this needs is away")


@pytest.mark.parametrize(
    "body",
    [
        Failed(error=ErrorValue(code="internal", message="the words of the matter")),
        Failed(error=ErrorValue(code="internal", message="", next_step="ask Ms. Reeves")),
        Failed(error=ErrorValue(code="Reeves Dep. 2:3", message="")),
        Failed(error=ErrorValue(code="internal", message="", reference="in the leak memo")),
        Completed(answer_sha256="Northgate knew", verified=0, to_look_at=0, failing=0),
    ],
    ids=["message", "next step", "code", "reference", "hash"],
)
async def test_a_last_event_holds_no_words(queue: JobQueue, body: Completed | Failed) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    with pytest.raises(ValueError):
        await queue.end(lease, body)
    assert (await queue.job(job.id)).state is JobState.RUNNING


@pytest.mark.parametrize("body", [done(), failed(), Stopped()], ids=["done", "failed", "stopped"])
async def test_after_its_end_a_job_says_nothing_more(
    queue: JobQueue, body: Completed | Failed | Stopped
) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    await queue.end(lease, body)
    for write in (
        queue.say(lease, EngineLost()),
        queue.step(lease, "late", {}),
        queue.end(lease, done()),
        queue.park(lease),
    ):
        with pytest.raises(LeaseLost):
            await write
    with pytest.raises(LeaseLost):
        await queue.beat(lease)
    await asyncio.wait_for(queue.wait_stop(lease), 60)
    events = await queue.events_since(job.id, 0)
    assert [isinstance(event.body, LAST) for event in events].count(True) == 1
