"""One line from its greeting to its end.

Every call is a task of its own, so results come in any order; a follow reads the queue by cursor
and waits only for its own reader. Losing the line stops the follows and nothing else: a call that
was read is carried out.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Final

from protocol.errors import AppError, BadRequest, Unavailable, to_wire
from protocol.frames import Call, Error, EventFrame, Ping, Pong, Return
from protocol.jobs import Done, Follow
from worker.access import Identity
from worker.logs import Log
from worker.registry import RegistryFile
from worker.service import Limits
from worker.service.calls import Calls, without_answer
from worker.service.greeting import greet
from worker.service.line import FrameLine, TooLarge, decode

_log: Final = Log("service")

_SILENT_PINGS: Final = 3  # as the keepalive below: a line is given up after three unanswered ones


class Session:
    """A client's line, as the worker sees it."""

    def __init__(
        self,
        line: FrameLine,
        calls: Calls,
        registry: RegistryFile,
        *,
        number: int,
        epoch: str,
        limits: Limits,
        now: Callable[[], dt.datetime],
    ) -> None:
        self._line = line
        self._calls = calls
        self._registry = registry
        self._number = number
        self._epoch = epoch
        self._limits = limits
        self._now = now
        self._working: set[asyncio.Task[None]] = set()
        self._following: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(limits.calls_at_once)
        self._heard_at = time.monotonic()
        self._listening = True

    async def run(self) -> None:
        """Serves the line until either end is done with it."""
        lines = self._line.lines()
        try:
            async with asyncio.timeout(self._limits.greeting_s):
                who, _ = await greet(
                    self._line,
                    lines,
                    registry=self._registry,
                    epoch=self._epoch,
                    now=self._now(),
                )
        except (AppError, TimeoutError) as error:
            await self._end(error)
            return
        _log.info("line.open", number=self._number, user=who.user)
        try:
            async with asyncio.TaskGroup() as group:
                beat = group.create_task(self._beat())
                await self._read(who, lines)
                self._listening = False
                # The peer may close his sending side and still wait for what he asked.
                await self._settle()
                beat.cancel()
        except* (AppError, OSError) as errors:
            await self._end(_first(errors))
        finally:
            await self._stop_following()
            _log.info("line.closed", number=self._number, user=who.user)

    async def _read(self, who: Identity, lines: AsyncIterator[bytes]) -> None:
        async for text in lines:
            self._heard_at = time.monotonic()
            frame = decode(text)
            if isinstance(frame, tuple):
                number, error = frame
                await self._line.send(Error(id=number, error=to_wire(error)))
            elif isinstance(frame, Ping):
                await self._line.send(Pong(number=frame.number))
            elif isinstance(frame, Call):
                await self._start(who, frame)
            elif not isinstance(frame, Pong):
                raise BadRequest("a greeting comes once")

    async def _start(self, who: Identity, call: Call) -> None:
        if call.id < 1:
            raise BadRequest("a call's number starts at 1")
        if not isinstance(call.request, Follow):
            await self._free.acquire()
            task = _kept(self._working, self._answer(who, call))
            task.add_done_callback(lambda _: self._free.release())
        elif len(self._following) < self._limits.follows:
            _kept(self._following, self._follow(who, call, call.request))
        else:
            error = Unavailable("too many jobs are followed on this line")
            await self._line.send(Error(id=call.id, error=to_wire(error)))

    async def _answer(self, who: Identity, call: Call) -> None:
        try:
            result = await self._calls.result(who, call)
            await self._say(Return(id=call.id, result=result))
        except AppError as error:
            await self._say(Error(id=call.id, error=to_wire(error)))

    async def _follow(self, who: Identity, call: Call, request: Follow) -> None:
        try:
            async for event in self._calls.events(who, call, request):
                try:
                    await self._line.send(EventFrame(id=call.id, event=event))
                except TooLarge:
                    await self._line.send(EventFrame(id=call.id, event=without_answer(event)))
            await self._line.send(Return(id=call.id, result=Done()))
        except AppError as error:
            await self._say(Error(id=call.id, error=to_wire(error)))
        except OSError:
            pass  # the line is gone; the reader notices too

    async def _say(self, frame: Return | Error) -> None:
        """Sends what ends a call; a line that is gone takes nothing with it."""
        try:
            await self._line.send(frame)
        except TooLarge as error:
            await self._say(Error(id=frame.id, error=to_wire(error)))
        except OSError:
            pass

    async def _beat(self) -> None:
        """Pings, and gives the line up when nothing at all comes back."""
        number = 0
        while True:
            await asyncio.sleep(self._limits.ping_s)
            # One who closed his sending side or whose calls fill the line cannot be heard.
            deaf = not self._listening or self._free.locked()
            silent_s = time.monotonic() - self._heard_at
            if not deaf and silent_s > _SILENT_PINGS * self._limits.ping_s:
                raise Unavailable("nothing was heard on this line for too long")
            number += 1
            await self._line.send(Ping(number=number))

    async def _settle(self) -> None:
        """Waits for everything that was asked."""
        while pending := [*self._working, *self._following]:
            await asyncio.wait(pending)

    async def _stop_following(self) -> None:
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)

    async def _end(self, error: BaseException) -> None:
        if isinstance(error, AppError):
            _log.info("line.refused", number=self._number, code=error.code)
            await self._say(Error(id=0, error=to_wire(error)))


def _kept(group: set[asyncio.Task[None]], work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    group.add(task)
    task.add_done_callback(group.discard)
    return task


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
