"""Tries the library ``procrastinate`` on the cases of our job queue.

``python -m bench.job_library``. The library is no part of the project: install it beside
(``pip install procrastinate``) to see the trial of ``docs/decisions/0050-shared-queue.md`` again,
on a throw-away PostgreSQL server.
"""

from __future__ import annotations

import asyncio
import time

from bench import postgres


async def fairness(app) -> list[str]:
    """Twelve jobs of matter A, then three each of B and C: the order they are given out in."""
    from procrastinate.jobs import Status

    for matter, number in (("A", 12), ("B", 3), ("C", 3)):
        for _ in range(number):
            await app.configure_task("ask", queue="board").defer_async(matter=matter)
    worker = await app.job_manager.register_worker()
    order = []
    while job := await app.job_manager.fetch_job(queues=["board"], worker_id=worker):
        order.append(job.task_kwargs["matter"])
        await app.job_manager.finish_job(job, Status.SUCCEEDED, delete_job=False)
    return order


async def fence(app) -> tuple[str, str]:
    """Worker 1 freezes with a job, worker 2 takes it over; then worker 1 wakes and ends it."""
    from procrastinate.jobs import Status

    await app.configure_task("ask", queue="fence").defer_async(matter="A")
    manager = app.job_manager
    first, second = await manager.register_worker(), await manager.register_worker()
    frozen = await manager.fetch_job(queues=["fence"], worker_id=first)
    await manager.retry_job(frozen)  # what its documentation does with stalled jobs
    running = await manager.fetch_job(queues=["fence"], worker_id=second)
    await manager.finish_job(frozen, Status.SUCCEEDED, delete_job=False)  # by the worker that woke
    after = (await manager.get_job_status_async(running.id)).value
    try:
        await manager.finish_job(running, Status.SUCCEEDED, delete_job=False)
    except Exception as error:
        return after, type(error).__name__
    return after, "accepted"


async def pass_by(app) -> list[str]:
    """A long job waits, a short one comes: whether the short one can be put first afterwards."""
    from procrastinate.manager import JobManager

    return sorted(name for name in vars(JobManager) if "priorit" in name)


async def key(app) -> str:
    """The same idempotency key sent again after the job has ended."""
    from procrastinate.jobs import Status

    task = app.configure_task("ask", queue="key", queueing_lock="key-1")
    await task.defer_async(matter="A")
    worker = await app.job_manager.register_worker()
    job = await app.job_manager.fetch_job(queues=["key"], worker_id=worker)
    await app.job_manager.finish_job(job, Status.SUCCEEDED, delete_job=False)
    again = await task.defer_async(matter="A")
    return "a second job" if again != job.id else "the first job"


async def main() -> None:
    import procrastinate

    with postgres.server() as server:
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=server.conninfo))
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            print("order given out          ", " ".join(await fairness(app)))
            after, second = await fence(app)
            print("frozen worker's end      ", f"job is then {after!r}; the real worker: {second}")
            print("ways to move a waiting job", await pass_by(app))
            print("same key after the end   ", await key(app))
            start = time.perf_counter()
            task = app.configure_task("ask", queue="speed")
            for _ in range(100):
                await task.defer_async(matter="A")
            print("defer, ms                ", round((time.perf_counter() - start) * 10, 2))


if __name__ == "__main__":
    asyncio.run(main())
