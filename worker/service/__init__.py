"""The unix-socket side of the worker: what it needs from the rest, as a promise.

The service greets, decodes, asks `worker.access.decide` once per call and passes the request to the
handler that `worker/app.py` put into the table. It knows no pipeline: a work request's handler puts
the job into the queue and returns `Accepted`; the events come from the queue by cursor. A handler
must be safe to call twice with the same request (its ``key``), may raise any `AppError`, and is not
cancelled when the line is lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from protocol.events import Event
from protocol.ids import JobId, MatterId, UserName
from protocol.jobs import Request, Result


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, already allowed to."""

    person: UserName
    """Who is answerable."""
    through: UserName | None
    """The bot that acts for him; None when he asks himself."""
    matters: tuple[MatterId, ...]
    """The matters he may know of on this line."""


Handler = Callable[[Any, Caller], Awaitable[Result]]
"""Takes one type of request, the one it stands under in the table."""


class EventSource(Protocol):
    """The part of `worker.jobs.JobQueue` that a follow needs."""

    async def wait_event(self, job: JobId, after: int, /) -> Sequence[Event]:
        """The events with a number over ``after``, in order, as soon as there is one; empty only
        when the job has ended and everything up to its last event is known already."""
        ...


@dataclass(frozen=True, kw_only=True)
class Handlers:
    """Everything the service calls."""

    calls: Mapping[type[Request], Handler]
    """All request types but `Follow`; one that is missing is answered as unknown."""
    events: EventSource
    matter_of: Callable[[JobId], Awaitable[MatterId | None]]
    """The matter of a job; None when there is no such job."""
    join_words: Callable[[Event, MatterId], Awaitable[Event]]
    """Puts the words of the matter's own file into an event that is about to be sent."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one line and all lines together may take."""

    connections: int = 512
    calls_at_once: int = 32
    """Per line; more are not read until one is answered."""
    follows: int = 64
    """Per line."""
    greeting_s: float = 10.0
    """From connecting to the end of the greeting."""
    call_s: float = 120.0
    """The longest a call may take; work is a job and takes as long as it takes."""
    ping_s: float = 20.0
    """Between pings; a line on which nothing came for three of them is closed."""
