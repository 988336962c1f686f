"""A box for `bench.link`: a worker process that counts, keys made on the spot, an SSH echo.

    python -m bench.line_box worker STATE SOCKET PLACES
    python -m bench.line_box echo HOST_KEY PUBLIC_KEY

The service, the queue, the runner and the gateway are the real ones; only the work is not: a
question ``count N PACE`` makes N progress events, each its own step, so many ms apart.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import os
import sys
from pathlib import Path

import asyncssh  # noqa: TID251

from protocol.errors import NotFound
from protocol.events import Completed, Event, Progress, Stage
from protocol.ids import JobId, MatterId
from protocol.jobs import Accepted, Ask, Health, HealthIs, Jobs, ListJobs, ListMatters, Matters
from protocol.record import Matter
from worker.gateway import algorithms
from worker.jobs import JobContext, JobQueue, NewJob, open_queue
from worker.jobs.runner import Runner
from worker.logs import setup
from worker.registry import Key, Registry, RegistryFile, Role, User, write
from worker.service import Caller, Handlers
from worker.service.server import Server

MATTER = MatterId("M-B3NC")


def now() -> dt.datetime:
    """The time, in UTC."""
    return dt.datetime.now(dt.UTC)


def make_keys(folder: Path, users: int) -> None:
    """Host key, one key a user, the registry."""
    (folder / "run").mkdir(mode=0o700)
    found = []
    for name in ["host", *(f"user{number}" for number in range(users))]:
        key = asyncssh.generate_private_key("ssh-ed25519")
        path = folder / name
        path.write_bytes(key.export_private_key())
        path.chmod(0o600)
        public = key.export_public_key().decode().strip()
        (folder / f"{name}.pub").write_text(public)
        if name != "host":
            keys = (Key(public=public),)
            found.append(User(name=name, role=Role.LAWYER, matters=(MATTER,), keys=keys))
    write(folder / "users.toml", Registry(users=tuple(found)))


def give_matters(folder: Path, users: int, many: int) -> list[MatterId]:
    """Lets every user see so many matters, the bench's own first; a running gateway reads it."""
    matters = [MATTER, *(MatterId(f"M-B{number:03d}") for number in range(1, many))]
    found = [
        User(
            name=f"user{number}",
            role=Role.LAWYER,
            matters=tuple(matters),
            keys=(Key(public=(folder / f"user{number}.pub").read_text()),),
        )
        for number in range(users)
    ]
    write(folder / "users.toml", Registry(users=tuple(found)))
    return matters


class Counting:
    """Work that only counts, on a real queue."""

    def __init__(self, state: Path, queue: JobQueue) -> None:
        self._state = state
        self._queue = queue

    async def ask(self, request: Ask, caller: Caller) -> Accepted:
        """Takes ``count N`` in."""
        digest = hashlib.sha256(request.question.encode()).hexdigest()
        (self._state / digest).write_text(request.question)
        job = await self._queue.add(
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
        """N events, each remembered as a step, so a killed worker goes on where it was."""
        _, *numbers = (self._state / context.request_sha256).read_text().split()
        many, pace_ms = int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0
        for number in range(1, many + 1):

            async def one(number: int = number) -> dict[str, int]:
                await context.say(Progress(stage=Stage.WRITING, done=number, total=many))
                return {"n": number}

            await context.step(f"page-{number:06d}", one)
            if pace_ms:
                await asyncio.sleep(pace_ms / 1e3)
        return Completed(answer_sha256="0" * 64, verified=1, to_look_at=0, failing=0)

    def table(self) -> Handlers:
        """What the service calls."""

        async def health(request: Health, caller: Caller) -> HealthIs:
            return HealthIs(parts={"worker": ("ok", "x" * 150)})  # a payload of some 200 bytes

        async def matters(request: ListMatters, caller: Caller) -> Matters:
            titled = [Matter(id=m, title="Bench v. Clock", opened_at=now()) for m in caller.matters]
            return Matters(matters=tuple(titled))

        async def jobs(request: ListJobs, caller: Caller) -> Jobs:
            return Jobs(jobs=await self._queue.jobs(request.matter, request.most))

        async def matter_of(job: JobId) -> MatterId | None:
            try:
                return (await self._queue.job(job)).matter
            except NotFound:
                return None

        async def join_words(event: Event, matter: MatterId) -> Event:
            return event

        calls = {Ask: self.ask, Health: health, ListJobs: jobs, ListMatters: matters}
        return Handlers(calls=calls, events=self._queue, matter_of=matter_of, join_words=join_words)


async def worker(state: Path, socket: Path, places: str = "1") -> None:
    """The worker process."""

    async def idle(board: str) -> None:
        return None

    queue = open_queue(state / "queue.sqlite", now)
    counting = Counting(state, queue)
    runner = Runner(queue, {"a": int(places)}, counting.work, idle=idle)
    registry = RegistryFile(state / "users.toml")
    server = Server(socket, counting.table(), registry, uids={os.getuid()})
    await runner.start()
    await server.start()
    _say("ready")
    await asyncio.get_running_loop().create_future()


async def echo(host_key: Path, public_key: Path) -> None:
    """A bare SSH server that gives back each line: what the round trip costs without us."""

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        async for line in process.stdin:
            process.stdout.write(line)
        process.exit(0)

    acceptor = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[str(host_key)],
        authorized_client_keys=str(public_key),
        process_factory=serve,
        encoding=None,
        kex_algs=algorithms.KEX,
        encryption_algs=algorithms.CIPHERS,
        line_editor=False,
    )
    _say(str(acceptor.get_port()))
    await asyncio.get_running_loop().create_future()


def _say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    setup()
    first, second, *rest = sys.argv[2:]
    if sys.argv[1] == "worker":
        asyncio.run(worker(Path(first), Path(second), *rest))
    else:
        asyncio.run(echo(Path(first), Path(second)))
