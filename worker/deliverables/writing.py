"""One call of the engine within a job: progress said, live text kept, a lost engine tried again.

Live text is unverified. It is written to the matter's file first and only then named by an event,
and only where the settings allow it at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any, Final

from protocol.errors import Unavailable
from protocol.events import EngineLost as EngineLostSaid
from protocol.events import Progress, Stage, Words
from worker.deliverables import Desk
from worker.engine import (
    EngineLost,
    Finished,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    State,
    Text,
    Usage,
)
from worker.engine.speeds import Eta

_TRIES: Final = 3
_SAY_EVERY_S: Final = 0.2
"""Between progress events: often enough to look alive, seldom enough to store each one."""
_COME_BACK_S: Final = 90.0
"""How long a lost engine may take to be restarted: it loads its weights again."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What the engine wrote, and what it took."""

    text: str
    usage: Usage


async def write(
    desk: Desk,
    prompt: Prompt,
    *,
    max_tokens: int,
    json_schema: dict[str, Any] | None = None,
    live: bool = False,
) -> Written:
    """Asks the engine and waits for its last word.

    Raises:
        Unavailable: The engine is away and did not come back in time.
        PromptTooLong: Before anything was sent.
    """
    limits = Limits(max_tokens=max_tokens, json_schema=json_schema)
    for attempt in range(1, _TRIES + 1):
        request = Request(
            id=f"{desk.context.job}.{desk.context.attempt}.{attempt}",
            matter=desk.context.matter,
            prompt=prompt,
            limits=limits,
        )
        try:
            return await _once(desk, request, live=live and desk.settings.live_text)
        except EngineLost:
            await desk.context.say(EngineLostSaid())
            if attempt == _TRIES:
                raise
            await _back(desk)
    raise AssertionError("unreachable")


async def _once(desk: Desk, request: Request, *, live: bool) -> Written:
    parts: list[str] = []
    flushed = 0
    said_at = 0.0
    eta = Eta(desk.speed)
    await desk.stage(Stage.READING)
    async with contextlib.aclosing(desk.engine.stream(request)) as events:
        async for event in events:
            now = time.monotonic()
            if isinstance(event, PromptProgress):
                if now - said_at >= _SAY_EVERY_S or event.processed == event.total:
                    said_at = now
                    await desk.read(event, eta)
            elif isinstance(event, Text):
                if not parts:
                    said_at = 0.0
                parts.append(event.delta)
                if now - said_at >= _SAY_EVERY_S:
                    said_at = now
                    if live:
                        flushed = await _flush(desk, parts, flushed)
                    await desk.context.say(Progress(stage=Stage.WRITING, done=len(parts), total=0))
            elif isinstance(event, Finished):
                if desk.speed:
                    desk.speed.note(event.usage)
                return Written(text="".join(parts), usage=event.usage)
    raise EngineLost("the engine ended without a last word")


async def _flush(desk: Desk, parts: list[str], flushed: int) -> int:
    text = "".join(parts[flushed:])
    desk.matter.work.put_part(desk.context.job, desk.context.attempt, flushed, text)
    await desk.context.say(Words(part=flushed))
    return len(parts)


async def _back(desk: Desk) -> None:
    """Waits until the supervisor has the engine ready again."""
    deadline = time.monotonic() + _COME_BACK_S
    while time.monotonic() < deadline:
        health = await desk.engine.health()
        if health.state in (State.READY, State.BUSY):
            return
        if health.state is State.QUARANTINED:
            break
        await asyncio.sleep(0.2)
    raise Unavailable("the model did not come back")
