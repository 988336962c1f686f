"""One set of cases for every keeper of `worker.engine.Engine`.

The real ones run the bundled small model, whose words mean nothing: only form, counts, order and
reuse are asserted. llama-cpp-python compiles for minutes, so it is run where it is installed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from protocol.errors import BadRequest, Unavailable
from worker.engine import (
    Engine,
    EngineSettings,
    Finished,
    FinishReason,
    Limits,
    Prompt,
    PromptProgress,
    PromptTooLong,
    Request,
    State,
    StreamEvent,
    Text,
    Usage,
    bundled_model,
    open_engine,
)
from worker.engine.llama_server import LlamaServer
from worker.engine.remote import Remote
from worker.engine.scripted import Line, Scripted
from worker.engine.server_flags import setting_flags
from worker.engine.unit import EngineUnit, Unit
from worker.engine.unit_words import CONTROL

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.model]

RECORD = tuple(
    f"Section {n}: the tenant shall pay {n * 37} dollars before day {n % 28 + 1} of the month."
    for n in range(8)
)
CONTEXT = 1024
BINARY = os.environ.get("SECONDCHAIR_LLAMA_SERVER", "")
"""A llama-server binary to hold to the same cases; read before the tests clear such variables."""
FORM = {
    "type": "object",
    "properties": {"paid": {"type": "boolean"}},
    "required": ["paid"],
    "additionalProperties": False,
}


def _settings(**changed: object) -> EngineSettings:
    base = {"batch_tokens": 64, "ubatch_tokens": 64, "context_tokens": CONTEXT}
    return EngineSettings(**{**base, **changed})


def _scripted_line(request: Request) -> Line:
    if request.limits.json_schema is not None:
        return Line(text='{"paid": true}')
    return Line(text="word " * 400, steps=6, prefill_step_s=0.01, token_s=0.002)


@pytest_asyncio.fixture(
    loop_scope="module",
    scope="module",
    params=["scripted", "llama_server", "binary", "supervised", "lent", "remote", "llama_python"],
)
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    """One started engine of each kind, shared by the tests of this file."""
    if request.param != "scripted":
        try:
            bundled_model()
        except Unavailable as error:
            pytest.skip(error.message)
    if request.param == "llama_python" and importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed: pip install '.[llama-python]'")
    if request.param == "binary" and not BINARY:
        pytest.skip("SECONDCHAIR_LLAMA_SERVER names no llama-server binary")
    behind: LlamaServer | None = None
    lending: asyncio.Task[None] | None = None
    folder = Path(tempfile.mkdtemp(prefix="eu"))  # a short path, as a socket wants
    made: Engine
    if request.param == "scripted":
        made = Scripted(_scripted_line, context_tokens=CONTEXT)
    elif request.param == "llama_server":
        made = LlamaServer(_settings())
    elif request.param == "binary":
        made = LlamaServer(_settings(binary=Path(BINARY)))
    elif request.param == "lent":
        settings = _settings(unit_socket=folder / CONTROL)
        flags = tuple(setting_flags(settings, model=bundled_model()))
        unit = Unit(folder=folder, model=bundled_model(), flags=flags)
        lending = asyncio.create_task(EngineUnit(unit).run())
        made = LlamaServer(settings)
    elif request.param == "remote":
        behind = LlamaServer(_settings())
        await behind.start()
        made = Remote(_settings(engine="remote", endpoint=behind.endpoint))
    else:
        kind = "llama_server" if request.param == "supervised" else request.param
        made = open_engine(_settings(engine=kind))
    await made.start()
    yield made
    await made.stop()
    if behind is not None:
        await behind.stop()
    if lending is not None:
        lending.cancel()
        await asyncio.gather(lending, return_exceptions=True)
    shutil.rmtree(folder)


def _request(name: str, question: str = "Who pays?", **changed: object) -> Request:
    limits = Limits(**{"max_tokens": 8, **changed})
    prompt = Prompt(system="Answer from the record.", record=RECORD, question=question)
    return Request(
        id=name, matter=str(changed.get("matter", "M-AAAA")), prompt=prompt, limits=limits
    )


async def _all(engine: Engine, request: Request) -> list[StreamEvent]:
    async with aclosing(engine.stream(request)) as events:
        return [event async for event in events]


def _usage(events: list[StreamEvent]) -> Usage:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.usage


def _words(events: list[StreamEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, Text))


async def test_started_twice_it_is_ready_and_says_what_it_is(engine: Engine) -> None:
    await engine.start()
    await engine.wait_idle(60)
    assert (await engine.health()).state is State.READY
    assert engine.capabilities.context_tokens == CONTEXT
    assert engine.provenance.engine


ON_THE_PAGE = {
    "exact token counts, refusal of a long prompt with a split plan": "exact_count",
    "prefill progress": "progress",
    "second question on a record reads only its tail": "reports_reuse",
    "JSON by schema, checked by us afterwards": "schema",
}
"""Rows of the page's table that an engine says of itself; a ``remote`` here is a llama-server."""


async def test_what_it_says_it_can_is_what_the_page_says(engine: Engine) -> None:
    page = (Path(__file__).parents[2] / "docs" / "engine.md").read_text("utf-8")
    rows = [line.strip("| \n").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    keepers = next(row for row in rows if row[0] == "can")
    column = keepers.index(engine.provenance.engine)
    said = {row[0]: row[column] for row in rows if len(row) == len(keepers)}
    for row, name in ON_THE_PAGE.items():
        assert getattr(engine.capabilities, name) is (said[row] != "no"), row


async def test_a_stream_ends_with_its_usage_and_only_there(engine: Engine) -> None:
    events = await _all(engine, _request("order", max_tokens=4))
    assert [isinstance(event, Finished) for event in events].index(True) == len(events) - 1
    usage = _usage(events)
    assert usage.finish_reason is FinishReason.LENGTH
    assert usage.output_tokens == 4
    assert _words(events)
    progress = [event for event in events if isinstance(event, PromptProgress)]
    assert bool(progress) is engine.capabilities.progress
    first_word = next(n for n, event in enumerate(events) if isinstance(event, Text))
    assert not any(isinstance(event, PromptProgress) for event in events[first_word:])


async def test_progress_grows_to_the_whole_prompt_and_is_said_aside_too(engine: Engine) -> None:
    aside: list[PromptProgress] = []
    request = _request("aside", "A question that was never asked?", reuse=False)
    async with aclosing(engine.stream(request, aside.append)) as events:
        said = [event async for event in events if isinstance(event, PromptProgress)]
    assert aside == said
    done = [event.processed for event in said]
    assert done == sorted(done)
    assert all(event.processed == event.total for event in said[-1:])


async def test_counts_agree_with_what_the_engine_read(engine: Engine) -> None:
    request = _request("count")
    counted = await engine.count_tokens(request.prompt, request.matter)
    read = _usage(await _all(engine, request)).prompt_tokens
    assert counted == read if engine.capabilities.exact_count else counted >= read
    one, two = await engine.count_texts(["a word", "a word and some more of them"])
    assert 0 < one < two


async def test_a_second_question_reuses_the_record(engine: Engine) -> None:
    await _all(engine, _request("first", "Who pays?"))
    usage = _usage(await _all(engine, _request("second", "When is it due?")))
    assert usage.reused_tokens > 0.8 * usage.prompt_tokens


async def test_a_prewarmed_record_is_not_read_again(engine: Engine) -> None:
    prompt = Prompt(system="Answer from the record.", record=RECORD[::-1])
    warmed = await engine.prewarm("M-AAAA", prompt)
    question = Prompt(system=prompt.system, record=prompt.record, question="Who pays?")
    request = Request(id="warm", matter="M-AAAA", prompt=question, limits=Limits(max_tokens=1))
    usage = _usage(await _all(engine, request))
    assert usage.reused_tokens > 0.8 * warmed.prompt_tokens


async def test_another_matter_with_the_same_record_reuses_none_of_it(engine: Engine) -> None:
    first = _request("mine")
    await _all(engine, first)
    theirs = Request(id="theirs", matter="M-BBBB", prompt=first.prompt, limits=first.limits)
    usage = _usage(await _all(engine, theirs))
    assert usage.reused_tokens <= 8  # the template's own tokens and chance in the matter's code


async def test_without_reuse_the_answer_is_the_same_each_time(engine: Engine) -> None:
    one = await _all(engine, _request("cold-1", reuse=False))
    await _all(engine, _request("between", "Something else?"))
    two = await _all(engine, _request("cold-2", reuse=False))
    assert _words(one) == _words(two)
    assert _usage(one).reused_tokens == _usage(two).reused_tokens == 0


async def test_a_prompt_that_is_too_long_is_refused_with_a_plan_that_fits(engine: Engine) -> None:
    record = tuple(f"{block} CANARY-{n}" for n, block in enumerate(RECORD * 12))
    prompt = Prompt(system="Answer.", record=record, question="Who pays?")
    request = Request(id="long", matter="M-AAAA", prompt=prompt, limits=Limits(max_tokens=16))
    with pytest.raises(PromptTooLong) as caught:
        await _all(engine, request)
    refusal = caught.value
    counted = await engine.count_tokens(prompt, "M-AAAA")
    assert refusal.prompt_tokens == counted
    assert refusal.overflow_tokens == counted + 16 - CONTEXT > 0
    assert "CANARY" not in str(refusal) + repr(refusal.__dict__)
    assert [n for part in refusal.plan.parts for n in part] == list(range(len(record)))
    for part in refusal.plan.parts:
        asked = Prompt(
            system=prompt.system, record=tuple(record[n] for n in part), question=prompt.question
        )
        assert await engine.count_tokens(asked, "M-AAAA") + 16 <= CONTEXT


async def test_cancelled_while_it_reads_it_says_so_and_works_again(engine: Engine) -> None:
    request = _request("stop-reading", "Cancelled early?", max_tokens=400, reuse=False)
    events: list[StreamEvent] = []
    async with aclosing(engine.stream(request)) as stream:
        async for event in stream:
            events.append(event)
            assert await engine.cancel(request.id) or isinstance(event, Finished)
    assert _usage(events).finish_reason is FinishReason.CANCELLED
    await engine.wait_idle(60)
    assert _words(await _all(engine, _request("after")))


async def test_a_torn_stream_frees_the_engine(engine: Engine) -> None:
    async def ask() -> None:
        await _all(engine, _request("torn", "Torn away?", max_tokens=400, reuse=False))

    task = asyncio.create_task(ask())
    await asyncio.sleep(0.15)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await engine.wait_idle(60)
    assert _words(await _all(engine, _request("after-torn")))


async def test_cancelling_what_is_not_running_is_harmless(engine: Engine) -> None:
    assert not await engine.cancel("nothing")


async def test_a_deadline_ends_the_answer(engine: Engine) -> None:
    request = _request("deadline", "Too slow?", max_tokens=400, reuse=False, deadline_s=0.1)
    assert _usage(await _all(engine, request)).finish_reason is FinishReason.DEADLINE
    await engine.wait_idle(60)


async def test_a_form_is_kept(engine: Engine) -> None:
    assert engine.capabilities.schema
    events = await _all(engine, _request("form", max_tokens=64, json_schema=FORM))
    assert set(json.loads(_words(events))) == {"paid"}


async def test_a_form_we_cannot_check_is_refused(engine: Engine) -> None:
    with pytest.raises(BadRequest, match="maxLength"):
        await _all(engine, _request("bad-form", json_schema={"type": "string"}))
    with pytest.raises(BadRequest, match="one token"):
        await _all(engine, _request("no-room", max_tokens=0))


async def test_calls_beyond_the_slots_wait_their_turn(engine: Engine) -> None:
    asked = [_all(engine, _request(f"turn-{n}", max_tokens=4)) for n in range(3)]
    answers = await asyncio.gather(*asked)
    assert [_usage(events).output_tokens for events in answers] == [4, 4, 4]


async def test_one_id_cannot_run_twice(engine: Engine) -> None:
    async with aclosing(engine.stream(_request("twice", max_tokens=64))) as first:
        await anext(first)
        with pytest.raises(ValueError, match="id"):
            await _all(engine, _request("twice"))
    await engine.wait_idle(60)


async def test_what_it_cannot_save_it_says(engine: Engine, tmp_path_factory: object) -> None:
    folder = tmp_path_factory.mktemp("slots")  # type: ignore[attr-defined]
    prompt = _request("save").prompt
    if engine.capabilities.save_restore:
        assert await engine.save("M-AAAA", prompt, folder) is not None
        assert await engine.restore("M-AAAA", prompt, folder)
    else:
        assert await engine.save("M-AAAA", prompt, folder) is None
        assert not await engine.restore("M-AAAA", prompt, folder)
        assert not list(folder.iterdir())
