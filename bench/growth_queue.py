"""What the shared queue itself takes: acts a second over a real PostgreSQL with its disk syncs."""

from __future__ import annotations

import asyncio
import statistics
import time

from bench import postgres
from protocol.events import Found
from worker.jobs import JobQueue, open_shared_queue
from worker.jobs.testing import claimed, done, new_job

Figures = dict[str, float | int | None]
NOTHING: Figures = {"shared_says_per_s": None, "shared_job_ms": None, "shared_wake_ms": None}


def measure(boxes: int = 4, seconds: float = 2.0) -> Figures:
    """Figures of several boxes on one database.

    ``shared_says_per_s``: events stored by all boxes together while each runs a job;
    ``shared_job_ms``: adding, claiming and ending an empty job, median;
    ``shared_wake_ms``: from adding on one box to the claim on another, median.
    """
    with postgres.server() as server:
        return asyncio.run(_measure(server.conninfo, boxes, seconds))


async def _measure(conninfo: str, boxes: int, seconds: float) -> Figures:
    queues = [open_shared_queue(conninfo, box=f"box-{number}") for number in range(boxes)]
    try:
        said = await asyncio.gather(
            *(_says(queue, f"B{number}", seconds) for number, queue in enumerate(queues))
        )
        jobs = [await _job_ms(queues[0]) for _ in range(40)]
        wakes = [await _wake_ms(queues[0], queues[1]) for _ in range(40)]
    finally:
        for queue in queues:
            await queue.close()
    return {
        "shared_says_per_s": round(sum(said) / seconds),
        "shared_job_ms": round(statistics.median(jobs), 2),
        "shared_wake_ms": round(statistics.median(wakes), 2),
    }


async def _says(queue: JobQueue, board: str, seconds: float) -> int:
    await queue.add(new_job(board=board))
    lease = await claimed(queue, board=board)
    until, number = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        await queue.say(lease, Found(passages=1, documents=1))
        number += 1
    await queue.end(lease, done())
    return number


async def _job_ms(queue: JobQueue) -> float:
    start = time.perf_counter()
    await queue.add(new_job(board="J"))
    await queue.end(await claimed(queue, board="J"), done())
    return (time.perf_counter() - start) * 1e3


async def _wake_ms(here: JobQueue, there: JobQueue) -> float:
    turn = asyncio.create_task(there.wait_turn("W"))
    await asyncio.sleep(0)
    await there.boards()  # now it has looked and waits
    start = time.perf_counter()
    await here.add(new_job(board="W"))
    await turn
    lease = await claimed(there, board="W")
    took = (time.perf_counter() - start) * 1e3
    await there.end(lease, done())
    return took
