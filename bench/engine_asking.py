"""Asking an engine in a bench: one started with small batches, its answers with their times."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from worker.engine import EngineSettings, Finished, Limits, Prompt, Request, Text, Usage
from worker.engine.llama_server import LlamaServer

BATCH_TOKENS = 64
_LINE_TOKENS = 25


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One answer with its times, in milliseconds from the call."""

    text: str
    usage: Usage
    first_word_ms: float


@asynccontextmanager
async def started_engine(**changed: Any) -> AsyncIterator[LlamaServer]:
    """A started engine on the bundled model unless the settings say another; stopped afterwards."""
    base = {"batch_tokens": BATCH_TOKENS, "ubatch_tokens": BATCH_TOKENS, "context_tokens": 4096}
    engine = LlamaServer(EngineSettings(**{**base, **changed}))
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def ask_engine(
    engine: LlamaServer, matter: str, prompt: Prompt, max_tokens: int = 8
) -> Answered:
    """One answer with its times."""
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


def lease(tokens: int, seed: int) -> tuple[str, ...]:
    """Lines of a lease of so many tokens, about 25 each; another seed shares no line."""
    return tuple(
        f"Section {seed}.{n}: the tenant shall pay {n * 37 % 991} dollars on day {n % 28 + 1}."
        for n in range(tokens // _LINE_TOKENS)
    )
