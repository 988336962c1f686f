"""The runner over the in-memory queue: stopping a job, and parking it for a shorter one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from protocol.errors import Unavailable
from protocol.events import Completed
from protocol.jobs import JobState
from worker.jobs import JobContext, StepValue
from worker.jobs.testing_runner import DONE, Engine, House, ends_well, until


@pytest.fixture
async def house() -> AsyncIterator[House]:
    built = House()
    yield built
    await built.runner.shut_down()


# --- stopping ---


@pytest.mark.parametrize(
    "manner", ["lets it through", "swallows it", "turns it into an error of ours"]
)
async def test_a_stop_reaches_the_stream_and_ends_as_stopped_however_the_work_takes_it(
    house: House, manner: str
) -> None:
    engine = Engine()
    engine.swallow = manner == "swallows it"
    engine.error = Unavailable("the stream broke") if manner.startswith("turns") else None
    house.works |= {"ask": engine, "next": ends_well}
    await house.runner.start()
    job = await house.add("ask")
    await asyncio.wait_for(engine.streaming.wait(), 60)
    await house.queue.stop(job)
    assert (await house.ended(job)).state is JobState.STOPPED
    assert engine.closed
    assert (await house.ended(await house.add("next"))).state is JobState.DONE


async def test_the_board_is_given_away_only_when_the_engine_is_idle(house: House) -> None:
    engine = Engine()
    house.works |= {"ask": engine, "next": ends_well}
    await house.runner.start()
    job = await house.add("ask")
    behind = await house.add("next")
    await asyncio.wait_for(engine.streaming.wait(), 60)
    house.engine_idle.clear()
    await house.queue.stop(job)
    assert (await house.ended(job)).state is JobState.STOPPED  # said before the engine is idle
    await until(lambda: house.idle_calls == 1)
    for _ in range(50):
        await asyncio.sleep(0)
    assert house.ran == ["ask"]
    house.engine_idle.set()
    assert (await house.ended(behind)).state is JobState.DONE


async def test_a_stop_between_claim_and_first_byte(house: House) -> None:
    began = asyncio.Event()

    async def work(context: JobContext) -> Completed:
        began.set()
        await asyncio.sleep(3600)
        return DONE

    house.works["ask"] = work
    await house.runner.start()
    job = await house.add("ask")
    lease_taken = asyncio.create_task(began.wait())
    await lease_taken
    await house.queue.stop(job)
    await house.queue.stop(job)
    ended = await house.ended(job)
    assert ended.state is JobState.STOPPED
    assert (await house.queue.stop(job)) == ended


async def test_a_stop_at_the_last_token_wins_over_the_answer(house: House) -> None:
    async def work(context: JobContext) -> Completed:
        await house.queue.stop(context.job)  # no await in between: the ring is not heard yet
        return DONE

    house.works["ask"] = work
    await house.runner.start()
    assert (await house.ended(await house.add("ask"))).state is JobState.STOPPED


# --- parking ---


async def test_a_long_job_parks_for_a_short_one_and_no_page_is_read_twice(house: House) -> None:
    pages: list[int] = []
    half = asyncio.Event()
    short_is_in = asyncio.Event()

    async def long(context: JobContext) -> Completed:
        for page in range(20):

            async def read(page: int = page) -> StepValue:
                pages.append(page)
                if page == 9:
                    half.set()
                    await short_is_in.wait()
                return {}

            await context.step(f"page-{page:04}", read)
            await context.breathe(rest_s=20 - page)
        return DONE

    house.works |= {"summarize": long, "ask": ends_well}
    await house.runner.start()
    folder = await house.add("summarize", weight_s=300)
    await half.wait()
    ask = await house.add("ask", "M-BBBB", weight_s=2)
    short_is_in.set()
    assert (await house.ended(folder)).state is JobState.DONE
    assert (await house.queue.job(folder)).attempts == 1
    assert house.ran == ["summarize", "ask", "summarize"]
    assert (await house.queue.job(ask)).state is JobState.DONE
    assert pages == list(range(20))


async def test_work_without_steps_is_never_parked(house: House) -> None:
    """It would begin anew after each short job and, with enough of those, never end."""

    async def long(context: JobContext) -> Completed:
        await house.add("ask", "M-BBBB", weight_s=2)
        for _ in range(5):
            await context.breathe()
        return DONE

    house.works |= {"summarize": long, "ask": ends_well}
    await house.runner.start()
    await house.ended(await house.add("summarize", weight_s=300))
    assert house.ran[0] == "summarize"
    assert house.ran.count("summarize") == 1


async def test_a_long_job_ends_though_short_ones_never_cease(house: House) -> None:
    """Each time it gets the board it comes one step further at least."""
    pages: list[int] = []

    async def long(context: JobContext) -> Completed:
        for page in range(10):

            async def read(page: int = page) -> StepValue:
                pages.append(page)
                return {}

            await context.step(f"page-{page:04}", read)
            await context.breathe()
        return DONE

    async def short(context: JobContext) -> Completed:
        if len(pages) < 10:
            await house.add("ask", context.matter, weight_s=2)
        return DONE

    house.works |= {"summarize": long, "ask": short}
    await house.runner.start()
    folder = await house.add("summarize", weight_s=300)
    for name in "BCD":
        await house.add("ask", f"M-{name * 4}", weight_s=2)
    assert (await house.ended(folder)).state is JobState.DONE
    assert pages == list(range(10))
    assert house.ran.count("ask") > 10
