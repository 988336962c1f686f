"""Waits until a server that was just started holds its weights."""

from __future__ import annotations

import asyncio

from protocol.errors import Unavailable
from worker.engine.child import Child
from worker.engine.llama_http import LlamaHttp
from worker.engine.unit_child import UnitChild

_POLL_S = 0.05


async def until_loaded(child: Child | UnitChild, api: LlamaHttp, timeout_s: float) -> None:
    """Returns once the server says that it is well.

    Raises:
        Unavailable: It ended before, or does not say so in time; the reason in words.
    """
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                if not child.alive:
                    await child.wait()
                    raise Unavailable(f"the engine did not start: {child.reason()}")
                try:
                    await api.get("/health", timeout_s=2.0)
                    return
                except Unavailable:
                    await asyncio.sleep(_POLL_S)
    except TimeoutError as error:
        raise Unavailable(f"the engine did not start in time: {child.reason()}") from error
