"""From a call to its result: rights first, then the handler of its type.

Whatever goes wrong becomes an `AppError` here. A job that does not exist, a matter that does not
exist and one that this person may not see all give the same refusal.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec

from protocol.errors import AppError, BadRequest, Internal, NotFound, Refused, Unavailable
from protocol.events import LAST, Completed, Event
from protocol.frames import Call
from protocol.ids import MatterId, job_id, matter_id
from protocol.jobs import Follow, Request, Result, WorkRequest
from worker import access
from worker.access import ACTION_OF, Identity, Ruling
from worker.logs import Log
from worker.registry import RegistryFile
from worker.service import Caller, Handlers
from worker.service.once import Once

_log: Final = Log("service")


class Calls:
    """Answers calls, whoever makes them."""

    def __init__(
        self,
        handlers: Handlers,
        registry: RegistryFile,
        *,
        once: Once,
        call_s: float,
        now: Callable[[], dt.datetime],
    ) -> None:
        self._handlers = handlers
        self._registry = registry
        self._once = once
        self._call_s = call_s
        self._now = now

    async def result(self, who: Identity, call: Call) -> Result:
        """The result of any request but a follow.

        Raises:
            AppError: Refused, failed or unavailable; an `Internal` carries only a reference.
        """
        request = call.request
        try:
            async with asyncio.timeout(self._call_s):
                who, ruling = await self._allow(who, call)
                caller = self._caller(who, ruling)
                handler = self._handlers.calls.get(type(request))
                if handler is None:
                    raise BadRequest("this worker does not do that")
                if isinstance(request, WorkRequest):  # the queue keeps these by key, durably
                    return await handler(request, caller)
                return await self._once.run(
                    caller.person, request, lambda: handler(request, caller)
                )
        except TimeoutError:
            raise Unavailable("the worker took too long over this") from None
        except AppError as error:
            _log.info("call.refused", code=error.code, kind=_kind(request), user=who.user)
            raise
        except Exception as error:
            raise self._internal(error, who, request) from error

    async def events(self, who: Identity, call: Call, request: Follow) -> AsyncIterator[Event]:
        """The job's events after ``request.after``, words joined, until its last.

        Rights are looked up again before every batch, so a wall raised meanwhile ends it.

        Raises:
            AppError: Refused, or the queue is away.
        """
        after = request.after
        if after < 0:
            raise BadRequest("events are numbered from 1; 0 means from the start")
        try:
            await self._allow(who, call)
            matter = await self._matter(request)  # a job stays in its matter
            assert matter is not None  # else _allow had raised
            while batch := await self._handlers.events.wait_event(request.job, after):
                self._ruling(who, call, matter)
                for event in batch:
                    yield await self._joined(event, matter)
                    after = event.seq
                    if isinstance(event.body, LAST):
                        return
        except AppError as error:
            _log.info("follow.refused", code=error.code, user=who.user)
            raise
        except Exception as error:
            raise self._internal(error, who, request) from error

    async def _joined(self, event: Event, matter: MatterId) -> Event:
        try:
            return await self._handlers.join_words(event, matter)
        except NotFound:
            return event  # the words are gone (a conversation was forgotten); the event is not

    async def _allow(self, who: Identity, call: Call) -> tuple[Identity, Ruling]:
        return self._ruling(who, call, await self._matter(call.request))

    def _ruling(
        self, who: Identity, call: Call, matter: MatterId | None
    ) -> tuple[Identity, Ruling]:
        if call.acting_for is not None:
            who = msgspec.structs.replace(who, acting_for=call.acting_for)
        action = ACTION_OF.get(type(call.request))
        ruling = access.decide(self._registry.current(), who, action, matter, now=self._now())
        refusal = ruling.refusal()
        if refusal is not None:
            raise refusal
        return who, ruling

    async def _matter(self, request: Request) -> MatterId | None:
        try:
            if (matter := getattr(request, "matter", None)) is not None:
                return matter_id(matter)
            if (job := getattr(request, "job", None)) is None:
                return None
            return await self._handlers.matter_of(job_id(job))
        except ValueError:  # not even the shape of a code: as absent as any other
            raise Refused("refused") from None

    def _caller(self, who: Identity, ruling: Ruling) -> Caller:
        matters = access.visible_matters(self._registry.current(), who, now=self._now())
        through = who.user if who.acting_for is not None else None
        return Caller(person=ruling.person, through=through, matters=matters)

    def _internal(self, error: Exception, who: Identity, request: Request) -> Internal:
        reference = _log.trouble("call.failed", error, kind=_kind(request), user=who.user)
        return Internal("something went wrong on our side", reference=reference)


def without_answer(event: Event) -> Event:
    """The event for a line that cannot carry its answer; the client asks for it in parts."""
    if isinstance(event.body, Completed):
        body = msgspec.structs.replace(event.body, answer=None)
        return msgspec.structs.replace(event, body=body)
    return event


def _kind(request: Request) -> str:
    tag = type(request).__struct_config__.tag
    return str(tag)
