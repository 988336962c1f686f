"""The engine: reuse of a record's head, cancel, the wall in the kv_cache, what our path adds.

Everything runs on the real native server with the bundled small model, one thread; part of the
canary campaign runs on a random-weight model with a sliding window, because it is quick and its
cache is the harder one to keep apart. Ratios are of runs in one process run, interleaved.
"""

from __future__ import annotations

import asyncio
import secrets
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.canary import ANSWER_TOKENS, Campaign, Seen, run_campaign
from bench.engine_ahead import measure_ahead
from bench.engine_path import measure_path
from bench.harness import Arguments, Result
from bench.raw_server import raw_server
from bench.tiny_model import write_sliding_window_model
from worker.engine import (
    EngineSettings,
    Finished,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    Text,
    Usage,
    bundled_model,
)
from worker.engine.llama_http import LlamaHttp
from worker.engine.llama_server import LlamaServer
from worker.engine.wall import walled

BATCH_TOKENS = 64
HEAD_TOKENS = 2000
_LINE_TOKENS = 25
_FEW_TOKENS = 3
"""While it writes: the token that runs, one more, and one that is on the line."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done."""

    reuse_runs: int
    pairs: int
    cancels: int
    """Over SSH, half while reading, half while writing."""
    engine_cancels: int
    """The same at the engine itself, at moments spread over a batch."""
    small_alternations: int
    window_alternations: tuple[int, int, int]
    """With one, two and three slots."""
    small_parallel: tuple[int, int]
    """With two and three slots."""
    leaky_alternations: int

    @property
    def alternations(self) -> int:
        return self.small_alternations + sum(self.window_alternations) + sum(self.small_parallel)


QUICK = Sizes(
    reuse_runs=2,
    pairs=5,
    cancels=20,
    engine_cancels=8,
    small_alternations=60,
    window_alternations=(140, 60, 40),
    small_parallel=(10, 10),
    leaky_alternations=11,
)
FULL = Sizes(
    reuse_runs=5,
    pairs=9,
    cancels=50,
    engine_cancels=50,
    small_alternations=2000,
    window_alternations=(5000, 1500, 1000),
    small_parallel=(300, 300),
    leaky_alternations=31,
)


PARTS = ("reuse", "ahead", "cancels", "path", "wall")


def run(arguments: Arguments) -> Result:
    """The engine bench; see the module."""
    return asyncio.run(_run(arguments, FULL if arguments.full else QUICK))


async def _run(arguments: Arguments, sizes: Sizes) -> Result:
    result = Result(figures={})
    with tempfile.TemporaryDirectory(prefix="sc-bench-") as scratch:
        folder = Path(scratch)
        if arguments.wants("reuse"):
            await _reuse(result, sizes, folder, arguments.seed)
        if arguments.wants("ahead"):
            await measure_ahead(result)
        if arguments.wants("cancels"):
            await _cancels(result, sizes)
        if arguments.wants("path"):
            await measure_path(result, pairs=sizes.pairs, cancels=sizes.cancels)
        if arguments.wants("wall"):
            await _wall(result, sizes, folder, arguments.seed)
    figures = result.figures
    result.sizes = {
        "head_tokens": HEAD_TOKENS,
        "batch_tokens": BATCH_TOKENS,
        "reuse_runs": sizes.reuse_runs,
        "alternations": sizes.alternations,
        "leaky_alternations": sizes.leaky_alternations,
    }
    result.failed = bool(
        figures.get("canary_leaks")
        or figures.get("leaky_settings_caught") != figures.get("leaky_settings")
        or figures.get("cancels_in_time") != figures.get("cancels")
        or figures.get("engine_cancels_in_time") != figures.get("engine_cancels")
        or not (figures.get("warm_speedup", 8) or 0) >= 8
        or not (figures.get("restore_speedup", 8) or 0) >= 8
    )
    return result


# --- asking ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One answer with its times, in milliseconds from the call."""

    text: str
    usage: Usage
    first_word_ms: float


@asynccontextmanager
async def _engine(**changed: Any) -> AsyncIterator[LlamaServer]:
    base = {"batch_tokens": BATCH_TOKENS, "ubatch_tokens": BATCH_TOKENS, "context_tokens": 4096}
    engine = LlamaServer(EngineSettings(**{**base, **changed}))
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def _ask(engine: LlamaServer, matter: str, prompt: Prompt, max_tokens: int = 8) -> Answered:
    request = Request(
        id=secrets.token_hex(8),
        matter=matter,
        prompt=prompt,
        limits=Limits(max_tokens=max_tokens),
    )
    started = time.perf_counter()
    first = 0.0
    words: list[str] = []
    usage = Usage()
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, Text):
                first = first or time.perf_counter()
                words.append(event.delta)
            elif isinstance(event, Finished):
                usage = event.usage
    return Answered(text="".join(words), usage=usage, first_word_ms=1000 * (first - started))


def _record(tokens: int, seed: int) -> tuple[str, ...]:
    """Lines of a lease, about 25 tokens each; another seed shares no line."""
    return tuple(
        f"Section {seed}.{n}: the tenant shall pay {n * 37 % 991} dollars on day {n % 28 + 1}."
        for n in range(tokens // _LINE_TOKENS)
    )


# --- reuse ----------------------------------------------------------------------------------------


async def _reuse(result: Result, sizes: Sizes, folder: Path, seed: int) -> None:
    """Cold, warm, and restored by another process; beside it a client that asks first."""
    warm, restored, question_first = [], [], []
    for n in range(sizes.reuse_runs):
        record = _record(HEAD_TOKENS, seed + n)
        head = Prompt(system="Answer from the record.", record=record)
        first, second = (
            Prompt(system=head.system, record=record, question=question)
            for question in ("Who pays?", "When is the rent due?")
        )
        async with _engine(slot_files=True) as engine:
            cold = await _ask(engine, "M-A", first)
            again = await _ask(engine, "M-A", second)
            await engine.save("M-A", head, folder)
        async with _engine(slot_files=True) as engine:
            started = time.perf_counter()
            loaded = await engine.restore("M-A", head, folder)
            restore_ms = 1000 * (time.perf_counter() - started)
            back = await _ask(engine, "M-A", second)
        stock = await _question_first(record)
        back_ms = restore_ms + back.first_word_ms
        warm.append(cold.first_word_ms / again.first_word_ms)
        restored.append(cold.first_word_ms / back_ms if loaded else 0.0)
        question_first.append(stock[0] / stock[1])
        result.rows.append(
            {
                "part": "reuse",
                "run": n,
                "expected": "warm and restored at least 8 times faster",
                "cold_ms": cold.first_word_ms,
                "warm_ms": again.first_word_ms,
                "restore_and_ask_ms": back_ms,
                "prompt_tokens": cold.usage.prompt_tokens,
                "warm_reused_tokens": again.usage.reused_tokens,
                "restored_reused_tokens": back.usage.reused_tokens,
                "question_first_ms": stock,
            }
        )
    result.figures["warm_speedup"] = round(statistics.median(warm), 2)
    result.figures["restore_speedup"] = round(statistics.median(restored), 2)
    result.figures["question_first_speedup"] = round(statistics.median(question_first), 2)


async def _question_first(record: tuple[str, ...]) -> list[float]:
    """First words of the same two questions where the question stands before the record."""
    times = []
    async with raw_server(bundled_model(), batch_tokens=BATCH_TOKENS) as api:
        for question in ("Who pays?", "When is the rent due?"):
            prompt = Prompt(
                system="Answer from the record.", record=(question,), question="\n\n".join(record)
            )
            started = time.perf_counter()
            async with aclosing(
                api.ask(prompt, Limits(max_tokens=8), stall_timeout_s=600)
            ) as events:
                async for event in events:
                    if isinstance(event, Text):
                        times.append(1000 * (time.perf_counter() - started))
                        break
    return times


# --- cancel ---------------------------------------------------------------------------------------


async def _cancels(result: Result, sizes: Sizes) -> None:
    """Stop while it reads and while it writes; how much more does the engine do?

    The server looks at a closed stream after each batch and may have begun the next one by then, so
    in time means: the batch that ran when it was asked, and at most one more. Counted in tokens,
    which a busy machine does not change; the milliseconds stand in the rows.
    """
    in_time = 0
    batches: list[float] = []
    idle_ms: list[float] = []
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(_engine())
        api = LlamaHttp(engine.endpoint)
        stack.push_async_callback(api.close)
        for n in range(sizes.engine_cancels):
            reading = n % 2 == 0
            row = await _cancel_once(engine, api, n, reading=reading)
            in_time += row["tokens_after"] <= row["expected_at_most_tokens"]
            if reading:
                batches.append(row["tokens_after"] / BATCH_TOKENS)
            idle_ms.append(row["idle_after_ms"])
            result.rows.append(row)
    result.figures["engine_cancels"] = sizes.engine_cancels
    result.figures["engine_cancels_in_time"] = in_time
    result.figures["cancel_batches_median"] = round(statistics.median(batches), 2)
    result.figures["cancel_idle_ms_median"] = round(statistics.median(idle_ms), 1)


async def _cancel_once(
    engine: LlamaServer, api: LlamaHttp, number: int, *, reading: bool
) -> dict[str, Any]:
    """One cancel at a time that differs from call to call; its row."""
    prompt = Prompt(
        system="Answer from the record.",
        record=_record(1200 if reading else 60, 100 + number),
        question="Go on and on.",
    )
    request = Request(
        id=f"cancel-{number}", matter="M-A", prompt=prompt, limits=Limits(max_tokens=600)
    )
    done = words = total = 0
    started = 0.0
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, PromptProgress):
                done, total = event.processed, event.total
            elif isinstance(event, Text):
                words += 1
            elif isinstance(event, Finished):
                break
            at = done >= 4 * BATCH_TOKENS if reading else words >= 5
            if at and not started:
                await asyncio.sleep(0.037 * (number % 7))  # anywhere within a batch
                started = time.perf_counter()
                await engine.cancel(request.id)
    await engine.wait_idle(60)
    idle_after_ms = 1000 * (time.perf_counter() - started)
    slot = (await api.get("/slots"))[0]
    seen = done if reading else total + words
    return {
        "part": "cancel",
        "number": number,
        "while": "reading" if reading else "writing",
        "tokens_at_cancel": seen,
        "tokens_after": slot["n_prompt_tokens"] - seen,
        "expected_at_most_tokens": 2 * BATCH_TOKENS if reading else _FEW_TOKENS,
        "idle_after_ms": round(idle_after_ms, 1),
    }


# --- the wall -------------------------------------------------------------------------------------


async def _wall(result: Result, sizes: Sizes, folder: Path, seed: int) -> None:
    """No leak with our settings; every leaky setting caught by the same campaign."""
    window = await asyncio.to_thread(
        write_sliding_window_model, folder / "window.gguf", bundled_model()
    )
    ours = [
        await _ours("small model", sizes.small_alternations, 1, seed, **_SIMPLE_DRAFTS),
        await _ours("small model, 2 slots", sizes.small_parallel[0], 2, seed),
        await _ours("small model, 3 slots", sizes.small_parallel[1], 3, seed),
    ]
    for slots, alternations in enumerate(sizes.window_alternations, start=1):
        name = f"window model, {slots} slot{'s' * (slots > 1)}"
        ours.append(await _ours(name, alternations, slots, seed, model=window))
    leaky = [
        await _leaky("no matter code, host-RAM cache", sizes, seed, "--cache-ram", "256"),
        await _leaky("no matter code, one slot", sizes, seed, "--cache-ram", "0"),
        await _leaky("shared n-gram pool", sizes, seed, *_SHARED_POOL, coded=True),
        await _leaky("n-gram map of a slot", sizes, seed, *_SLOT_MAP, coded=True),
        await _leaky_restore("another matter's slot file", seed),
    ]
    for campaign in ours + leaky:
        result.rows += campaign.rows
        result.rows.append(
            {
                "part": "campaign",
                "campaign": campaign.name,
                "alternations": campaign.alternations,
                "expected": "no leak" if campaign in ours else "caught",
                "came": f"{campaign.leaks} leaks",
                "kinds": sorted(campaign.kinds),
            }
        )
    result.figures["canary_alternations"] = sum(campaign.alternations for campaign in ours)
    result.figures["canary_leaks"] = sum(campaign.leaks for campaign in ours)
    result.figures["leaky_settings"] = len(leaky)
    result.figures["leaky_settings_caught"] = sum(campaign.leaks > 0 for campaign in leaky)


_SHARED_POOL = (
    *("--spec-type", "ngram-mod", "--spec-ngram-mod-n-match", "4"),
    *("--spec-ngram-mod-n-min", "2", "--spec-ngram-mod-n-max", "8", "--cache-ram", "64"),
)
_SLOT_MAP = (
    *("--spec-type", "ngram-map-k", "--spec-ngram-map-k-size-n", "4"),
    *("--spec-ngram-map-k-size-m", "8", "--cache-ram", "64"),
)
_SIMPLE_DRAFTS: dict[str, Any] = {
    "speculation": "ngram-simple",
    "flags": ("--spec-ngram-simple-size-n", "4", "--spec-ngram-simple-size-m", "8"),
}


async def _ours(name: str, alternations: int, slots: int, seed: int, **settings: Any) -> Campaign:
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(
            _engine(slots=slots, context_tokens=512, cache_ram_mib=64, **settings)
        )
        api = LlamaHttp(engine.endpoint)
        stack.push_async_callback(api.close)

        async def ask(matter: str, prompt: Prompt) -> Seen:
            answered = await _ask(engine, matter, prompt, ANSWER_TOKENS)
            return _seen(answered.text, answered.usage)

        async def odds(matter: str, prompt: Prompt) -> dict[str, float]:
            return (await api.peek(walled(matter, prompt))).logprobs

        return await run_campaign(
            name,
            alternations=alternations,
            concurrency=slots,
            ask=ask,
            odds=odds if slots == 1 else None,
            seed=seed,
        )


async def _leaky(name: str, sizes: Sizes, seed: int, *flags: str, coded: bool = False) -> Campaign:
    """The same campaign on a server as it comes."""
    async with raw_server(
        bundled_model(), flags=flags, context_tokens=512, batch_tokens=BATCH_TOKENS
    ) as api:
        return await run_campaign(
            name,
            alternations=sizes.leaky_alternations,
            concurrency=1,
            ask=_raw_ask(api, coded=coded),
            odds=None,
            seed=seed,
        )


async def _leaky_restore(name: str, seed: int) -> Campaign:
    """A slot file of A loaded without asking whose it is."""
    async with raw_server(
        bundled_model(), context_tokens=512, batch_tokens=BATCH_TOKENS, flags=("--cache-ram", "0")
    ) as api:
        plain = _raw_ask(api, coded=False)

        async def ask(matter: str, prompt: Prompt) -> Seen:
            if matter != "M-A":
                try:
                    await api.restore_slot("shared")
                except Exception:
                    await api.erase_slot()
            seen = await plain(matter, prompt)
            if matter == "M-A":
                await api.save_slot("shared")
            return seen

        return await run_campaign(
            name, alternations=1, concurrency=1, ask=ask, odds=None, seed=seed
        )


def _raw_ask(api: LlamaHttp, *, coded: bool) -> Any:
    async def ask(matter: str, prompt: Prompt) -> Seen:
        sent = walled(matter, prompt) if coded else prompt
        words: list[str] = []
        usage = Usage()
        async with aclosing(
            api.ask(sent, Limits(max_tokens=ANSWER_TOKENS), stall_timeout_s=600)
        ) as events:
            async for event in events:
                if isinstance(event, Text):
                    words.append(event.delta)
                elif isinstance(event, Finished):
                    usage = event.usage
        return _seen("".join(words), usage)

    return ask


def _seen(text: str, usage: Usage) -> Seen:
    return Seen(
        text=text,
        prompt_tokens=usage.prompt_tokens,
        reused_tokens=usage.reused_tokens,
        drafted_tokens=usage.drafted_tokens,
    )
