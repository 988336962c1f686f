"""Child processes of a test or a bench: none outlives it, whatever becomes of it.

A child that a failing test leaves behind runs on, and its transport, never closed, is reported as a
`ResourceWarning` in whichever later test the collector happens to run.
"""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from typing import Final

PATIENCE_S: Final = 180.0
"""Seconds that only a hang can reach, on a loaded machine too."""


async def finish(
    child: Process, stdin: bytes | None = None, within_s: float = PATIENCE_S
) -> tuple[bytes, bytes]:
    """What a child said on its output and on its errors, once it has ended.

    Raises:
        TimeoutError: It did not end within ``within_s`` seconds. It has been ended.
    """
    async with owned(child), asyncio.timeout(within_s):
        return await child.communicate(stdin)


@contextlib.asynccontextmanager
async def owned(child: Process) -> AsyncIterator[Process]:
    """A child for the length of a block; at its end, however it comes, the child has ended."""
    try:
        yield child
    finally:
        await end(child)


async def end(child: Process) -> None:
    """Ends a child that still runs, and closes the pipes it was joined by."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    child._transport.close()  # type: ignore[attr-defined]
