"""The canary campaign, short: our settings leak nothing, and the same campaign catches leaky ones.

Here on a random-weight window model, which is quick; `python -m bench engine` runs it longer, on
the bundled model too, with speculation and slot files.
"""

from __future__ import annotations

import asyncio
import itertools
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from bench.canary import ANSWER_TOKENS, Campaign, Seen, run_campaign
from bench.raw_server import raw_server
from bench.tiny_model import write_sliding_window_model
from protocol.errors import Internal, Unavailable
from worker.engine import (
    EngineSettings,
    Finished,
    Limits,
    Prompt,
    Request,
    State,
    StreamEvent,
    Text,
    bundled_model,
    llama_server,
)
from worker.engine.llama_http import LlamaHttp
from worker.engine.llama_server import LlamaServer
from worker.engine.wall import walled

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        source = bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    return write_sliding_window_model(tmp_path_factory.mktemp("model") / "tiny.gguf", source)


def _settings(model: Path, slots: int, cache_ram_mib: int) -> EngineSettings:
    return EngineSettings(
        model=model,
        slots=slots,
        context_tokens=512,
        batch_tokens=64,
        ubatch_tokens=64,
        cache_ram_mib=cache_ram_mib,
    )


def _seen(events: list[StreamEvent]) -> Seen:
    last = events[-1]
    assert isinstance(last, Finished)
    return Seen(
        text="".join(event.delta for event in events if isinstance(event, Text)),
        prompt_tokens=last.usage.prompt_tokens,
        reused_tokens=last.usage.reused_tokens,
        drafted_tokens=last.usage.drafted_tokens,
    )


@pytest.mark.parametrize(("slots", "cache_ram_mib"), [(1, 64), (1, 0), (2, 64), (3, 64), (3, 0)])
async def test_our_settings_leak_nothing(model: Path, slots: int, cache_ram_mib: int) -> None:
    engine = LlamaServer(_settings(model, slots, cache_ram_mib))
    await engine.start()
    api = LlamaHttp(engine.endpoint)
    numbers = itertools.count()

    async def ask(matter: str, prompt: Prompt) -> Seen:
        request = Request(
            id=str(next(numbers)),
            matter=matter,
            prompt=prompt,
            limits=Limits(max_tokens=ANSWER_TOKENS),
        )
        async with aclosing(engine.stream(request)) as events:
            return _seen([event async for event in events])

    async def odds(matter: str, prompt: Prompt) -> dict[str, float]:
        return (await api.peek(walled(matter, prompt))).logprobs

    found = await run_campaign(
        "ours",
        alternations=11,
        concurrency=slots,
        ask=ask,
        odds=odds if slots == 1 else None,
        seed=3,
    )
    await api.close()
    await engine.stop()
    assert found.alternations == 11
    assert [row for row in found.rows if row["expected"] != row["came"]] == []
    assert found.leaks == 0


@pytest.mark.parametrize("cache_ram_mib", [64, 0])
async def test_the_campaign_catches_a_server_as_it_comes(model: Path, cache_ram_mib: int) -> None:
    found = await _without_a_code(model, cache_ram_mib)
    assert found.leaks > 0
    assert found.kinds >= {"probe"}


async def _without_a_code(model: Path, cache_ram_mib: int) -> Campaign:
    async with raw_server(
        model,
        flags=("--cache-ram", str(cache_ram_mib)),
        context_tokens=512,
        batch_tokens=64,
    ) as api:

        async def ask(_matter: str, prompt: Prompt) -> Seen:
            limits = Limits(max_tokens=ANSWER_TOKENS)
            async with aclosing(api.ask(prompt, limits, stall_timeout_s=60)) as events:
                return _seen([event async for event in events])

        return await run_campaign(
            "leaky", alternations=2, concurrency=1, ask=ask, odds=None, seed=3
        )


async def test_a_keeper_whose_wall_is_gone_stops_itself(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the code ever lost, the watch sees it in the first answer that reuses too much."""
    monkeypatch.setattr(llama_server, "walled", lambda _matter, prompt: prompt)
    engine = LlamaServer(_settings(model, 1, 64))
    monkeypatch.setattr(llama_server, "shared_tokens", lambda _tokens_of: asyncio.sleep(0, 3))
    await engine.start()
    prompt = Prompt(system="s", record=tuple(f"line {n} of it" for n in range(20)), question="q")

    async def ask(matter: str) -> list[StreamEvent]:
        request = Request(id=matter, matter=matter, prompt=prompt, limits=Limits(max_tokens=2))
        async with aclosing(engine.stream(request)) as events:
            return [event async for event in events]

    await ask("M-A")
    with pytest.raises(Internal, match="not this matter's"):
        await ask("M-B")
    assert (await engine.health()).state is State.DOWN
    with pytest.raises(Unavailable):
        await ask("M-A")
    await engine.stop()


_NO_SYSTEM = (
    "{% for m in messages %}{% if m['role'] == 'user' %}<|im_start|>user\n"
    "{{ m['content'] }}<|im_end|>\n{% endif %}{% endfor %}<|im_start|>assistant\n"
)
_SYSTEM_LAST = (
    "{% for m in messages %}{% if m['role'] != 'system' %}<|im_start|>{{ m['role'] }}\n"
    "{{ m['content'] }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% for m in messages %}{% if m['role'] == 'system' %}<|im_start|>system\n"
    "{{ m['content'] }}<|im_end|>\n{% endif %}{% endfor %}<|im_start|>assistant\n"
)


@pytest.mark.parametrize("template", [_NO_SYSTEM, _SYSTEM_LAST])
async def test_a_template_that_hides_the_code_is_refused_or_mended(
    model: Path, tmp_path: Path, template: str
) -> None:
    """A server may itself put a system text it has no role for into the first message."""
    file = tmp_path / "odd.jinja"
    file.write_text(template)
    flags = ("--chat-template-file", str(file))
    engine = LlamaServer(msgspec.structs.replace(_settings(model, 1, 64), flags=flags))
    refused = ""
    try:
        await engine.start()
    except Unavailable as error:
        refused = error.message
    if refused:
        assert "kept apart" in refused
        return
    prompt = Prompt(system="s", record=tuple(f"line {n} of it" for n in range(20)), question="q")
    for matter in ("M-A", "M-B"):
        request = Request(id=matter, matter=matter, prompt=prompt, limits=Limits(max_tokens=2))
        async with aclosing(engine.stream(request)) as events:
            seen = _seen([event async for event in events])
    assert seen.reused_tokens <= 16
    await engine.stop()


async def test_a_long_prompt_holds_a_running_answer_up_by_a_batch_not_by_itself(
    model: Path,
) -> None:
    """With two slots, words of one matter keep coming while another's record is read."""
    engine = LlamaServer(
        EngineSettings(
            model=model,
            slots=2,
            context_tokens=4096,
            batch_tokens=64,
            ubatch_tokens=64,
            cache_ram_mib=0,
        )
    )
    await engine.start()
    record = tuple(f"Line {n}: the tenant pays {n * 37} dollars." for n in range(200))
    long = Request(
        id="long",
        matter="M-A",
        prompt=Prompt(system="s", record=record, question="q"),
        limits=Limits(max_tokens=1),
    )
    running = Request(
        id="running",
        matter="M-B",
        prompt=Prompt(system="s", question="Go on."),
        limits=Limits(max_tokens=2000),
    )
    words = batches = 0
    between: list[int] = []

    async def read() -> None:
        nonlocal batches
        seen = 0
        async with aclosing(engine.stream(long)) as events:
            async for event in events:
                if not isinstance(event, Finished):
                    batches += 1
                    between.append(words - seen)
                    seen = words

    async with aclosing(engine.stream(running)) as events:
        reading: asyncio.Task[None] | None = None
        async for event in events:
            words += isinstance(event, Text)
            if words == 5 and reading is None:
                reading = asyncio.create_task(read())
            if reading is not None and reading.done():
                break
    assert reading is not None
    await reading
    await engine.stop()
    assert batches > 20
    assert sum(between[1:]) > 0.5 * batches  # about a word a batch; none, were it held up
