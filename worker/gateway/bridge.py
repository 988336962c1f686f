"""The subsystem: bytes of a channel to the worker's socket and back, nothing looked at."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from protocol.errors import Unavailable, to_wire
from protocol.frames import Error, Stamp, encode
from worker.gateway.channel import Channel
from worker.gateway.worker_line import connect

_READ_BYTES = 64 * 1024


async def bridge(channel: Channel, stamp: Stamp, worker: Path) -> int:
    """Joins a channel to the worker until either end closes; gives the exit status.

    A client that closes his sending side still gets every reply he asked for.
    """
    try:
        line = await connect(worker, stamp)
    except Unavailable as error:
        await channel.write(encode(Error(id=0, error=to_wire(error))))
        return error.exit_code
    reader, writer = await asyncio.open_unix_connection(sock=line)
    up = asyncio.create_task(_up(channel, writer))
    try:
        while data := await reader.read(_READ_BYTES):
            await channel.write(data)
        return 0
    finally:
        up.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await up
        writer.close()


async def _up(channel: Channel, writer: asyncio.StreamWriter) -> None:
    while data := await channel.read(_READ_BYTES):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
