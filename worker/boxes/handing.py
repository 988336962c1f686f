"""One engine out of several: our own, and those of other boxes, each call given to one of them.

A call that one of them loses is void, as with any engine; whoever asks again (`write` of the
deliverables does) is then given the next one. The lost one is left alone for a while.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

from protocol.errors import Unavailable
from worker.boxes import Rules
from worker.boxes.borrowed import Borrowed
from worker.engine import (
    AnswerMalformed,
    Capabilities,
    Engine,
    EngineLost,
    EngineProvenance,
    Health,
    Prompt,
    PromptProgress,
    Request,
    State,
    StreamEvent,
    Usage,
)
from worker.logs import Log

LEAVE_ALONE_S: Final = 20.0
"""How long a box that was lost is not asked again."""

_LOG: Final = Log("boxes")


BORROWED: Final = "borrowed"
"""A call was begun on another box."""
HANDED_OVER: Final = "handed_over"
"""A call went to the next engine because the one before was lost or would not take it."""

Told = Callable[[Request, str], None]
"""Hears of every call that was `BORROWED` or `HANDED_OVER`."""


def _nobody(request: Request, what: str) -> None:
    """Hears nothing."""


class HandOff:
    """See `worker.engine.Engine`. Own engine and borrowed ones behind one promise.

    Args:
        own: This box's engine: the only one for matters that stay, and for all that is not a call.
        others: The engines of other boxes, in the order of preference.
        rules: Which matters may leave.
        own_first: Whether others are asked only when our own is away; else they are asked first.
        alone_s: How long a lost box is left alone.
        told: See `Told`.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        own: Engine,
        others: Sequence[Borrowed],
        rules: Rules,
        *,
        own_first: bool = True,
        alone_s: float = LEAVE_ALONE_S,
        told: Told = _nobody,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = own
        self._others = list(others)
        self._rules = rules
        self._own_first = own_first
        self._clock = clock
        self._alone_until: dict[int, float] = {}
        self._moved: set[str] = set()
        self._alone_s = alone_s
        self._told = told

    async def start(self) -> None:
        await self._own.start()

    async def stop(self) -> None:
        for engine in (*self._others, self._own):
            await engine.stop()

    async def health(self) -> Health:
        own = await self._own.health()
        if self._own_first and own.state in (State.READY, State.BUSY):
            return own
        for engine in self._others:
            health = await engine.health()
            if health.state in (State.READY, State.BUSY):
                return Health(state=health.state, detail="another box works for this one")
        if not self._own_first and own.state in (State.READY, State.BUSY):
            return Health(state=own.state, detail="the other box is away: our own engine works")
        return own

    @property
    def capabilities(self) -> Capabilities:
        return self._own.capabilities

    @property
    def provenance(self) -> EngineProvenance:
        return self._own.provenance

    async def count_tokens(self, prompt: Prompt, matter: str = "") -> int:
        return await self._own.count_tokens(prompt, matter)

    async def count_texts(self, texts: Sequence[str]) -> tuple[int, ...]:
        return await self._own.count_texts(texts)

    async def stream(
        self, request: Request, on_progress: Callable[[PromptProgress], None] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        last: Unavailable | None = None
        for engine in self._order(request.matter):
            if (await engine.health()).state not in (State.READY, State.BUSY):
                self._leave_alone(engine)
                continue
            if last is not None or _work(request) in self._moved:
                self._moved.discard(_work(request))
                self._tell(request, HANDED_OVER)
            if engine is not self._own:
                self._tell(request, BORROWED)
            begun = False
            try:
                async with aclosing(engine.stream(request, on_progress)) as events:
                    async for event in events:
                        begun = True
                        yield event
                return
            except AnswerMalformed:
                raise
            except Unavailable as error:
                self._leave_alone(engine)
                self._moved.add(_work(request))
                if begun:
                    raise
                last = error
        raise last or EngineLost("no engine of ours or of another box answers")

    async def cancel(self, request_id: str) -> bool:
        for engine in (self._own, *self._others):
            if await engine.cancel(request_id):
                return True
        return False

    async def wait_idle(self, timeout_s: float) -> None:
        await asyncio.gather(*(e.wait_idle(timeout_s) for e in (self._own, *self._others)))

    async def prewarm(self, matter: str, prompt: Prompt) -> Usage:
        return await self._own.prewarm(matter, prompt)

    async def save(self, matter: str, prompt: Prompt, folder: Path) -> Path | None:
        return await self._own.save(matter, prompt, folder)

    async def restore(self, matter: str, prompt: Prompt, folder: Path) -> bool:
        return await self._own.restore(matter, prompt, folder)

    async def forget(self, matter: str) -> None:
        await self._own.forget(matter)

    def _order(self, matter: str) -> list[Engine]:
        """Who may be asked for this matter, best first; those left alone come last."""
        others: list[Engine] = list(self._others) if self._rules.may_leave(matter) else []
        all_of_them = [self._own, *others] if self._own_first else [*others, self._own]
        now = self._clock()
        return sorted(all_of_them, key=lambda engine: self._alone_until.get(id(engine), 0.0) > now)

    def _leave_alone(self, engine: Engine) -> None:
        self._alone_until[id(engine)] = self._clock() + self._alone_s

    def _tell(self, request: Request, what: str) -> None:
        _LOG.info("call.handed", kind=what)
        self._told(request, what)


def _work(request: Request) -> str:
    """What stays the same of a request's id when it is tried again: all but its last number."""
    return request.id.rpartition(".")[0] or request.id
