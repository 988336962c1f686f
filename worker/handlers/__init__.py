"""What the worker does for each type of request; `worker/app.py` makes the service's table of it.

Rights were decided before a handler is called. A handler is safe to call twice with one request.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from protocol.errors import NotFound
from protocol.ids import JobId, MatterId
from worker.audit import Journal
from worker.jobs import JobQueue
from worker.shelf import Shelf


@dataclass(frozen=True, kw_only=True)
class Office:
    """What every handler works with."""

    shelf: Shelf
    queue: JobQueue
    audit: Path
    """The folder of the sealed journals."""
    now: Callable[[], dt.datetime]

    def journal(self, matter: MatterId) -> Journal:
        """A matter's journal."""
        return Journal(self.audit, matter)

    async def matter_of(self, job: JobId) -> MatterId | None:
        """The matter of a job; None when there is no such job."""
        try:
            return (await self.queue.job(job)).matter
        except NotFound:
            return None
