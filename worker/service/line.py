"""Frames over one byte stream: bounded lines in, whole frames out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from protocol.errors import BadRequest
from protocol.frames import (
    MAX_TO_CLIENT_BYTES,
    MAX_TO_WORKER_BYTES,
    LineSplitter,
    ToClient,
    ToWorker,
    decode_to_worker,
    encode,
)

_READ_BYTES = 64 * 1024
_LINGER_S = 1.0
_UNSENT_BYTES = 256 * 1024  # then `send` waits: a slow reader holds up its own line only


class TooLarge(BadRequest):
    """A frame for the client is over the limit; the line is still good."""


class _CallShape(msgspec.Struct, frozen=True, tag_field="frame", tag="call"):
    """The little of a malformed call that is needed to answer it."""

    id: int


class FrameLine:
    """The worker's end of a line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()
        writer.transport.set_write_buffer_limits(high=_UNSENT_BYTES)

    async def lines(self) -> AsyncIterator[bytes]:
        """Whole lines until the peer says no more; what is left without a newline is dropped.

        Raises:
            BadRequest: A line grew over the limit.
            OSError: The line broke.
        """
        splitter = LineSplitter(MAX_TO_WORKER_BYTES)
        while data := await self._reader.read(_READ_BYTES):
            for line in splitter.feed(data):
                yield line

    async def send(self, frame: ToClient) -> None:
        """Sends a frame; returns when the stream can take more.

        Raises:
            TooLarge: The frame is over the limit; nothing was sent.
            OSError: The line is gone.
        """
        data = encode(frame)
        if len(data) > MAX_TO_CLIENT_BYTES:
            raise TooLarge("the reply is larger than the line carries", next_step="ask for less")
        async with self._sending:
            if self._writer.is_closing():
                raise ConnectionResetError
            self._writer.write(data)
            await self._writer.drain()

    async def close(self) -> None:
        """Closes the line; what was given to `send` arrives.

        Closing on bytes that were not read would reset the line and take our last words with it,
        so they are read and dropped first, for a moment.
        """
        try:
            async with asyncio.timeout(_LINGER_S):
                self._writer.write_eof()
                while await self._reader.read(_READ_BYTES):
                    pass
                self._writer.close()
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


def decode(line: bytes) -> ToWorker | tuple[int, BadRequest]:
    """The frame, or for a call that is malformed inside its number and what is wrong.

    Raises:
        BadRequest: Not even that can be told.
    """
    try:
        return decode_to_worker(line)
    except BadRequest as error:
        try:
            shape = msgspec.json.decode(line, type=_CallShape)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise error from None
        if shape.id < 1:
            raise error from None
        return shape.id, error
