"""The runner over the in-memory queue: one at a time, steps, failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from protocol.errors import Damaged, ErrorValue, Unavailable
from protocol.events import Completed, Failed, Found, Words
from protocol.jobs import JobState
from worker.jobs import JobContext, Lease, StepValue
from worker.jobs.runner import Runner
from worker.jobs.testing import new_job
from worker.jobs.testing_runner import DONE, MARKER, House, ends_well


@pytest.fixture
async def house() -> AsyncIterator[House]:
    built = House()
    yield built
    await built.runner.shut_down()


async def test_a_job_runs_and_ends_with_its_answer(house: House) -> None:
    async def work(context: JobContext) -> Completed:
        await context.say(Found(passages=8, documents=3))
        assert (context.matter, context.user, context.board) == ("M-AAAA", "you", "a")
        assert (context.request_sha256, context.attempt) == (new_job().request_sha256, 1)
        return DONE

    house.works["ask"] = work
    await house.runner.start()
    job = await house.ended(await house.add("ask"))
    assert (job.state, job.answer_sha256) == (JobState.DONE, "a" * 64)


async def test_jobs_added_before_and_after_the_start_all_run_one_at_a_time(house: House) -> None:
    at_once = 0

    async def work(context: JobContext) -> Completed:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await asyncio.sleep(0.002)
        at_once -= 1
        return DONE

    house.works["ask"] = work
    jobs = [await house.add("ask") for _ in range(3)]
    await house.runner.start()
    jobs += [await house.add("ask", f"M-{name * 4}") for name in "BCD"]
    assert {(await house.ended(job)).state for job in jobs} == {JobState.DONE}


async def test_two_places_run_two_jobs_at_once(house: House) -> None:
    both = asyncio.Barrier(2)

    async def work(context: JobContext) -> Completed:
        await both.wait()
        return DONE

    house.works["ask"] = work
    house.runner = house.new_runner(places=2)
    await house.runner.start()
    for job in [await house.add("ask"), await house.add("ask")]:
        assert (await house.ended(job)).state is JobState.DONE


# --- steps ---


async def test_a_step_runs_once_and_gives_the_same_value_again(house: House) -> None:
    calls = 0

    async def work(context: JobContext) -> Completed:
        async def retrieve() -> StepValue:
            nonlocal calls
            calls += 1
            return {"passages": ("d-1:0-4", "d-2:0-4")}

        first = await context.step("retrieve", retrieve)
        assert await context.step("retrieve", retrieve) == first
        assert first == {"passages": ["d-1:0-4", "d-2:0-4"]}
        return DONE

    house.works["ask"] = work
    await house.runner.start()
    assert (await house.ended(await house.add("ask"))).state is JobState.DONE
    assert calls == 1


async def test_after_a_restart_only_the_open_step_runs_again(house: House) -> None:
    pages: list[int] = []
    reached = asyncio.Event()
    go_on = asyncio.Event()

    async def work(context: JobContext) -> Completed:
        for page in range(10):

            async def read(page: int = page) -> StepValue:
                pages.append(page)
                if page == 5 and not go_on.is_set():
                    reached.set()
                    await asyncio.sleep(3600)
                return {"page": page}

            await context.step(f"page-{page:04}", read)
        return DONE

    house.works["summarize"] = work
    await house.runner.start()
    job = await house.add("summarize")
    await reached.wait()
    await house.runner.shut_down()
    assert (await house.queue.job(job)).state is JobState.RUNNING
    go_on.set()
    house.runner = house.new_runner()
    assert await house.runner.start() == (job,)
    assert (await house.ended(job)).attempts == 2
    assert pages == [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9]


# --- failing ---


async def test_an_error_of_ours_ends_the_job_with_its_code_and_keeps_the_words_apart(
    house: House,
) -> None:
    async def work(context: JobContext) -> Completed:
        raise Unavailable(MARKER, next_step=MARKER)

    house.works["ask"] = work
    await house.runner.start()
    job = await house.ended(await house.add("ask"))
    assert (job.state, job.reason) == (JobState.FAILED, "unavailable")
    body = (await house.last(job.id)).body
    assert isinstance(body, Failed)
    assert MARKER not in body.error.message + body.error.next_step
    assert body.error.retry
    assert house.failures[0].message == MARKER  # for the matter's own file


async def test_any_other_error_is_internal_and_known_by_its_reference_only(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(context: JobContext) -> Completed:
        raise KeyError(MARKER)

    house.works["ask"] = work
    with caplog.at_level(logging.DEBUG):
        await house.runner.start()
        job = await house.ended(await house.add("ask"))
    body = (await house.last(job.id)).body
    assert isinstance(body, Failed)
    assert (job.reason, body.error.code) == ("internal", "internal")
    lines = [repr(record.__dict__) for record in caplog.records]
    assert any(body.error.reference in line for line in lines)
    assert body.error.reference
    assert not any("Zebrastein" in line for line in lines)
    assert "Zebrastein" not in repr(house.failures)


@pytest.mark.parametrize(
    "completed",
    [
        Completed(answer_sha256=MARKER, verified=0, to_look_at=0, failing=0),
        asyncio.CancelledError(),
    ],
    ids=["an answer that is no hash", "work that cancels itself"],
)
async def test_misuse_by_the_work_fails_the_job_and_not_the_board(
    house: House, completed: Completed | BaseException
) -> None:
    async def work(context: JobContext) -> Completed:
        if isinstance(completed, BaseException):
            raise completed
        return completed

    house.works |= {"bad": work, "ask": ends_well}
    await house.runner.start()
    assert (await house.ended(await house.add("bad"))).reason == "internal"
    assert (await house.ended(await house.add("ask"))).state is JobState.DONE


async def test_words_in_an_event_or_step_fail_the_job(house: House) -> None:
    async def says(context: JobContext) -> Completed:
        await context.say(Words(part=1, text=MARKER))
        return DONE

    async def keeps(context: JobContext) -> Completed:
        async def answer() -> StepValue:
            return {"text": MARKER}

        await context.step("answer", answer)
        return DONE

    house.works |= {"says": says, "keeps": keeps}
    await house.runner.start()
    for kind in ("says", "keeps"):
        assert (await house.ended(await house.add(kind))).reason == "internal"


async def test_a_failure_whose_words_cannot_be_kept_still_ends_the_job(house: House) -> None:
    async def work(context: JobContext) -> Completed:
        raise Damaged("this document's text does not match its hash", reference="not an id!")

    async def full(lease: Lease, error: ErrorValue) -> None:
        raise OSError("disk full")

    house.works["ask"] = work
    house.runner = Runner(house.queue, {"a": 1}, house._work, idle=house._idle, keep_failure=full)
    await house.runner.start()
    assert (await house.ended(await house.add("ask"))).reason == "damaged"
