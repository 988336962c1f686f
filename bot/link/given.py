"""The way over a descriptor that this process was given, a connected unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

from bot.link.line import Stream
from protocol.errors import BadRequest, Refused


class FdWay:
    """Over a descriptor that this process was given, a connected unix socket.

    Whoever holds the other end restarts the line in place: after an `Error` with number 0 the next
    hello greets a worker anew. So the same stream is given out each time.
    """

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        self._stream: _SocketStream | None = None

    async def open(self) -> Stream:
        """The stream; the descriptor belongs to it from then on."""
        if self._stream is None:
            assert self._fd is not None
            try:
                line = socket.socket(fileno=self._fd)
            except OSError as error:
                raise BadRequest("that descriptor is no socket") from error
            self._fd = None
            line.setblocking(False)
            os.set_inheritable(line.fileno(), False)
            self._stream = _SocketStream(*await asyncio.open_unix_connection(sock=line))
        if self._stream.ended:
            raise Refused("the line that this program was given is closed")
        return self._stream

    async def close(self) -> None:
        """Closes the socket."""
        if self._stream is not None:
            await self._stream.end()


class _SocketStream:
    """A unix socket as a `Stream` that outlives a line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.ended = False

    async def read(self, most: int) -> bytes:
        data = await self._reader.read(most)
        self.ended = self.ended or not data
        return data

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Leaves the socket open for the next greeting."""

    async def end(self) -> None:
        self.ended = True
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
