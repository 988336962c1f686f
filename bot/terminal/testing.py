"""What tests of the app share: a worker that answers from a table, waiting for the screen."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from protocol import events as ev
from protocol import jobs as ask
from protocol.ids import JobId, MatterId, UserName

if TYPE_CHECKING:
    from textual.pilot import Pilot  # noqa: TID251 - the terminal's door

    from bot.terminal.app import TerminalApp

NOW: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
MATTER: Final = MatterId("M-7F3K")
OTHER: Final = MatterId("M-0000")
OLD: Final = JobId("J-0DV3K9Q00-0000")
JOB: Final = JobId("J-0DV3K9Q2A-7F3K")

PATIENCE_S: Final = 60.0
"""Seconds that only what never comes can take."""

_Kind = TypeVar("_Kind")


class ScriptedWorker:
    """Answers from a table and remembers what it was sent; a job's last event waits at the gate."""

    def __init__(self) -> None:
        self.sent: list[ask.Request] = []
        self.results: dict[type, Any] = {}
        """A result, an exception, or what makes one of a request, by the kind of request."""
        self.jobs: dict[MatterId, tuple[ask.Job, ...]] = {}
        self.bodies: dict[JobId, list[ev.EventBody]] = {}
        self.places: dict[MatterId, ask.KeepPlace] = {}
        """Where the person was, the newest last."""
        self.gate = asyncio.Event()
        self.gate.set()

    async def call(self, request: ask.Request) -> ask.Result:
        """The result of the table. Raises what stands there instead."""
        self.sent.append(request)
        if isinstance(request, ask.ListJobs):
            return ask.Jobs(jobs=self.jobs.get(request.matter, ()))
        if isinstance(request, ask.KeepPlace):
            self.places.pop(request.matter, None)
            self.places[request.matter] = request
            return ask.Done()
        if isinstance(request, ask.ListPlaces):
            return ask.Places(places=tuple(self.places.values())[::-1])
        result = self.results[type(request)]
        if callable(result):
            result = result(request)
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, ask.Result)
        return result

    async def follow(self, job: JobId, after: int = 0) -> AsyncIterator[ev.Event]:
        """The job's events."""
        for seq, body in enumerate(self.bodies[job], start=1):
            if isinstance(body, ev.LAST):
                await self.gate.wait()
            if seq > after:
                yield ev.Event(job=job, seq=seq, at=NOW, body=body)
                await asyncio.sleep(0)

    def all(self, kind: type[_Kind]) -> list[_Kind]:
        """The requests of a kind, in the order in which they came."""
        return [request for request in self.sent if isinstance(request, kind)]


def a_job(ident: JobId, state: ask.JobState, matter: MatterId = MATTER) -> ask.Job:
    """A job of one person."""
    return ask.Job(
        id=ident,
        matter=matter,
        kind="ask",
        state=state,
        user=UserName("you"),
        board="A",
        created_at=NOW,
        attempts=1,
        place=None,
        eta_s=None,
        last_seq=3,
    )


async def settle(pilot: Pilot[int], until: Callable[[], object] | None = None) -> None:
    """Lets everything that is on its way arrive; with a condition, until it holds.

    Raises:
        AssertionError: It did not come to hold; the message is the screen.
    """
    loop = asyncio.get_running_loop()
    last = loop.time() + PATIENCE_S
    await pilot.pause(0.01)
    while until is not None and not until():
        if loop.time() > last:
            raise AssertionError("it did not come: " + seen(pilot))
        await pilot.pause(0.01)
    await pilot.pause()


def seen(pilot: Pilot[int]) -> str:
    """What stands on the screen, line by line."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def say(app: TerminalApp, pilot: Pilot[int], line: str) -> None:
    """Writes a line and sends it."""
    app.composer.insert(line)
    await pilot.press("enter")
