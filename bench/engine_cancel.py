"""Cancels at the engine itself: how much more does it do once it was asked to stop?"""

from __future__ import annotations

import asyncio
import statistics
import time
from contextlib import AsyncExitStack, aclosing
from typing import Any

from bench.engine_asking import BATCH_TOKENS, lease, started_engine
from bench.harness import Result
from worker.engine import Finished, Limits, Prompt, PromptProgress, Request, Text
from worker.engine.llama_http import LlamaHttp
from worker.engine.llama_server import LlamaServer

_FEW_TOKENS = 3
"""While it writes: the token that runs, one more, and one that is on the line."""


async def measure_cancels(result: Result, *, cancels: int) -> None:
    """Stop while it reads and while it writes; how much more does the engine do?

    The server looks at a closed stream after each batch and may have begun the next one by then, so
    in time means: the batch that ran when it was asked, and at most one more. Counted in tokens,
    which a busy machine does not change; the milliseconds stand in the rows.
    """
    in_time = 0
    batches: list[float] = []
    idle_ms: list[float] = []
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(started_engine())
        api = LlamaHttp(engine.endpoint)
        stack.push_async_callback(api.close)
        for n in range(cancels):
            reading = n % 2 == 0
            row = await _cancel_once(engine, api, n, reading=reading)
            in_time += row["tokens_after"] <= row["expected_at_most_tokens"]
            if reading:
                batches.append(row["tokens_after"] / BATCH_TOKENS)
            idle_ms.append(row["idle_after_ms"])
            result.rows.append(row)
    result.figures["engine_cancels"] = cancels
    result.figures["engine_cancels_in_time"] = in_time
    result.figures["cancel_batches_median"] = round(statistics.median(batches), 2)
    result.figures["cancel_idle_ms_median"] = round(statistics.median(idle_ms), 1)


async def _cancel_once(
    engine: LlamaServer, api: LlamaHttp, number: int, *, reading: bool
) -> dict[str, Any]:
    """One cancel at a time that differs from call to call; its row."""
    prompt = Prompt(
        system="Answer from the record.",
        record=lease(1200 if reading else 60, 100 + number),
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
