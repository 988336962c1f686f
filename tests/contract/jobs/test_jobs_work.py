"""What a running job does: steps it remembers, events it says, giving way. Over every keeper."""

from __future__ import annotations

import asyncio

import pytest

from protocol.events import (
    Completed,
    EngineLost,
    Event,
    Found,
    Interrupted,
    Parked,
    Progress,
    Queued,
    Stage,
    Started,
    Stopped,
    Words,
)
from worker.jobs import (
    JobQueue,
)
from worker.jobs.testing import HandClock, claimed, done, failed, kinds, new_job

BOARD = "A"


# --- steps ---


async def test_a_step_is_remembered_over_attempts(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    value = {"passages": ["d-1:0-40", "d-2:7-9"], "count": 2, "sha256": "f" * 64, "score": 0.5}
    assert await queue.remembered(job.id, "retrieve") is None
    await queue.step(lease, "retrieve", value)
    assert await queue.remembered(job.id, "retrieve") == value
    await queue.recover(starting=True)
    await claimed(queue, "w-2")
    assert await queue.remembered(job.id, "retrieve") == value


async def test_a_second_value_of_a_step_replaces_the_first(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    await queue.step(lease, "page-0001", {"n": 1})
    await queue.step(lease, "page-0001", {"n": 2})
    assert await queue.remembered(job.id, "page-0001") == {"n": 2}


async def test_steps_of_two_jobs_are_apart(queue: JobQueue) -> None:
    await queue.add(new_job())
    other = await queue.add(new_job())
    await queue.step(await claimed(queue), "one", {"n": 1})
    assert await queue.remembered(other.id, "one") is None


@pytest.mark.parametrize(
    "value",
    [
        {"text": "I reported it to facilities"},
        {"nested": [{"deep": "two words"}]},
        {"a name with spaces": 1},
        {"big": ["d-1:0-40"] * 400},
        {"deep": [[[[[1]]]]]},
        {"set": {1, 2}},
        {"bytes": b"abc"},
        {"line": "one\ntwo"},
    ],
    ids=lambda value: next(iter(value)),
)
async def test_a_step_keeps_no_words_and_nothing_large(
    queue: JobQueue, value: dict[str, object]
) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    with pytest.raises(ValueError):
        await queue.step(lease, "retrieve", value)
    assert await queue.remembered(job.id, "retrieve") is None


# --- saying ---


async def test_events_are_numbered_from_one_without_gaps(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    said = [
        await queue.say(lease, Found(passages=8, documents=3)),
        await queue.say(lease, Progress(stage=Stage.READING, done=10, total=20)),
        await queue.say(lease, Words(part=1)),
        await queue.say(lease, EngineLost()),
    ]
    assert list(await queue.events_since(job.id, 2)) == said
    assert await kinds(queue, job.id) == [
        "Queued",
        "Started",
        "Found",
        "Progress",
        "Words",
        "EngineLost",
    ]
    assert (await queue.job(job.id)).last_seq == 6


@pytest.mark.parametrize(
    "body",
    [
        Words(part=1, text="Northgate knew"),
        Queued(place=1, eta_s=None),
        Started(attempt=1, board=BOARD),
        Interrupted(),
        Parked(),
        done(),
        failed(),
        Stopped(),
    ],
    ids=lambda body: type(body).__name__,
)
async def test_work_says_no_words_and_nothing_that_is_the_queues_to_say(
    queue: JobQueue, body: Words
) -> None:
    job = await queue.add(new_job())
    lease = await claimed(queue)
    with pytest.raises(ValueError):
        await queue.say(lease, body)
    assert await kinds(queue, job.id) == ["Queued", "Started"]


async def test_a_follower_gets_every_event_once_and_is_told_when_it_is_over(
    queue: JobQueue,
) -> None:
    job = await queue.add(new_job())
    heard: list[Event] = []

    async def follow() -> None:
        while events := await queue.wait_event(job.id, heard[-1].seq if heard else 0):
            heard.extend(events)

    followers = asyncio.create_task(follow())
    await asyncio.sleep(0)
    lease = await claimed(queue)
    for part in range(20):
        await queue.say(lease, Words(part=part))
        if part % 3 == 0:
            await asyncio.sleep(0)
    await queue.end(lease, done())
    await asyncio.wait_for(followers, 60)
    assert [event.seq for event in heard] == list(range(1, 24))
    assert isinstance(heard[-1].body, Completed)


async def test_a_follower_may_leave_at_any_time(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    follower = asyncio.create_task(queue.wait_event(job.id, 1))
    await asyncio.sleep(0.01)
    follower.cancel()
    with pytest.raises(asyncio.CancelledError):
        await follower
    assert len(await queue.wait_event(job.id, 0)) == 1


async def test_a_follower_that_claims_to_know_more_than_there_is_waits_for_the_end(
    queue: JobQueue,
) -> None:
    job = await queue.add(new_job())
    follower = asyncio.create_task(queue.wait_event(job.id, 5))
    await asyncio.sleep(0.01)
    lease = await claimed(queue)
    await asyncio.sleep(0.01)
    assert not follower.done()
    await queue.end(lease, done())
    assert await asyncio.wait_for(follower, 60) == ()


# --- parking ---


async def test_a_long_job_gives_way_to_a_shorter_one_only(queue: JobQueue) -> None:
    await queue.add(new_job(weight_s=300))
    lease = await claimed(queue)
    assert not await queue.gives_way(lease)
    await queue.add(new_job("M-BBBB", weight_s=400))
    assert not await queue.gives_way(lease)
    await queue.add(new_job("M-CCCC", weight_s=5))
    assert await queue.gives_way(lease)
    assert not await queue.gives_way(lease, rest_s=3)  # it is nearly done itself


async def test_a_parked_job_does_not_get_the_board_straight_back(queue: JobQueue) -> None:
    long = await queue.add(new_job(weight_s=300))
    lease = await claimed(queue)
    short = await queue.add(new_job("M-BBBB", weight_s=5))
    assert await queue.gives_way(lease)
    await queue.park(lease, rest_s=200)
    lease = await claimed(queue)
    assert lease.job == short.id
    await queue.end(lease, done())
    lease = await claimed(queue)
    assert (lease.job, lease.attempt) == (long.id, 1)  # parking is no failed attempt
    assert "Parked" in await kinds(queue, long.id)


async def test_a_job_that_waited_long_and_parks_starts_waiting_afresh(
    queue: JobQueue, clock: HandClock
) -> None:
    """Else its age would give it the board straight back, and it would park again at once."""
    await queue.pause(BOARD)
    await queue.add(new_job(weight_s=300))
    clock.pass_s(3600)
    await queue.resume(BOARD)
    lease = await claimed(queue)
    short = await queue.add(new_job("M-BBBB", weight_s=5))
    assert await queue.gives_way(lease)
    await queue.park(lease)
    assert (await claimed(queue)).job == short.id


async def test_nobody_gives_way_on_a_paused_board_or_while_a_place_is_free(
    queue: JobQueue,
) -> None:
    await queue.add(new_job(weight_s=300))
    lease = await claimed(queue)
    await queue.add(new_job("M-BBBB", weight_s=5))
    await queue.set_places(BOARD, 2)
    assert not await queue.gives_way(lease)
    await queue.set_places(BOARD, 1)
    await queue.pause(BOARD)
    assert not await queue.gives_way(lease)
