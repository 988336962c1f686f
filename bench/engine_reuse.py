"""A second question on one record: cold, warm, restored by another process; and a client that
puts the question first."""

from __future__ import annotations

import statistics
import time
from contextlib import aclosing
from pathlib import Path

from bench.engine_asking import BATCH_TOKENS, ask_engine, lease, started_engine
from bench.harness import Result
from bench.raw_server import raw_server
from worker.engine import Limits, Prompt, Text, bundled_model

HEAD_TOKENS = 2000


async def measure_reuse(result: Result, *, runs: int, folder: Path, seed: int) -> None:
    """Cold, warm, and restored by another process; beside it a client that asks first."""
    warm, restored, question_first = [], [], []
    for n in range(runs):
        record = lease(HEAD_TOKENS, seed + n)
        head = Prompt(system="Answer from the record.", record=record)
        first, second = (
            Prompt(system=head.system, record=record, question=question)
            for question in ("Who pays?", "When is the rent due?")
        )
        async with started_engine(slot_files=True) as engine:
            cold = await ask_engine(engine, "M-A", first)
            again = await ask_engine(engine, "M-A", second)
            await engine.save("M-A", head, folder)
        async with started_engine(slot_files=True) as engine:
            started = time.perf_counter()
            loaded = await engine.restore("M-A", head, folder)
            restore_ms = 1000 * (time.perf_counter() - started)
            back = await ask_engine(engine, "M-A", second)
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
