"""A child's socket joined to the worker, and to the next one when a worker goes.

The child holds one end of a pair and never learns the worker's path. Lines are passed whole, so
after a cut the next greeting starts on a fresh line: the child is sent an `Error` with number 0,
what it says before its next hello is dropped, and with that hello a worker is asked anew, under the
same stamp.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Unavailable, to_wire
from protocol.frames import (
    MAX_TO_CLIENT_BYTES,
    MAX_TO_WORKER_BYTES,
    Error,
    Hello,
    LineSplitter,
    Stamp,
    encode,
)
from worker.gateway.worker_line import connect

_READ_BYTES: Final = 64 * 1024
_GONE: Final = Unavailable("the assistant is being restarted", next_step="wait a moment")


class _End:
    """One end: whole lines in, bytes out."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, max_bytes: int
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._splitter = LineSplitter(max_bytes)
        self._ready: list[bytes] = []

    @classmethod
    async def of(cls, line: socket.socket, max_bytes: int) -> _End:
        return cls(*await asyncio.open_unix_connection(sock=line), max_bytes)

    async def next(self) -> bytes | None:
        """The next line with its newline; None when no more will come. Safe to cancel."""
        while not self._ready:
            try:
                data = await self._reader.read(_READ_BYTES)
                self._ready.extend(self._splitter.feed(data))
            except (OSError, BadRequest):
                return None
            if not data:
                return None
        return self._ready.pop(0) + b"\n"

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def no_more(self) -> None:
        with contextlib.suppress(OSError):
            self._writer.write_eof()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def relay(ours: socket.socket, first: socket.socket, stamp: Stamp, worker: Path) -> None:
    """Serves the child at the other end of ``ours`` until it is gone.

    Args:
        ours: Our end of the pair; closed at the end.
        first: A stamped connection to the worker, for the first hello.
        stamp: Whose line it is.
        worker: The worker's socket, for every further hello.
    """
    ours.setblocking(False)
    child = await _End.of(ours, MAX_TO_WORKER_BYTES)
    line: socket.socket | None = first
    try:
        while (hello := await _hello(child)) is not None:
            try:
                line = line if line is not None else await connect(worker, stamp)
            except Unavailable as error:
                await child.send(encode(Error(id=0, error=to_wire(error))))
                continue
            end, line = await _End.of(line, MAX_TO_CLIENT_BYTES), None
            try:
                if await _join(child, end, hello):
                    return
            finally:
                await end.close()
            await child.send(encode(Error(id=0, error=to_wire(_GONE))))
    except OSError:
        pass  # the child is gone
    finally:
        if line is not None:
            line.close()
        await child.close()


async def _hello(child: _End) -> bytes | None:
    while (line := await child.next()) is not None:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            msgspec.json.decode(line, type=Hello)
            return line
    return None


async def _join(child: _End, end: _End, hello: bytes) -> bool:
    """Passes lines both ways; True when it was the child who ended it."""
    up = asyncio.create_task(_up(child, end, hello))
    try:
        while (line := await end.next()) is not None:
            await child.send(line)
        return up.done() and not up.cancelled() and up.exception() is None
    finally:
        up.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await up


async def _up(child: _End, end: _End, line: bytes | None) -> None:
    while line is not None:
        await end.send(line)
        line = await child.next()
    end.no_more()
