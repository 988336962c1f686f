"""Every keeper of the job queue, for the cases of its promise."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bench import postgres
from worker.jobs import JobQueue, open_queue
from worker.jobs.memory import MemoryQueue
from worker.jobs.testing import HandClock

_NUMBERS = itertools.count()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(scope="session")
def database() -> Iterator[postgres.Server]:
    """One real PostgreSQL server for all cases; each case has a schema of its own in it."""
    if reason := postgres.missing():
        pytest.skip(reason)
    with postgres.server(durable=False) as server:
        yield server


@pytest.fixture(params=["memory", "durable", "shared"])
async def queue(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> AsyncIterator[JobQueue]:
    kept: JobQueue
    if request.param == "memory":
        kept = MemoryQueue(clock)
    elif request.param == "durable":
        kept = open_queue(tmp_path / "queue.sqlite", clock)
    else:
        server: postgres.Server = request.getfixturevalue("database")
        from worker.jobs.shared import SharedQueue

        kept = SharedQueue.open(server.conninfo, clock, schema=f"case{next(_NUMBERS)}")
    yield kept
    await kept.close()
