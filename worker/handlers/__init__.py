"""What the worker does for each type of request; `worker/app.py` makes the service's table of it.

Rights were decided before a handler is called. A handler is safe to call twice with one request.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from protocol.errors import Conflict, NotFound
from protocol.ids import JobId, MatterId
from protocol.jobs import Job, JobState
from worker.audit import Journal
from worker.jobs import JobQueue
from worker.shelf import Shelf
from worker.weights import Weights


@dataclass(frozen=True, kw_only=True)
class Office:
    """What every handler works with."""

    shelf: Shelf
    queue: JobQueue
    audit: Path
    """The folder of the sealed journals."""
    now: Callable[[], dt.datetime]
    weights: Weights = field(default_factory=Weights)
    """How long jobs take here."""
    _deciding: dict[MatterId, asyncio.Lock] = field(default_factory=dict)

    def deciding(self, matter: MatterId) -> asyncio.Lock:
        """Held while a decision of this matter is taken or a text leaves: neither happens within
        the other."""
        return self._deciding.setdefault(matter, asyncio.Lock())

    def journal(self, matter: MatterId) -> Journal:
        """A matter's journal."""
        return Journal(self.audit, matter)

    async def matter_of(self, job: JobId) -> MatterId | None:
        """The matter of a job; None when there is no such job."""
        try:
            return (await self.queue.job(job)).matter
        except NotFound:
            return None

    async def ended(self, job: JobId) -> Job:
        """A job that ended with a reply: from now on only a person changes that reply.

        Raises:
            NotFound: There is no such job.
            Conflict: It is still at work, or ended without a reply; what it has is no draft.
        """
        found = await self.queue.job(job)
        if found.state in (JobState.WAITING, JobState.RUNNING):
            raise Conflict("this reply is still being made", next_step="wait until it is done")
        if found.state is not JobState.DONE:
            raise Conflict("this job ended without a reply", next_step="ask again")
        return found
