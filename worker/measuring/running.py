"""One timed call of an engine."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import aclosing

from protocol.errors import Unavailable
from worker.engine import (
    Engine,
    Finished,
    FinishReason,
    Limits,
    Prompt,
    ReasoningText,
    Request,
    Text,
    Usage,
)
from worker.measuring import Cards, Run

MATTER = "measure"
"""Nobody's: the text is made up."""


async def timed(
    engine: Engine,
    prompt: Prompt,
    *,
    kind: str,
    size: int,
    output_tokens: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Run, Usage]:
    """Ask once, greedily, with nothing reused and no end of its own.

    Args:
        engine: Idle.
        prompt: Of `texts.prompt_of`.
        kind: For the row.
        size: For the row.
        output_tokens: How much is written.
        clock: Seconds; passed in by tests.

    Raises:
        Unavailable: The engine went away, or ended before its first word.
    """
    request = Request(
        id=f"measure-{secrets.token_hex(6)}",
        matter=MATTER,
        prompt=prompt,
        limits=Limits(max_tokens=output_tokens, reuse=False, ignore_end=True),
    )
    usage = Usage()
    first = last = 0.0
    started = clock()
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, Text | ReasoningText):
                last = clock()
                first = first or last
            elif isinstance(event, Finished):
                usage = event.usage
    if not first or usage.finish_reason not in (FinishReason.LENGTH, FinishReason.STOP):
        raise Unavailable("the engine ended a measured call before it had written")
    return _run(kind, size, usage, started, first, last), usage


def _run(kind: str, size: int, usage: Usage, started: float, first: float, last: float) -> Run:
    read = usage.prompt_tokens - usage.reused_tokens
    return Run(
        kind=kind,
        size=size,
        prompt_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        ttft_ms=1000 * (first - started),
        prefill_tokens_per_s=read * 1000 / usage.prefill_ms if usage.prefill_ms > 0 else 0.0,
        decode_tokens_per_s=(usage.output_tokens - 1) / (last - first) if last > first else 0.0,
        drafted_tokens=usage.drafted_tokens,
        accepted_tokens=usage.accepted_tokens,
        cards=Cards(),
    )
