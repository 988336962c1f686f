"""One connected line to the worker: greeting, calls by number, heartbeat; no reconnecting.

The bytes come from a `Stream` (an SSH channel, a unix socket); `bot/link` opens those and goes
on when one is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from typing import Final, Protocol

from protocol import frames
from protocol.errors import AppError, BadRequest, Unavailable, from_wire
from protocol.events import Event
from protocol.frames import Call, Error, EventFrame, Hello, Ping, Pong, Return, Welcome
from protocol.jobs import Request, Result

_READ_BYTES: Final = 64 * 1024
_SILENT_PINGS: Final = 3

MOST_WAITING: Final = 1000
"""Events of one job that may wait for a slow consumer; beyond it he reads on by number."""


class Stream(Protocol):
    """Bytes both ways."""

    async def read(self, most: int, /) -> bytes:
        """Some bytes; empty at the end. Raises `OSError` when the line breaks."""
        ...

    async def write(self, data: bytes, /) -> None:
        """Sends all of it. Raises `OSError` when the line breaks."""
        ...

    async def close(self) -> None:
        """Lets go of the line."""
        ...


class LineLost(Exception):
    """The line is gone; everything sent on it may be sent again on another one."""


class Pending:
    """What comes back for one call."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[Event | Result | AppError | LineLost] = asyncio.Queue()
        self.lagging = False
        """Events were dropped because nobody took them; follow again from the last one taken."""

    def put(self, what: Event | Result | AppError | LineLost) -> None:
        """Hands over what came, never waiting."""
        if isinstance(what, Event) and self._came.qsize() >= MOST_WAITING:
            self.lagging = True
        elif not self.lagging or not isinstance(what, Event):
            self._came.put_nowait(what)

    async def next(self) -> Event | Result:
        """The next event, or the result that ends the call.

        Raises:
            AppError: The call failed.
            LineLost: The line is gone.
        """
        what = await self._came.get()
        if isinstance(what, AppError | LineLost):
            raise what
        return what

    def empty(self) -> bool:
        """Whether nothing waits to be taken."""
        return self._came.empty()


class Line:
    """A greeted line."""

    def __init__(self, stream: Stream, *, ping_s: float = 20.0) -> None:
        self._stream = stream
        self._ping_s = ping_s
        self._splitter = frames.LineSplitter(frames.MAX_TO_CLIENT_BYTES)
        self._ready: list[bytes] = []
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._heard_at = time.monotonic()
        self._over = False
        self._sending = asyncio.Lock()

    async def greet(self, client: str) -> Welcome:
        """Says hello and waits for the welcome; frames of an earlier greeting are passed over.

        Raises:
            AppError: The worker refuses, or speaks no version of ours.
            LineLost: The line broke.
        """
        hello = Hello(lowest=frames.VERSION, highest=frames.VERSION, client=client)
        with contextlib.suppress(LineLost):  # a line that is closing may still say why
            await self._send(hello)
        while True:
            frame = await self._next()
            if isinstance(frame, Welcome):
                if frame.version != frames.VERSION:
                    raise BadRequest("the worker speaks another version of the protocol")
                return frame
            if isinstance(frame, Error) and frame.id == 0:
                raise from_wire(frame.error)

    async def run(self) -> None:
        """Reads until the line ends; every open call then ends with `LineLost`.

        Raises:
            AppError: The worker ended the line and said why.
            LineLost: It just ended.
        """
        beat = asyncio.create_task(self._beat())
        try:
            while True:
                await self._take(await self._next())
        finally:
            beat.cancel()
            self._over = True
            for pending in self._pending.values():
                pending.put(LineLost())
            self._pending.clear()

    async def call(self, request: Request, acting_for: str | None) -> Pending:
        """Sends a request; what comes back is read from the result.

        Raises:
            BadRequest: The request is longer than the line carries.
            LineLost: The line is gone.
        """
        if self._over:
            raise LineLost
        number = next(self._numbers)
        call = Call(id=number, request=request, acting_for=acting_for)
        if len(frames.encode(call)) > frames.MAX_TO_WORKER_BYTES:
            raise BadRequest("that is too long to send", next_step="put it into the matter's inbox")
        pending = self._pending[number] = Pending()
        try:
            await self._send(call)
        except LineLost:
            self._pending.pop(number, None)
            raise
        return pending

    def forget(self, pending: Pending) -> None:
        """What still comes for a call is passed over."""
        self._pending = {n: p for n, p in self._pending.items() if p is not pending}

    async def close(self) -> None:
        """Lets go of the line."""
        self._over = True
        await self._stream.close()

    async def _take(self, frame: frames.ToClient) -> None:
        if isinstance(frame, Ping):
            await self._send(Pong(number=frame.number))
        elif isinstance(frame, Error) and frame.id == 0:
            raise from_wire(frame.error)
        elif isinstance(frame, EventFrame) and frame.id in self._pending:
            self._pending[frame.id].put(frame.event)
        elif isinstance(frame, Return | Error) and frame.id in self._pending:
            done = frame.result if isinstance(frame, Return) else from_wire(frame.error)
            self._pending.pop(frame.id).put(done)

    async def _next(self) -> frames.ToClient:
        while not self._ready:
            try:
                data = await self._stream.read(_READ_BYTES)
            except OSError:
                raise LineLost from None
            if not data:
                raise LineLost
            self._ready.extend(self._splitter.feed(data))
            self._heard_at = time.monotonic()
        return frames.decode_to_client(self._ready.pop(0))

    async def _send(self, frame: frames.ToWorker) -> None:
        async with self._sending:
            try:
                await self._stream.write(frames.encode(frame))
            except OSError:
                raise LineLost from None

    async def _beat(self) -> None:
        """Pings; a line on which nothing comes back is closed, which ends `run`."""
        for number in itertools.count(1):
            await asyncio.sleep(self._ping_s)
            if time.monotonic() - self._heard_at > _SILENT_PINGS * self._ping_s:
                break
            try:
                async with asyncio.timeout(self._ping_s):
                    await self._send(Ping(number=number))
            except (LineLost, TimeoutError):
                break
        await self._stream.close()


def worth_retrying(error: AppError) -> bool:
    """Whether opening the line again may help after the worker ended it with this error."""
    return isinstance(error, Unavailable) or error.retry
