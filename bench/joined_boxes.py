"""Two whole boxes as an operator sets them up: settings files, ``serve`` and ``gateway``, SSH.

Box one borrows; box two lends. Each has a state folder, a scripted engine and matters of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from bot.link import Link, Target
from protocol.ids import MatterId
from worker.keys import make_key

MODEL = "ab" * 32
"""Stands for the hash of the weights, the same on both boxes."""
_UP_S = 180.0


class JoinedBox:
    """One box: its folder, its programs, and a lawyer's line to it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.config = folder / "worker.toml"
        self.state = folder / "state"
        self.programs: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir()
        make_key(folder / "you")
        make_key(folder / "box")

    def write(self, script: Sequence[Mapping[str, object]], more: str) -> None:
        """The settings file: one scripted board, and the parts on boxes."""
        (self.folder / "script.json").write_text(json.dumps(list(script)), "utf-8")
        self.config.write_text(
            f'state = "{self.state}"\nrun_folder = "{self.folder / "run"}"\nport = 0\n'
            'composition = "model"\nsecond_reading = false\nwhole_record_tokens = 0\n'
            f'[[boards]]\nname = "{self.name}.a"\nengine = "scripted"\nmodel_sha256 = "{MODEL}"\n'
            f'script = "{self.folder / "script.json"}"\n{more}',
            "utf-8",
        )

    def operator(self, *words: str, check: bool = True) -> str:
        """What an operator's command prints."""
        return subprocess.run(
            [sys.executable, "-m", "worker", "--config", str(self.config), *words],
            capture_output=True,
            text=True,
            check=check,
        ).stdout

    def open_matter(self, title: str, papers: Path) -> MatterId:
        """A matter of this box for its lawyer."""
        words = ("matters", "open", title, "--folder", str(papers), "--user", "you")
        return MatterId(self.operator(*words).strip())

    async def start(self) -> None:
        """Worker and gateway, up."""
        for program, marker in (("serve", "worker.sock"), ("gateway", "gateway.port")):
            (self.folder / "run" / marker).unlink(missing_ok=True)
            with (self.folder / f"{program}.log").open("ab") as log:
                self.programs[program] = self._run(program, log)
            deadline = time.monotonic() + _UP_S
            while not (self.folder / "run" / marker).exists():
                if self.programs[program].poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{program} of box {self.name} did not come up")
                await asyncio.sleep(0.05)

    def _run(self, program: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "worker", "--config", str(self.config), program],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )

    @property
    def port(self) -> int:
        """Where its gateway listens."""
        return int((self.folder / "run" / "gateway.port").read_text("ascii"))

    def known_hosts(self) -> Path:
        """A file that pins its gateway."""
        path = self.folder / "known_hosts"
        keys = sorted((self.state / "gateway").glob("host_*.pub"))
        path.write_text("".join(f"[127.0.0.1]:{self.port} {key.read_text()}" for key in keys))
        return path

    def line(self) -> contextlib.AbstractAsyncContextManager[Link]:
        """The lawyer's line over SSH."""
        target = Target(
            host="127.0.0.1",
            port=self.port,
            key=self.folder / "you",
            known_hosts=self.known_hosts(),
        )
        return Link.over_ssh(target, client="bench")

    def lent(self) -> list[tuple[str, str]]:
        """Matter and state of every call it took for another box."""
        path = self.state / "queue.sqlite"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute("SELECT matter, state FROM job WHERE kind = 'lend'").fetchall()

    def kill(self) -> None:
        """As a power cut would."""
        for program in self.programs.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(program.pid, signal.SIGKILL)
            program.wait()


@contextlib.asynccontextmanager
async def two_joined(
    scripts: Mapping[str, Sequence[Mapping[str, object]]],
    papers: Path,
    *,
    staying_there: bool = False,
) -> AsyncIterator[tuple[JoinedBox, JoinedBox, MatterId, MatterId]]:
    """Both boxes, and two matters of box one: one that may leave it, and one that may not.

    Args:
        scripts: What the engines of ``one`` and ``two`` say.
        papers: The files of both matters.
        staying_there: Whether box two knows the leaving matter as one that stays.
    """
    with tempfile.TemporaryDirectory(prefix="jb") as made:
        one, two = JoinedBox(Path(made) / "one", "one"), JoinedBox(Path(made) / "two", "two")
        for box in (one, two):
            box.write(scripts[box.name], "")
            box.operator("init", "--yes", check=False)  # its doctor knows of no running worker
        you = ("users", "add", "you", "--key", str(one.folder / "you.pub"), "--role", "reviewer")
        one.operator(*you)
        two.operator("users", "add", "one", "--key", str(one.folder / "box.pub"), "--role", "box")
        leaves, stays = one.open_matter("Leaving", papers), one.open_matter("Staying", papers)
        known = f'staying = ["{leaves}"]\n' if staying_there else ""
        two.write(scripts["two"], f'[box]\nname = "two"\nlends = "two.a"\n{known}')
        try:
            await two.start()
            one.write(
                scripts["one"],
                f'[box]\nname = "one"\nleaving = ["{leaves}"]\n'
                '[[other_box]]\nname = "two"\nhost = "127.0.0.1"\n'
                f'port = {two.port}\nkey = "{one.folder / "box"}"\n'
                f'known_hosts = "{two.known_hosts()}"\n',
            )
            await one.start()
            yield one, two, leaves, stays
        finally:
            for box in (one, two):
                box.kill()
