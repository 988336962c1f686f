"""A whole box in its own processes for a bench: worker, engine child, SSH gateway, one matter."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.link import Link, Target
from protocol.ids import MatterId
from worker.keys import make_key

_UP_S = 180.0


@dataclass(frozen=True, kw_only=True)
class WholeBox:
    """A running box."""

    matter: MatterId
    link: Link
    """Over SSH."""
    engine_socket: Path
    """Where the worker's engine child listens: the same engine without our path."""


@asynccontextmanager
async def whole_box(
    documents: Mapping[str, str] | Path, settings: str, *, engine_folder: str = "engine-A"
) -> AsyncIterator[WholeBox]:
    """Open a matter with these text files, start everything, connect over SSH.

    Args:
        documents: File name to text, or a folder of files.
        settings: More lines of the worker's TOML file.
        engine_folder: The engine's folder in the run folder.
    """
    with tempfile.TemporaryDirectory(prefix="scb-") as scratch:
        folder = Path(scratch)
        papers = folder / "papers"
        if isinstance(documents, Path):
            shutil.copytree(documents, papers)
        else:
            papers.mkdir()
            for name, text in documents.items():
                (papers / name).write_text(text, "utf-8")
        config = folder / "worker.toml"
        config.write_text(
            f'state = "{folder / "state"}"\nrun_folder = "{folder / "run"}"\nport = 0\n{settings}',
            "utf-8",
        )
        _operator(config, "init", "--yes", check=False)  # its doctor knows of no running worker
        make_key(folder / "you")
        _operator(config, "users", "add", "you", "--key", str(folder / "you.pub"), "--role",
                  "reviewer")  # fmt: skip
        opened = await asyncio.to_thread(
            _operator, config, "matters", "open", "Bench", "--folder", str(papers), "--user", "you"
        )
        programs: list[subprocess.Popen[bytes]] = []
        try:
            for name, marker in (("serve", "worker.sock"), ("gateway", "gateway.port")):
                programs.append(_start(config, name))
                await _until(folder / "run" / marker, programs)
            port = int((folder / "run" / "gateway.port").read_text("ascii"))
            keys = sorted((folder / "state" / "gateway").glob("host_*.pub"))
            hosts = "".join(f"[127.0.0.1]:{port} {key.read_text('ascii')}" for key in keys)
            (folder / "known_hosts").write_text(hosts, "ascii")
            socket = await _engine_socket(folder / "run" / engine_folder, programs)
            target = Target(
                host="127.0.0.1",
                port=port,
                key=folder / "you",
                known_hosts=folder / "known_hosts",
            )
            async with Link.over_ssh(target, client="bench") as link:
                yield WholeBox(matter=MatterId(opened.strip()), link=link, engine_socket=socket)
        finally:
            for program in programs:
                program.terminate()
            for program in programs:
                await asyncio.to_thread(program.wait)


def _operator(config: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "worker", "--config", config, *words],
        capture_output=True,
        text=True,
        check=check,
    )
    return done.stdout


def _start(config: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "worker", "--config", config, name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def _until(marker: Path, programs: Sequence[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + _UP_S
    while not marker.exists():
        if any(program.poll() is not None for program in programs):
            raise RuntimeError("a program of the box ended at its start")
        if time.monotonic() > deadline:
            raise RuntimeError(f"{marker.name} did not come up")
        await asyncio.sleep(0.05)


async def _engine_socket(folder: Path, programs: Sequence[subprocess.Popen[bytes]]) -> Path:
    """The engine child's socket, once there is one."""
    await _until(folder, programs)
    deadline = time.monotonic() + _UP_S
    while time.monotonic() < deadline:
        if found := sorted(folder.glob("e*.sock")):
            return found[0]
        await asyncio.sleep(0.05)
    raise RuntimeError("the engine did not come up")
