"""Two boxes on one machine: two state folders, two gateways, one real PostgreSQL, one killed.

Box one hands calls to box two's engine over SSH. Two is killed with signal 9 while it writes for
one: one's jobs go on with its own engine. Two comes back; then one is killed while two writes for
it, and comes back. Every job must end once, with its own answer, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh  # noqa: TID251

from bench import postgres
from bench.growth_box import STAYING, answer
from protocol.events import LAST, Completed
from protocol.ids import JobId, MatterId
from protocol.jobs import Job, JobState
from worker.boxes import LEND
from worker.jobs import JobQueue, open_shared_queue
from worker.jobs.testing import new_job
from worker.registry import Key, Registry, Role, User, write

Figures = dict[str, float | int | None]
NOTHING: Figures = {"handoffs": None, "handoffs_lost": None, "handoffs_doubled": None}
MARKER = "Zebrastein"
_PATIENCE_S = 120.0


@dataclass
class House:
    """One box's folder and process."""

    state: Path
    name: str
    other: str
    conninfo: str
    port: int = 0
    process: asyncio.subprocess.Process | None = None

    async def listen(self) -> None:
        """Starts the process; returns when its gateway listens."""
        with (self.state / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "bench.growth_box", str(self.state), self.name, self.other),
                *(self.conninfo, str(self.port)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
            )
        self.port = int((await self._line("port")).split()[1])

    async def meet(self, port: int) -> None:
        """Tells it where the other is; returns when it works."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(f"{port}\n".encode())
        await self._line("ready")

    async def kill(self) -> None:
        """As a power cut would, gateway and all."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)
            await self.process.communicate()
            self.process = None

    def lines(self, name: str) -> list[str]:
        """What the box has noted in a file so far."""
        path = self.state / name
        return path.read_text().splitlines() if path.exists() else []

    async def _line(self, word: str) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        async with asyncio.timeout(_PATIENCE_S):
            line = (await self.process.stdout.readline()).decode()
        if not line.startswith(word):
            raise RuntimeError(f"box {self.name} did not start; see its log")
        return line


@dataclass
class Trial:
    """Both boxes and what was asked of them."""

    boxes: dict[str, House]
    queue: JobQueue
    questions: dict[JobId, tuple[str, str]] = field(default_factory=dict)
    """Job to (the box that owns its matter, its question)."""

    async def ask(self, box: str, board: str, matter: str, number: int) -> JobId:
        """Puts a question into the box's folder and its job in line."""
        question = f"What did {MARKER} know on day {number} of {matter} in {box}?"
        folder = self.boxes[box].state / "matters" / matter
        folder.mkdir(parents=True, exist_ok=True)
        sha256 = hashlib.sha256(question.encode()).hexdigest()
        (folder / f"{sha256}.txt").write_text(question, "utf-8")
        new = new_job(matter, weight_s=1.0, request=question, board=f"{box}.{board}", key=sha256)
        job = (await self.queue.add(new)).id
        self.questions[job] = (box, question)
        return job

    async def lent(self, before: set[JobId]) -> JobId:
        """A call that one box has begun for the other after ``before``, still running."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                for job in await self.loans():
                    if job.state is JobState.RUNNING and job.id not in before:
                        return job.id
                await asyncio.sleep(0.01)

    async def loans(self) -> list[Job]:
        """Every call one box made of the other, of all matters."""
        matters = [MatterId(matter) for matter in ("M-AAAA", "M-BBBB", STAYING)]
        jobs = [job for matter in matters for job in await self.queue.jobs(matter, 1000)]
        return [job for job in jobs if job.kind == LEND]

    async def ended(self, jobs: list[JobId]) -> None:
        """Returns when all these have ended."""
        for job in jobs:
            async with asyncio.timeout(_PATIENCE_S):
                after = 0
                while events := await self.queue.wait_event(job, after):
                    after = events[-1].seq

    async def check(self, job: JobId) -> tuple[bool, bool]:
        """Whether the job was lost, and whether anything of it happened twice."""
        box, question = self.questions[job]
        info = await self.queue.job(job)
        events = await self.queue.events_since(job, 0)
        path = self.boxes[box].state / "matters" / info.matter / f"{job}.answer"
        right = path.exists() and path.read_text("utf-8") == answer(question)
        gaps = [event.seq for event in events] != list(range(1, len(events) + 1))
        ends = sum(isinstance(event.body, LAST) for event in events)
        done = sum(isinstance(event.body, Completed) for event in events)
        written = Counter(self.boxes[box].lines("effects.txt"))[job]
        crashes = sum(type(event.body).__name__ == "Interrupted" for event in events)
        lost = info.state is not JobState.DONE or not right or gaps or done == 0 or written == 0
        return lost, ends > 1 or done > 1 or written > 1 + crashes


@contextlib.asynccontextmanager
async def two_boxes(conninfo: str) -> AsyncIterator[Trial]:
    """Both boxes, running, known to each other by key."""
    with tempfile.TemporaryDirectory(prefix="bx") as made:
        boxes = {
            name: House(Path(made) / name, name, other, conninfo)
            for name, other in (("one", "two"), ("two", "one"))
        }
        keys = {name: asyncssh.generate_private_key("ssh-ed25519") for name in boxes}
        hosts = {name: asyncssh.generate_private_key("ssh-ed25519") for name in boxes}
        for name, house in boxes.items():
            (house.state / "run").mkdir(mode=0o700, parents=True)
            _keep(house.state / "key", keys[name].export_private_key())
            _keep(house.state / "host", hosts[name].export_private_key())
            (house.state / "other_host.pub").write_bytes(hosts[house.other].export_public_key())
            public = keys[house.other].export_public_key().decode()
            user = User(name=house.other, role=Role.BOX, keys=(Key(public=public),))
            write(house.state / "users.toml", Registry(users=(user,)))
        queue = open_shared_queue(conninfo, box="office")
        try:
            for house in boxes.values():
                await house.listen()
            await boxes["one"].meet(boxes["two"].port)
            await boxes["two"].meet(boxes["one"].port)
            yield Trial(boxes, queue)
        finally:
            for house in boxes.values():
                await house.kill()
            await queue.close()


async def come_back(trial: Trial, name: str) -> None:
    """A killed box starts again, on its old port."""
    house = trial.boxes[name]
    await house.listen()
    await house.meet(trial.boxes[house.other].port)


async def kill_each_once(trial: Trial) -> list[JobId]:
    """The trial: two is killed while it lends, then one while it borrows; every job's id."""
    ask = trial.ask
    jobs = [
        *[await ask("one", "out", f"M-{'AB'[n % 2] * 4}", n) for n in range(6)],
        *[await ask("one", "a", STAYING, n) for n in range(2)],
        await ask("one", "out", STAYING, 7),
        *[await ask("two", "a", "M-AAAA", n) for n in range(20, 23)],
    ]
    mine = [job for job in jobs if trial.questions[job][0] == "one"]
    first = await trial.lent(set())
    await trial.boxes["two"].kill()
    await trial.ended(mine)  # without box two
    await come_back(trial, "two")
    await trial.ended(jobs)
    more = [await ask("one", "out", "M-BBBB", n) for n in range(30, 34)]
    second = await trial.lent({first})
    await trial.boxes["one"].kill()
    await trial.ended([second])  # nobody asks any more: the lending box lets go of it
    await come_back(trial, "one")
    await trial.ended(more)
    return jobs + more


def measure() -> Figures:
    """``handoffs``: calls begun on the other box, or moved on when it was lost;
    ``handoffs_lost`` and ``handoffs_doubled``: jobs of which that became nothing, or too much."""
    with postgres.server() as server:
        return asyncio.run(_measure(server.conninfo))


async def _measure(conninfo: str) -> Figures:
    async with two_boxes(conninfo) as trial:
        jobs = await kill_each_once(trial)
        outcomes = [await trial.check(job) for job in jobs]
        handed = [line for house in trial.boxes.values() for line in house.lines("handed.txt")]
    return {
        "handoffs": len(handed),
        "handoffs_after_a_loss": sum("handed_over" in line for line in handed),
        "handoff_jobs": len(jobs),
        "handoffs_lost": sum(lost for lost, _ in outcomes),
        "handoffs_doubled": sum(doubled for _, doubled in outcomes),
    }


def _keep(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
