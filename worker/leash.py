"""A program that ends when the one that started it ends: it watches its standard input.

The starter holds the other end of a pipe and never writes. However it goes (a return, an exception,
a kill -9), the kernel closes the pipe and the leashed program stops as it would on SIGTERM.
"""

from __future__ import annotations

import asyncio
import sys


async def starter_gone() -> None:
    """Returns once standard input has ended."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    while await reader.read(4096):
        pass
