"""A worker for the tests of the line: real service, queue and runner, and work that only counts.

    python line_worker.py STATE SOCKET [PING_S]

A question ``count N`` makes a job of N progress events, a step each, so a killed worker goes on
where it was. The word PAGE asks for that many characters of a page.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import os
import sys
from pathlib import Path

from protocol.errors import NotFound
from protocol.events import Completed, Progress, Stage
from protocol.ids import MatterId
from protocol.jobs import (
    Accepted,
    Ask,
    Cancel,
    Decide,
    Done,
    GetAnswer,
    Health,
    HealthIs,
    Ingest,
    Jobs,
    ListJobs,
    ListMatters,
    Matters,
    OpenSource,
)
from protocol.record import Matter
from worker.jobs import JobContext, NewJob, open_queue
from worker.jobs.runner import Runner
from worker.logs import setup
from worker.registry import RegistryFile
from worker.service import Caller, Handlers, Limits
from worker.service.server import Server


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Counting:
    """Handlers over a real queue."""

    def __init__(self, state: Path, queue) -> None:
        self.state = state
        self.queue = queue
        self.decided: list[str] = []
        """Keys of the decisions carried out."""

    async def ask(self, request: Ask, caller: Caller) -> Accepted:
        digest = hashlib.sha256(request.question.encode()).hexdigest()
        (self.state / digest).write_text(request.question)
        job = await self.queue.add(
            NewJob(
                matter=request.matter,
                kind="ask",
                user=caller.person,
                board="a",
                weight_s=1.0,
                key=request.key,
                request_sha256=digest,
            )
        )
        return Accepted(job=job.id, last_seq=job.last_seq)

    async def work(self, context: JobContext) -> Completed:
        question = (self.state / context.request_sha256).read_text()
        many = int(question.split()[1])
        for number in range(1, many + 1):

            async def one(number: int = number) -> dict[str, int]:
                await asyncio.sleep(0.002)
                await context.say(Progress(stage=Stage.WRITING, done=number, total=many))
                return {"n": number}

            await context.step(f"page-{number:05d}", one)
        return Completed(answer_sha256="0" * 64, verified=1, to_look_at=0, failing=0)

    async def matter_of(self, job) -> MatterId | None:
        try:
            return (await self.queue.job(job)).matter
        except NotFound:
            return None

    async def matters(self, request: ListMatters, caller: Caller) -> Matters:
        return Matters(
            matters=tuple(Matter(id=m, title="a title", opened_at=now()) for m in caller.matters)
        )

    async def jobs(self, request: ListJobs, caller: Caller) -> Jobs:
        return Jobs(jobs=await self.queue.jobs(request.matter, request.most))

    async def cancel(self, request: Cancel, caller: Caller) -> Done:
        await self.queue.stop(request.job)
        return Done()

    async def decide(self, request: Decide, caller: Caller) -> HealthIs:
        self.decided.append(request.key)
        await asyncio.sleep(0.05)
        return HealthIs(parts={"decided": ("ok", str(len(self.decided)))})

    async def ingest(self, request: Ingest, caller: Caller) -> Done:
        with (self.state / "ingests").open("a") as file:
            file.write(f"{request.matter} {caller.person}\n")
        return Done()

    async def health(self, request: Health, caller: Caller) -> HealthIs:
        return HealthIs(parts={"worker": ("ok", "counting")})

    async def page(self, request: OpenSource, caller: Caller) -> HealthIs:
        return HealthIs(parts={"page": ("ok", "x" * request.page)})

    async def broken(self, request: GetAnswer, caller: Caller) -> Done:
        raise RuntimeError("Marigold said the leak was known")

    def table(self) -> Handlers:
        async def join_words(event, matter):
            return event

        return Handlers(
            calls={
                Ask: self.ask,
                Cancel: self.cancel,
                Decide: self.decide,
                GetAnswer: self.broken,
                Health: self.health,
                Ingest: self.ingest,
                ListJobs: self.jobs,
                ListMatters: self.matters,
                OpenSource: self.page,
            },
            events=self.queue,
            matter_of=self.matter_of,
            join_words=join_words,
        )


async def main(state: Path, socket: Path, ping_s: float = 20.0) -> None:
    async def idle(board: str) -> None:
        return None

    queue = open_queue(state / "queue.sqlite", now)
    counting = Counting(state, queue)
    runner = Runner(queue, {"a": 1}, counting.work, idle=idle)
    registry = RegistryFile(state / "users.toml")
    server = Server(
        socket, counting.table(), registry, uids={0, 1000}, limits=Limits(ping_s=ping_s)
    )
    await runner.start()
    await server.start()
    # Whoever started it holds its standard input, so none is left behind by a test that failed.
    asyncio.get_running_loop().add_reader(0, lambda: os.read(0, 1) or os._exit(0))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    setup()
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:])))
