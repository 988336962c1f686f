"""A worker process for the crash tests: runs jobs, and kills itself where it is told to.

Usage: jobs_worker.py FOLDER RUN KILL_AT [--lease SECONDS] [--pages NUMBER]
       [--crashes NUMBER] [--shared CONNINFO --box NAME]

With --shared the queue is that of several boxes, in a PostgreSQL database; FOLDER holds effects.

KILL_AT is ``step:after#3`` (the third commit of a step), ``statement#9`` (before the ninth
statement of SQL), ``byte#9`` (the ninth event of the engine), ``any#40`` (the fortieth hook of any
name) or ``never``. Each run adds the same jobs again under the keys of RUN, prints ``accepted ID``
for each and ``finished`` when all have ended, those that earlier runs left among them. What a
step's function does is noted in ``effects.txt``.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from protocol.events import Completed, Found, Words
from protocol.ids import JobId, MatterId, UserName
from worker.jobs import LEASE_S, MOST_CRASHES, JobContext, NewJob, StepValue, acts, runner
from worker.jobs.durable import DurableQueue
from worker.jobs.keeper import Keeper

SHORT_PAGES = 4
"""Steps of a short job; the long one has as many as --pages says."""

ALL = 100_000
"""More jobs than any of these tests makes."""

# Kind, matter, weight in seconds: a long job that parks for short ones, and one to be stopped.
JOBS = (
    ("summarize", "M-AAAA", 300.0),
    ("ask", "M-AAAA", 5.0),
    ("ask", "M-BBBB", 4.0),
    ("ask", "M-CCCC", 3.0),
    ("stopme", "M-BBBB", 2.0),
)


class Fuse:
    """Ends the process with signal 9 when the named hook comes by for the n-th time."""

    def __init__(self, kill_at: str) -> None:
        self._name, _, number = kill_at.partition("#")
        self._number = int(number or 0)
        self._seen: Counter[str] = Counter()

    def __call__(self, name: str) -> None:
        self._seen.update((name,) if name == "statement" else (name, "any"))
        if self._number and self._seen[self._name] == self._number:
            os.kill(os.getpid(), signal.SIGKILL)


def tell(line: str) -> None:
    """Says something to the test."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def open_durable(folder: Path, fuse: Fuse) -> DurableQueue:
    """The queue in one file; the fuse hears every statement too."""
    queue = DurableQueue.open(folder / "queue.sqlite", lambda: dt.datetime.now(dt.UTC), hook=fuse)
    # Inside a transaction too, before each of its statements.
    trace = queue._store._db.set_trace_callback
    await queue._do(lambda acts: trace(lambda statement: fuse("statement")))
    return queue


def open_shared(conninfo: str, box: str, fuse: Fuse) -> Keeper:
    """The queue of several boxes; the fuse hears every statement too."""
    from worker.jobs.shared import SharedQueue

    queue = SharedQueue.open(conninfo, box=box, hook=fuse)
    run = queue._store._run

    def heard(statement: str, **values: object) -> object:
        fuse("statement")
        return run(statement, **values)

    queue._store._run = heard  # type: ignore[assignment, method-assign]
    return queue


async def main(folder: Path, run: str, kill_at: str, pages: int, shared: str, box: str) -> None:
    fuse = Fuse(kill_at)
    queue = open_shared(shared, box, fuse) if shared else await open_durable(folder, fuse)
    everything_added = asyncio.Event()
    effects = os.open(folder / "effects.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def work(context: JobContext) -> Completed:
        await context.say(Found(passages=3, documents=1))
        pages_here = pages if context.kind == "summarize" else SHORT_PAGES
        for page in range(pages_here):

            async def read(page: int = page) -> StepValue:
                os.write(effects, f"{context.job} page-{page}\n".encode())
                for part in range(3):
                    await context.say(Words(part=part))
                    fuse("byte")
                if context.kind == "summarize":
                    await everything_added.wait()
                return {"page": page}

            if context.kind == "stopme" and page == 2:
                await queue.stop(context.job)
            await context.step(f"page-{page}", read)
            await context.breathe(float(pages_here - page) if context.kind == "ask" else None)
        return Completed(answer_sha256="a" * 64, verified=1, to_look_at=0, failing=0)

    async def idle(board: str) -> None:
        await asyncio.sleep(0)

    running = runner.Runner(queue, {"a": 1}, work, idle=idle)
    await running.start()
    jobs: list[JobId] = []
    for number, (kind, matter, weight_s) in enumerate(JOBS):
        new = NewJob(
            matter=MatterId(matter),
            kind=kind,
            user=UserName("you"),
            board="a",
            weight_s=weight_s,
            key=f"{run}-{number}",
            request_sha256=f"{number:064x}",
        )
        jobs.append((await queue.add(new)).id)
        tell(f"accepted {jobs[-1]}")
        if number == 0:  # the long one has begun when the short ones come
            await queue.wait_event(jobs[0], 1)
    everything_added.set()
    # A long job of an earlier run may have given way to these and end after all of them.
    for matter in sorted({matter for _, matter, _ in JOBS}):
        left = await queue.jobs(MatterId(matter), ALL)
        jobs += [job.id for job in left if job.id not in jobs]
    for job in jobs:
        after = 0
        while events := await queue.wait_event(job, after):
            after = events[-1].seq
            tell(f"event {job} {after}")
    tell("finished")
    await running.shut_down()
    await queue.close()


if __name__ == "__main__":
    given = argparse.ArgumentParser()
    given.add_argument("folder", type=Path)
    given.add_argument("run")
    given.add_argument("kill_at")
    given.add_argument("--lease", type=float, default=LEASE_S)
    given.add_argument("--pages", type=int, default=SHORT_PAGES)
    given.add_argument("--crashes", type=int, default=MOST_CRASHES)
    given.add_argument("--shared", default="")
    given.add_argument("--box", default="")
    told = given.parse_args()
    acts.MOST_CRASHES = told.crashes  # type: ignore[misc]
    for module in (acts, runner):
        module.LEASE_S = told.lease  # type: ignore[attr-defined]
    asyncio.run(main(told.folder, told.run, told.kill_at, told.pages, told.shared, told.box))
