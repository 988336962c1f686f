"""Slots, cancel, deadline and idleness, on sources that do what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from protocol.errors import Unavailable
from worker.engine import (
    AnswerMalformed,
    EngineLost,
    Finished,
    FinishReason,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    StreamEvent,
    Text,
    Usage,
)
from worker.engine.calls import Calls


def make_request(name: str = "r", **limits: object) -> Request:
    prompt = Prompt(system="s", question="q")
    return Request(id=name, matter="M", prompt=prompt, limits=Limits(**{"max_tokens": 9, **limits}))


class Work:
    """A source that says words until it is let go, and a count of what still works."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.working = 0
        self.at_work = 0
        self.let_go = asyncio.Event()
        self.let_go.set()
        self.closed = 0

    async def source(self) -> AsyncGenerator[StreamEvent]:
        self.working += 1
        try:
            yield PromptProgress(total=7, cached=2, processed=7)
            yield Text(delta="one ")
            self.at_work += 1  # asked for more, so what it said is counted
            await self.go.wait()
            yield Text(delta="two")
            yield Finished(usage=Usage(prompt_tokens=7, output_tokens=2))
            self.working -= 1
        finally:
            self.closed += 1

    async def count(self) -> int:
        await asyncio.sleep(0)
        if self.let_go.is_set():
            self.working = 0
        return self.working


async def _at_work(work: Work, number: int = 1) -> None:
    """Returns once so many calls have said what they say before they are let go."""
    async with asyncio.timeout(60):
        while work.at_work < number:  # noqa: ASYNC110 - turns of the loop, not of a clock
            await asyncio.sleep(0)


async def _all(calls: Calls, request: Request, work: Work) -> list[StreamEvent]:
    async with aclosing(calls.run(request, work.source)) as events:
        return [event async for event in events]


async def test_a_whole_call_frees_its_slot_at_once() -> None:
    work = Work()
    calls = Calls(1, work.count)
    work.go.set()
    events = await _all(calls, make_request(), work)
    assert isinstance(events[-1], Finished)
    assert not calls.busy
    await calls.wait_idle(0)


async def test_cancel_gives_what_was_done_and_holds_the_slot_until_the_engine_let_go() -> None:
    work = Work()
    work.let_go.clear()
    calls = Calls(1, work.count)
    task = asyncio.create_task(_all(calls, make_request(), work))
    await _at_work(work)
    assert calls.cancel("r")
    usage = (await task)[-1].usage
    assert usage == Usage(
        prompt_tokens=7,
        reused_tokens=2,
        output_tokens=1,
        finish_reason=FinishReason.CANCELLED,
    )
    assert work.closed == 1
    assert calls.busy
    with pytest.raises(Unavailable):
        await calls.wait_idle(0.01)
    work.go.set()
    waiting = asyncio.create_task(_all(calls, make_request("next"), work))
    await asyncio.sleep(0.12)
    assert not waiting.done()  # the slot is not given away
    work.let_go.set()
    assert isinstance((await waiting)[-1], Finished)
    await calls.wait_idle(60)


async def test_a_waiting_call_can_be_cancelled() -> None:
    work = Work()
    calls = Calls(1, work.count)
    first = asyncio.create_task(_all(calls, make_request("first"), work))
    await _at_work(work)
    second = asyncio.create_task(_all(calls, make_request("second"), work))
    await asyncio.sleep(0)  # it is known now, and waits
    assert calls.cancel("second")
    events = await second
    assert [type(event) for event in events] == [Finished]
    assert events[0].usage.finish_reason is FinishReason.CANCELLED
    work.go.set()
    assert isinstance((await first)[-1], Finished)
    assert not calls.busy


async def test_tearing_the_consumer_closes_the_source() -> None:
    work = Work()
    calls = Calls(1, work.count)
    task = asyncio.create_task(_all(calls, make_request(), work))
    await _at_work(work)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.closed == 1
    await calls.wait_idle(60)
    assert not calls.cancel("r")


async def test_a_deadline_counts_from_the_call() -> None:
    work = Work()
    calls = Calls(1, work.count)
    events = await _all(calls, make_request(deadline_s=0.02), work)
    assert events[-1].usage.finish_reason is FinishReason.DEADLINE


async def test_an_error_of_the_source_reaches_the_consumer_and_frees_the_slot() -> None:
    async def lost() -> AsyncGenerator[StreamEvent]:
        yield Text(delta="x")
        raise EngineLost("gone")

    calls = Calls(1, Work().count)
    with pytest.raises(EngineLost):
        async for _ in calls.run(make_request(), lost):
            pass
    await calls.wait_idle(60)


async def test_a_fault_of_ours_does_not_hang_the_consumer() -> None:
    async def broken() -> AsyncGenerator[StreamEvent]:
        yield Text(delta="x")
        raise KeyError("delta")

    calls = Calls(1, Work().count)
    with pytest.raises(Unavailable) as caught:
        async for _ in calls.run(make_request(), broken):
            pass
    assert isinstance(caught.value.__cause__, KeyError)


async def test_an_engine_that_does_not_let_go_is_reported_as_hung() -> None:
    told: list[str] = []
    work = Work()
    work.let_go.clear()
    calls = Calls(1, work.count, hung=lambda: told.append("hung"), limit_s=0.1)
    task = asyncio.create_task(_all(calls, make_request(), work))
    await _at_work(work)
    calls.cancel("r")
    await task
    await calls.wait_idle(60)
    assert told == ["hung"]


async def test_an_engine_that_is_gone_works_on_nothing() -> None:
    async def gone() -> int:
        raise Unavailable("away")

    work = Work()
    calls = Calls(1, gone)
    task = asyncio.create_task(_all(calls, make_request(), work))
    await _at_work(work)
    calls.cancel("r")
    await task
    await calls.wait_idle(60)


async def test_a_call_stopped_before_it_began_still_ends() -> None:
    work = Work()
    calls = Calls(1, work.count)
    task = asyncio.create_task(_all(calls, make_request(), work))
    await asyncio.sleep(0)  # the call is known now; its work has not begun
    assert calls.cancel("r")
    assert (await asyncio.wait_for(task, 60))[-1].usage.finish_reason is FinishReason.CANCELLED
    task = asyncio.create_task(_all(calls, make_request(), work))
    await asyncio.sleep(0)
    await calls.close()
    with pytest.raises(EngineLost):
        await asyncio.wait_for(task, 60)
    assert work.closed == 0


async def test_closing_loses_every_call_running_or_waiting() -> None:
    work = Work()
    calls = Calls(1, work.count)
    tasks = [asyncio.create_task(_all(calls, make_request(str(n)), work)) for n in range(2)]
    await _at_work(work)
    await calls.close()
    for task in tasks:
        with pytest.raises(EngineLost):
            await task
    await calls.wait_idle(60)


async def test_two_slots_work_together_and_a_third_call_waits() -> None:
    work = Work()
    calls = Calls(2, work.count)
    tasks = [asyncio.create_task(_all(calls, make_request(str(n)), work)) for n in range(3)]
    await _at_work(work, 2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert work.working == 2
    work.go.set()
    for events in await asyncio.gather(*tasks):
        assert isinstance(events[-1], Finished)


@pytest.mark.parametrize(
    ("text", "reason", "why"),
    [
        ('{"a": 1', FinishReason.STOP, "not JSON"),
        ('{"a": "x"}', FinishReason.STOP, "a is no integer"),
        ('{"a": 1}', FinishReason.LENGTH, "cut"),
    ],
)
async def test_an_answer_of_another_form_is_an_error_not_an_answer(
    text: str, reason: FinishReason, why: str
) -> None:
    async def said() -> AsyncGenerator[StreamEvent]:
        yield Text(delta=text)
        yield Finished(usage=Usage(output_tokens=3, finish_reason=reason))

    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    calls = Calls(1, Work().count)
    with pytest.raises(AnswerMalformed, match=why) as caught:
        async for _ in calls.run(make_request(json_schema=schema), said):
            pass
    assert caught.value.usage.output_tokens == 3
    await calls.wait_idle(60)
