"""Small acts that every keeper shares around its stream."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from protocol.errors import BadRequest
from worker.engine import (
    Finished,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    StreamEvent,
    Usage,
    messages,
)
from worker.engine.schema import refuse_unknown_schema
from worker.engine.wall import walled

TEMPLATE_TOKENS_A_MESSAGE = 32
"""Upper bound of what a template puts around one message."""


class Streams(Protocol):
    """The one method of `Engine` that is needed here."""

    def stream(
        self, request: Request, on_progress: Callable[[PromptProgress], None] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        """See `Engine.stream`."""


def refuse_bad_limits(limits: Limits) -> None:
    """Nothing when the limits can be kept.

    Raises:
        BadRequest: No room for an answer, or a schema that we cannot check.
    """
    if limits.max_tokens < 1:
        raise BadRequest("an answer needs room for at least one token")
    if limits.json_schema is not None:
        refuse_unknown_schema(limits.json_schema)


def most_tokens(matter: str, prompt: Prompt) -> int:
    """More tokens than the prompt can have: a token is at least one byte."""
    said = messages(walled(matter, prompt))
    return sum(len(m["content"].encode()) + TEMPLATE_TOKENS_A_MESSAGE for m in said)


async def read_only(engine: Streams, matter: str, prompt: Prompt) -> Usage:
    """Have an engine read a prompt and write one token, which is dropped."""
    request = Request(
        id=f"read-{secrets.token_hex(8)}",
        matter=matter,
        prompt=prompt,
        limits=Limits(max_tokens=1),
    )
    usage = Usage()
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, Finished):
                usage = event.usage
    return usage
