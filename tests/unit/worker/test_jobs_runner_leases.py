"""The runner over the in-memory queue: lost leases, closed matters, queues and boards that fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from protocol.errors import Unavailable
from protocol.events import Completed
from protocol.ids import MatterId
from protocol.jobs import Job, JobState
from worker.jobs import LEASE_S, JobContext, Lease, runner
from worker.jobs.runner import Runner
from worker.jobs.testing_runner import DONE, House, ends_well, remember, until


@pytest.fixture
async def house() -> AsyncIterator[House]:
    built = House()
    yield built
    await built.runner.shut_down()


# --- leases ---


async def test_a_job_whose_lease_was_lost_is_dropped_in_silence(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def work(context: JobContext) -> Completed:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()
        return DONE

    house.works |= {"ask": work, "next": ends_well}
    await house.runner.start()
    await house.add("ask")
    await began.wait()
    await house.queue.close_matter(MatterId("M-AAAA"))
    await asyncio.wait_for(ended.wait(), 60)
    assert (await house.ended(await house.add("next"))).state is JobState.DONE


async def test_a_matter_is_closed_only_when_its_work_has_let_go(house: House) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()
    writing = True

    async def work(context: JobContext) -> Completed:
        nonlocal writing
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await may_end.wait()
            writing = False
        return DONE

    house.works["ask"] = work
    await house.runner.start()
    await house.add("ask")
    await began.wait()
    running = await house.queue.close_matter(MatterId("M-AAAA"))
    letting_go = asyncio.create_task(house.runner.let_go(running))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not letting_go.done()
    may_end.set()
    await asyncio.wait_for(letting_go, 60)
    assert not writing
    await house.runner.let_go(running)  # again, and for jobs nobody runs


async def test_a_job_whose_end_could_not_be_written_is_run_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LEASE_S", 0.003)
    monkeypatch.setattr(runner, "AGAIN_S", 0.001)
    house.works["ask"] = ends_well
    end = house.queue.end
    failures = iter(range(1))

    async def flaky(lease: Lease, body: Any, *, reason: str = "") -> Job:
        if next(failures, None) is not None:
            house.clock.pass_s(LEASE_S)  # nobody beats for it any more
            raise Unavailable("disk full")
        return await end(lease, body, reason=reason)

    monkeypatch.setattr(house.queue, "end", flaky)
    await house.runner.start()
    job = await house.ended(await house.add("ask"))
    assert (job.state, job.attempts, house.ran) == (JobState.DONE, 2, ["ask", "ask"])


async def test_a_running_jobs_lease_is_kept_while_others_are_recovered(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LEASE_S", 0.003)  # how often the runner looks
    began, go_on = asyncio.Event(), asyncio.Event()

    async def work(context: JobContext) -> Completed:
        began.set()
        await go_on.wait()
        return DONE

    house.works["ask"] = work
    beats = 0
    beat = house.queue.beat

    async def counted(lease: Lease) -> bool:
        nonlocal beats
        beats += 1
        house.clock.pass_s(4)  # two beats miss nothing, three would
        return await beat(lease)

    monkeypatch.setattr(house.queue, "beat", counted)
    await house.runner.start()
    job = await house.add("ask")
    await began.wait()
    await until(lambda: beats >= 5)
    go_on.set()
    assert (await house.ended(job)).attempts == 1


async def test_a_queue_that_fails_for_a_while_does_not_end_the_board(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "AGAIN_S", 0.001)
    house.works["ask"] = ends_well
    failures = iter(range(3))
    claim = house.queue.claim

    async def flaky(board: str, owner: str) -> Any:
        if next(failures, None) is not None:
            raise Unavailable("disk full")
        return await claim(board, owner)

    monkeypatch.setattr(house.queue, "claim", flaky)
    await house.runner.start()
    assert (await house.ended(await house.add("ask"))).state is JobState.DONE


async def test_an_engine_that_cannot_say_it_is_idle_keeps_the_board(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "AGAIN_S", 0.001)
    asked = 0

    async def idle(board: str) -> None:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise OSError("no answer")

    house.works["ask"] = ends_well
    house.runner = Runner(house.queue, {"a": 1}, house._work, idle=idle)
    await house.runner.start()
    for job in [await house.add("ask"), await house.add("ask")]:
        assert (await house.ended(job)).state is JobState.DONE
    await until(lambda: asked == 4)


# --- a board that is gone ---


async def test_what_runs_on_a_board_is_given_back_and_goes_on_with_its_steps(house: House) -> None:
    reached, told = asyncio.Event(), []

    async def work(context: JobContext) -> Completed:
        await context.step("one", remember(told))
        if context.attempt == 1 and not reached.is_set():
            reached.set()
            await asyncio.get_running_loop().create_future()
        return DONE

    house.works["ask"] = work
    await house.runner.start()
    job = await house.add("ask")
    async with asyncio.timeout(60):
        await reached.wait()
        await house.queue.pause("a")
        assert house.runner.give_back("a") == (job,)
        while (await house.queue.job(job)).state is not JobState.WAITING:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert house.runner.give_back("a") == ()
    await house.queue.resume("a")
    assert (await house.ended(job)).state is JobState.DONE
    assert told == ["done"]
    said = [type(event.body).__name__ for event in await house.queue.events_since(job, 0)]
    assert said.count("Completed") == 1
    assert "Parked" in said


async def test_a_lost_engine_s_error_does_not_end_a_job_that_is_being_given_back(
    house: House,
) -> None:
    reached = asyncio.Event()

    async def work(context: JobContext) -> Completed:
        if reached.is_set():
            return DONE
        reached.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise Unavailable("the engine is away") from None
        return DONE

    house.works["ask"] = work
    await house.runner.start()
    job = await house.add("ask")
    async with asyncio.timeout(60):
        await reached.wait()
    house.runner.give_back("a")
    assert (await house.ended(job)).state is JobState.DONE
