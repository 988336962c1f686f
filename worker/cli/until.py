"""How a long-running command waits for its end: a signal, or the end of the one that started it."""

from __future__ import annotations

import asyncio
import contextlib
import signal

from worker.leash import starter_gone


async def until_ended(*, leashed: bool) -> None:
    """Returns on SIGTERM, SIGINT or, when leashed, when standard input ends."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    waits = [asyncio.create_task(stop.wait())]
    if leashed:
        waits.append(asyncio.create_task(starter_gone()))  # type: ignore[arg-type]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await wait
