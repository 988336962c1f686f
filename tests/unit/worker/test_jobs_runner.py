"""The runner over the in-memory queue: ending, failing, stopping, parking, shutting down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from protocol.errors import Damaged, ErrorValue, Unavailable
from protocol.events import Completed, Event, Failed, Found, Words
from protocol.ids import JobId, MatterId
from protocol.jobs import Job, JobState
from worker.jobs import LEASE_S, JobContext, Lease, StepValue, runner
from worker.jobs.memory import MemoryQueue
from worker.jobs.runner import Runner
from worker.jobs.testing import HandClock, new_job

MARKER = "Zebrastein's words"
DONE = Completed(answer_sha256="a" * 64, verified=1, to_look_at=0, failing=0)


class House:
    """A queue with a runner whose work is a table from job kind to coroutine."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.queue = MemoryQueue(self.clock)
        self.works: dict[str, Callable[[JobContext], Awaitable[Completed]]] = {}
        self.ran: list[str] = []
        self.idle_calls = 0
        self.engine_idle = asyncio.Event()
        self.engine_idle.set()
        self.failures: list[ErrorValue] = []
        self.runner = self.new_runner()

    def new_runner(self, places: int = 1) -> Runner:
        return Runner(
            self.queue,
            {"a": places},
            self._work,
            idle=self._idle,
            keep_failure=self._keep_failure,
        )

    async def _work(self, context: JobContext) -> Completed:
        self.ran.append(context.kind)
        return await self.works[context.kind](context)

    async def _idle(self, board: str) -> None:
        self.idle_calls += 1
        await self.engine_idle.wait()

    async def _keep_failure(self, lease: Lease, error: ErrorValue) -> None:
        self.failures.append(error)

    async def add(self, kind: str, matter: str = "M-AAAA", weight_s: float = 10) -> JobId:
        new = new_job(matter, weight_s=weight_s, kind=kind, board="a")
        return (await self.queue.add(new)).id

    async def ended(self, job: JobId) -> Job:
        async def follow() -> None:
            after = 0
            while events := await self.queue.wait_event(job, after):
                after = events[-1].seq

        await asyncio.wait_for(follow(), 60)
        return await self.queue.job(job)

    async def last(self, job: JobId) -> Event:
        return (await self.queue.events_since(job, 0))[-1]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    built = House()
    yield built
    await built.runner.shut_down()


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - what is waited for is a number of turns of the loop
            await asyncio.sleep(0)


async def _done(context: JobContext) -> Completed:
    return DONE


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

    house.works |= {"bad": work, "ask": _done}
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


# --- stopping ---


class Engine:
    """A stream of words that notes how it ended."""

    def __init__(self) -> None:
        self.streaming = asyncio.Event()
        self.closed = False
        self.swallow = False
        self.error: Exception | None = None

    async def __call__(self, context: JobContext) -> Completed:
        try:
            for part in range(10**6):
                await context.say(Words(part=part))
                if part == 3:
                    self.streaming.set()
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.closed = True
            assert context.stopping
            if self.error:
                raise self.error from None
            if not self.swallow:
                raise
        return DONE


@pytest.mark.parametrize(
    "manner", ["lets it through", "swallows it", "turns it into an error of ours"]
)
async def test_a_stop_reaches_the_stream_and_ends_as_stopped_however_the_work_takes_it(
    house: House, manner: str
) -> None:
    engine = Engine()
    engine.swallow = manner == "swallows it"
    engine.error = Unavailable("the stream broke") if manner.startswith("turns") else None
    house.works |= {"ask": engine, "next": _done}
    await house.runner.start()
    job = await house.add("ask")
    await asyncio.wait_for(engine.streaming.wait(), 60)
    await house.queue.stop(job)
    assert (await house.ended(job)).state is JobState.STOPPED
    assert engine.closed
    assert (await house.ended(await house.add("next"))).state is JobState.DONE


async def test_the_board_is_given_away_only_when_the_engine_is_idle(house: House) -> None:
    engine = Engine()
    house.works |= {"ask": engine, "next": _done}
    await house.runner.start()
    job = await house.add("ask")
    behind = await house.add("next")
    await asyncio.wait_for(engine.streaming.wait(), 60)
    house.engine_idle.clear()
    await house.queue.stop(job)
    assert (await house.ended(job)).state is JobState.STOPPED  # said before the engine is idle
    await _until(lambda: house.idle_calls == 1)
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

    house.works |= {"summarize": long, "ask": _done}
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

    house.works |= {"summarize": long, "ask": _done}
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

    house.works |= {"ask": work, "next": _done}
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
    house.works["ask"] = _done
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
    await _until(lambda: beats >= 5)
    go_on.set()
    assert (await house.ended(job)).attempts == 1


async def test_a_queue_that_fails_for_a_while_does_not_end_the_board(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "AGAIN_S", 0.001)
    house.works["ask"] = _done
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

    house.works["ask"] = _done
    house.runner = Runner(house.queue, {"a": 1}, house._work, idle=idle)
    await house.runner.start()
    for job in [await house.add("ask"), await house.add("ask")]:
        assert (await house.ended(job)).state is JobState.DONE
    await _until(lambda: asked == 4)


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


def remember(told: list[str]) -> Callable[[], Awaitable[StepValue]]:
    async def function() -> StepValue:
        told.append("done")
        return {}

    return function
