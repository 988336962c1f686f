"""Every keeper of the job queue, for the cases of its promise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from worker.jobs import JobQueue, open_queue
from worker.jobs.memory import MemoryQueue
from worker.jobs.testing import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["memory", "durable"])
async def queue(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> AsyncIterator[JobQueue]:
    kept: JobQueue = (
        MemoryQueue(clock)
        if request.param == "memory"
        else open_queue(tmp_path / "queue.sqlite", clock)
    )
    yield kept
    await kept.close()
