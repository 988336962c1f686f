"""The line: round trip, events, first paint, key echo, memory, chaos, Discord; real, on loopback.

Absolute times depend on the machine; compare the ratios, which were measured in the same run: our
round trip to a bare SSH echo, our first paint to an empty Textual application over the same
gateway.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncssh  # noqa: TID251

from bench import guild_line, line_load
from bench.harness import Arguments, Result
from bench.line_box import MATTER, make_keys
from bench.line_load import Window
from bot.link import Link, Target
from protocol.ids import JobId
from protocol.jobs import Accepted, Ask, Health
from worker.gateway import GatewaySettings
from worker.gateway.listener import Gateway

ROOT = Path(__file__).parent.parent
PARTS = ("line", "chaos", "paint", "load", "discord")
BARE = """
from textual.app import App
class Bare(App):
    def on_ready(self):
        self.notify("READY")
Bare().run()
"""


class Box:
    """Worker in a process of its own; the gateway here, so that its connections can be cut."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "run" / "worker.sock"
        self.gateway: Gateway
        self._children: list[asyncio.subprocess.Process] = []
        self._worker: asyncio.subprocess.Process

    async def start(self, *arguments: str) -> str:
        """A child of `bench.line_box`; gives what it says first."""
        with (self.folder / "log").open("ab") as log:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "bench.line_box",
                *arguments,
                cwd=ROOT,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert child.stdout is not None
        said = (await child.stdout.readline()).decode().strip()
        assert said, "a child of the bench did not start"
        self._children.append(child)
        self._worker = child if arguments[0] == "worker" else self._worker
        return said

    async def start_worker(self, places: int = 1) -> None:
        await self.start("worker", str(self.folder), str(self.socket), str(places))

    async def kill_worker(self) -> None:
        self._worker.kill()
        await self._worker.communicate()

    async def close(self) -> None:
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.communicate()

    @contextlib.asynccontextmanager
    async def open_gateway(self, **more: Any) -> AsyncIterator[Gateway]:
        settings = GatewaySettings(
            host="127.0.0.1",
            port=0,
            host_keys=(self.folder / "host",),
            users=self.folder / "users.toml",
            worker=self.socket,
            **more,
        )
        async with Gateway(settings).open() as gateway:
            self.gateway = gateway
            host = (self.folder / "host.pub").read_text()
            (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{gateway.port} {host}\n")
            yield gateway

    def link(self, user: int = 0) -> Link:
        return Link.over_ssh(
            Target(
                host="127.0.0.1",
                port=self.gateway.port,
                key=self.folder / f"user{user}",
                known_hosts=self.folder / "known_hosts",
            )
        )

    async def connect(self, user: int, port: int) -> asyncssh.SSHClientConnection:
        return await asyncssh.connect(
            "127.0.0.1",
            port,
            username="x",
            client_keys=[str(self.folder / f"user{user}")],
            known_hosts=None,
            config=None,
            agent_path=None,
        )


async def _ask(link: Link, many: int) -> JobId:
    key = secrets.token_hex(8)
    request = Ask(matter=MATTER, conversation="c", question=f"count {many}", key=key)
    accepted = await link.call(request)
    assert isinstance(accepted, Accepted)
    return accepted.job


async def _round_trips(box: Box, count: int) -> tuple[list[float], list[float]]:
    """Ours and the bare echo's, taken in turn so that both see the same load; milliseconds."""
    port = int(await box.start("echo", str(box.folder / "host"), str(box.folder / "user0.pub")))
    ours, bare = [], []
    async with box.link() as link, await box.connect(0, port) as conn:
        process = await conn.create_process("echo", encoding=None)
        line = b"x" * 199 + b"\n"
        for _ in range(count):
            start = time.perf_counter()
            await link.call(Health())
            ours.append((time.perf_counter() - start) * 1e3)
            start = time.perf_counter()
            process.stdin.write(line)
            await process.stdout.readline()
            bare.append((time.perf_counter() - start) * 1e3)
    return ours, bare


async def _events_per_s(box: Box, many: int) -> tuple[float, float]:
    """Live (each stored before it is sent) and replayed from the store."""
    async with box.link() as link:
        job = await _ask(link, many)
        start = time.perf_counter()
        live = [event.seq async for event in link.follow(job)]
        live_s = time.perf_counter() - start
        start = time.perf_counter()
        replayed = [event.seq async for event in link.follow(job)]
        assert live == replayed
        return len(live) / live_s, len(replayed) / (time.perf_counter() - start)


async def _first_paints(box: Box, runs: int) -> tuple[list[float], list[float]]:
    """Milliseconds from the shell request to our prompt, and to an empty Textual application."""
    script = box.folder / "bare.py"
    script.write_text(BARE)
    paints: dict[bytes, list[float]] = {b"M-B3NC": [], b"READY": []}
    programs = {b"M-B3NC": {}, b"READY": {"program": (sys.executable, "-I", str(script))}}
    for word, program in programs.items():
        async with (
            box.open_gateway(**program) as gateway,
            await box.connect(0, gateway.port) as conn,
        ):
            for _ in range(runs):
                start = time.perf_counter()
                window = await Window.open(conn)
                await window.until(word)
                paints[word].append((time.perf_counter() - start) * 1e3)
                await window.close()
    return paints[b"M-B3NC"], paints[b"READY"]


async def _chaos(box: Box, points: int, seed: int) -> tuple[int, int, list[dict[str, Any]]]:
    """Lost and doubled events of jobs that are followed while the line is cut at random points."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    lost = doubled = 0
    async with box.link() as link:
        done = 0
        while done < points:
            jobs = [await _ask(link, 150) for _ in range(4)]
            seen: dict[JobId, list[int]] = {job: [] for job in jobs}

            async def follow(job: JobId, into: list[int]) -> None:
                async for event in link.follow(job):
                    into.append(event.seq)

            follows = [asyncio.create_task(follow(job, seen[job])) for job in jobs]
            cuts = 0
            while not all(task.done() for task in follows):
                await asyncio.sleep(rng.uniform(0.0, 0.06))
                kind = "worker killed" if rng.random() < 0.15 else "connection cut"
                if kind == "worker killed":
                    await box.kill_worker()
                    await box.start_worker()
                else:
                    for door in set(box.gateway.doors):
                        door.end("chaos")
                cuts += 1
                rows.append({"point": done + cuts, "tried": kind})
            await asyncio.gather(*follows)
            done += cuts
            for numbers in seen.values():
                lost += len(set(range(1, max(numbers) + 1)) - set(numbers))
                doubled += len(numbers) - len(set(numbers))
    return lost, doubled, rows


def _p(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def _measure(box: Box, arguments: Arguments) -> Result:
    full = arguments.full
    sizes = {
        "round_trips": 5000 if full else 1000,
        "events": 5000 if full else 1500,
        "paints": 20 if full else 8,
        "sessions": 50 if full else 20,
        "chaos_points": 500 if full else 100,
        "discord_points": 100 if full else 25,
    }
    make_keys(box.folder, sizes["sessions"])
    result = Result(
        figures={},
        sizes=sizes,
        notes=["Discord is the double of bench/guild_double, on loopback"],
    )
    await box.start_worker()
    async with box.open_gateway():
        if arguments.wants("line"):
            await _line(box, sizes, result)
        if arguments.wants("chaos"):
            lost, doubled, rows = await _chaos(box, sizes["chaos_points"], arguments.seed)
            result.figures |= {"chaos_points": len(rows), "lost": lost, "doubled": doubled}
            result.rows += rows
            result.failed |= bool(lost or doubled)
    if arguments.wants("paint"):
        await _paint(box, sizes["paints"], result)
    if arguments.wants("load"):
        await box.kill_worker()
        await box.start_worker(line_load.PLACES)
        result.figures |= await line_load.measure(box, sizes["sessions"])
    if arguments.wants("discord"):
        discord = await guild_line.measure(sizes["discord_points"], arguments.seed)
        result.figures |= discord.figures
        result.rows += discord.rows
        result.failed |= discord.failed
    return result


async def _line(box: Box, sizes: dict[str, int], result: Result) -> None:
    ours, bare = await _round_trips(box, sizes["round_trips"])
    live, replayed = await _events_per_s(box, sizes["events"])
    rpc, echo = statistics.median(ours), statistics.median(bare)
    result.figures |= {
        "rpc_p50_ms": round(rpc, 3),
        "rpc_p99_ms": round(_p(ours, 0.99), 3),
        "echo_server_p50_ms": round(echo, 3),
        "rpc_ratio_to_echo": round(rpc / echo, 3),
        "events_per_s": round(replayed),
        "events_live_per_s": round(live),
    }


async def _paint(box: Box, runs: int, result: Result) -> None:
    paints, bare_paints = await _first_paints(box, runs)
    first, bare = statistics.median(paints), statistics.median(bare_paints)
    result.figures |= {
        "first_paint_ms": round(first, 1),
        "bare_paint_ms": round(bare, 1),
        "paint_ratio_to_bare": round(first / bare, 3),
    }


def run(arguments: Arguments) -> Result:
    """All of it, in one run."""
    folder = Path(tempfile.mkdtemp(prefix="sc-"))  # short: socket paths may have 107 bytes
    box = Box(folder)

    async def main() -> Result:
        try:
            return await _measure(box, arguments)
        finally:
            await box.close()

    try:
        return asyncio.run(main())
    finally:
        shutil.rmtree(folder)
