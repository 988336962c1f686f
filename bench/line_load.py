"""The line under load: windows of many people, all matters of an office, twenty jobs at work.

Measured while the jobs run: from a key to its echo, from an event's writing to its arrival, from a
question to its acknowledgement, and the memory of one window's program.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import secrets
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import asyncssh  # noqa: TID251

from bench.line_box import MATTER, give_matters
from bot.link import Link
from protocol.ids import JobId, MatterId
from protocol.jobs import Accepted, Ask

if TYPE_CHECKING:
    from bench.link import Box

MATTERS: Final = 50
JOBS: Final = 20
PLACES: Final = JOBS + 2
"""So that all jobs are at work at once, and short ones between them."""
_EVENTS: Final = 2_000
_PACE_MS: Final = 250
"""Between two events of one job."""
_ASKS: Final = 40
_ROUNDS: Final = 5


class Window:
    """A shell on a terminal."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._process = process

    @classmethod
    async def open(cls, conn: asyncssh.SSHClientConnection) -> Window:
        process = await conn.create_process(
            term_type="xterm-256color", term_size=(80, 24), encoding=None
        )
        return cls(process)

    async def until(self, word: bytes, within_s: float = 60.0) -> float:
        """Seconds until a word is on the screen."""
        start, seen = time.perf_counter(), b""
        async with asyncio.timeout(within_s):
            while word not in seen:
                data = await self._process.stdout.read(65536)
                assert data, f"the window closed after {seen[-300:]!r}"
                seen += data
        return time.perf_counter() - start

    async def press(self, key: bytes) -> float:
        """Milliseconds until a key that was pressed is echoed."""
        start = time.perf_counter()
        self._process.stdin.write(key)
        await self.until(key)
        return (time.perf_counter() - start) * 1e3

    async def close(self) -> None:
        """Waits until its program has ended: a connection may hold only so many."""
        self._process.close()
        await self._process.wait_closed()


async def measure(box: Box, sessions: int) -> dict[str, float | int]:
    """Figures of windows, jobs and matters at once.

    Args:
        box: A box whose worker has `PLACES` places and whose gateway is closed.
        sessions: Windows; each person has one and may see every matter.
    """
    matters = give_matters(box.folder, sessions, MATTERS)
    async with (
        box.open_gateway(programs=sessions + 5) as gateway,
        contextlib.AsyncExitStack() as stack,
    ):
        windows = []
        for user in range(sessions):
            conn = await stack.enter_async_context(await box.connect(user, gateway.port))
            windows.append(await Window.open(conn))
        for window in windows:
            await window.until(b"#" + MATTER.encode())
        link = await stack.enter_async_context(box.link())
        lags: list[float] = []
        follows = []
        for number in range(JOBS):  # followed from its first event, or the wait would count as lag
            job = await _ask(link, matters[number % MATTERS], _EVENTS, _PACE_MS)
            follows.append(asyncio.create_task(_follow(link, job, lags)))
        echoes, acks = [], []
        for round_ in range(_ROUNDS):
            for window in windows:
                echoes.append(await window.press(b"abcde"[round_ : round_ + 1]))
        for number in range(_ASKS):
            start = time.perf_counter()
            await _ask(link, matters[number % MATTERS], 1)
            acks.append((time.perf_counter() - start) * 1e3)
        memory = statistics.mean(_children_mb())
        for follow in follows:
            follow.cancel()
        done = await asyncio.gather(*follows, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in done), "jobs ended too soon"
        for window in windows:
            await window.close()
    return {
        "echo_p50_ms": round(statistics.median(echoes), 2),
        "echo_p99_ms": round(_p(echoes, 0.99), 2),
        "event_lag_p50_ms": round(statistics.median(lags), 2),
        "event_lag_p99_ms": round(_p(lags, 0.99), 2),
        "events_in_load": len(lags),
        "ack_p50_ms": round(statistics.median(acks), 2),
        "ack_p99_ms": round(_p(acks, 0.99), 2),
        "sessions": sessions,
        "matters": MATTERS,
        "jobs_at_work": JOBS,
        "memory_mb_per_session": round(memory, 1),
    }


async def _ask(link: Link, matter: MatterId, many: int, pace_ms: int = 0) -> JobId:
    question = f"count {many} {pace_ms}"
    request = Ask(matter=matter, conversation="c", question=question, key=secrets.token_hex(8))
    accepted = await link.call(request)
    assert isinstance(accepted, Accepted)
    return accepted.job


async def _follow(link: Link, job: JobId, lags: list[float]) -> None:
    async for event in link.follow(job):
        lags.append((dt.datetime.now(dt.UTC) - event.at).total_seconds() * 1e3)


def _children_mb() -> list[float]:
    """Proportional set sizes of our chat programs, in MB."""
    sizes = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, StopIteration):
            if b"bot\0chat" not in (path / "cmdline").read_bytes():
                continue
            if f"PPid:\t{os.getpid()}\n" not in (path / "status").read_text():
                continue
            rows = (path / "smaps_rollup").read_text().splitlines()
            sizes.append(int(next(r for r in rows if r.startswith("Pss:")).split()[1]) / 1024)
    return sizes


def _p(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
