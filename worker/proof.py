"""A real completion as proof that a board works, asked for by the health check.

An engine's own health page says "ok" after a fall back to the processor and after errors of the
card, too. The words asked for are nobody's text. A board that is working on something is not
disturbed: it proves itself. A board is asked no more than once a minute, whoever wants to know.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from protocol.errors import AppError
from worker.engine import Engine, Finished, Limits, Prompt, Request, State, Usage

_TOKENS: Final = 4
_WAIT_S: Final = 60.0
"""A board that gives four tokens in no less is of no use to anybody."""
_KEPT_S: Final = 60.0
_PROMPT: Final = Prompt(
    system="Answer briefly.", record=("Shelf 4: 12 boxes.",), question="How many boxes?"
)


class Proof:
    """Asks one board, and remembers the outcome for a while."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._asking = asyncio.Lock()
        self._last: tuple[float, str, str] | None = None

    async def give(self) -> tuple[str, str]:
        """``ok`` or ``down``, with one sentence."""
        async with self._asking:
            if self._last is not None and self._clock() - self._last[0] < _KEPT_S:
                return self._last[1:]
            if (await self._engine.health()).state is State.BUSY:
                return "ok", "working"
            outcome = await self._ask()
            self._last = (self._clock(), *outcome)
            return outcome

    async def _ask(self) -> tuple[str, str]:
        limits = Limits(max_tokens=_TOKENS, reuse=False)
        request = Request(id="proof", matter="", prompt=_PROMPT, limits=limits)
        usage = Usage()
        try:
            async with asyncio.timeout(_WAIT_S), aclosing(self._engine.stream(request)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        usage = event.usage
        except TimeoutError:
            return "down", f"no {_TOKENS} tokens within {_WAIT_S:.0f} s"
        except AppError as error:
            return "down", error.message
        if usage.output_tokens == 0:
            return "down", "it gave no answer to a test"
        return "ok", f"answered a test with {usage.tokens_per_s:.0f} tok/s"
