"""Engines in units of their own: written by init, started as their ExecStart says, lost, restarted.

The service manager's part is played here: the unit file is read, its variables are set, its command
is run, its READY is awaited, and it is started again after it was killed. Everything else is real.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from bench.joined_boxes import JoinedBox
from protocol.errors import Unavailable
from protocol.events import LAST, Completed, Words
from protocol.jobs import Accepted, Ask
from worker.boards import Box, HostMemory
from worker.boards.declared import Declared
from worker.config import Settings, load
from worker.engine import (
    EngineSettings,
    Finished,
    Limits,
    Prompt,
    Request,
    State,
    Usage,
    bundled_model,
    unit_child,
)
from worker.engine.llama_server import LlamaServer
from worker.engine.supervisor import Supervised, supervised_llama_server
from worker.setup import engine_units
from worker.setup.explained import write_explained
from worker.setup.units import render_units

pytestmark = pytest.mark.model
UP_S = 280


class StartedUnit:
    """One unit, run as the service manager would."""

    def __init__(self, text: str, folder: Path) -> None:
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.keys = [tuple(line.split("=", 1)) for line in lines if "=" in line]
        (command,) = (value for key, value in self.keys if key == "ExecStart")
        self.command = shlex.split(command)
        self.folder = folder
        self.program: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """As Type=notify: returns once the unit says that it is ready."""
        own = [word for key, value in self.keys if key == "Environment" for word in value.split()]
        home = f"HOME={self.folder}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            address = f"\0secondchair-test-{os.getpid()}-{time.monotonic_ns()}"
            told.bind(address)
            self.program = subprocess.Popen(
                self.command,
                env=dict(
                    word.split("=", 1)
                    for word in (*own, home, f"NOTIFY_SOCKET=@{address[1:]}", "PATH=/usr/bin:/bin")
                ),
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            told.settimeout(UP_S)
            assert told.recv(64) == b"READY=1"

    def kill(self) -> None:
        if self.program is not None:
            self.program.kill()
            self.program.wait()


def board(name: str, **more: object) -> EngineSettings:
    return EngineSettings(**{"name": name, "context_tokens": 2048, "stall_timeout_s": 60, **more})


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, as /run/secondchair-engine is; nothing is written outside it."""
    try:
        bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    with tempfile.TemporaryDirectory(prefix="eu") as made:
        monkeypatch.setattr(engine_units, "RUN", Path(made) / "run")
        yield Path(made)


@contextlib.contextmanager
def units(folder: Path, *boards: EngineSettings) -> Iterator[tuple[Settings, list[StartedUnit]]]:
    """The units that `init --service` would write for these boards; ended afterwards."""
    settings = engine_units.with_units(
        Settings(state=folder / "box" / "state", run_folder=folder / "box" / "run", boards=boards)
    )
    nothing = Box(boards=(), memory=HostMemory(total_bytes=0, available_bytes=0))
    config = folder / "box" / "worker.toml"
    written = render_units(settings, config, box=nothing, declared=Declared())
    started = [
        StartedUnit(written[engine_units.unit_name(one.name)], folder) for one in settings.boards
    ]
    try:
        yield settings, started
    finally:
        for unit in started:
            unit.kill()


async def asked(engine: Supervised | LlamaServer, matter: str) -> Usage:
    prompt = Prompt(system="Read.", record=("Shelf 3 holds 12 boxes.",), question="How many?")
    request = Request(id="r", matter=matter, prompt=prompt, limits=Limits(max_tokens=4))
    async with aclosing(engine.stream(request)) as events:
        last = [event async for event in events][-1]
    assert isinstance(last, Finished)
    return last.usage


async def test_nobody_meets_what_another_left_in_a_lent_engine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall of a child of ours, over a unit: who comes next gets a server that knows nothing."""
    monkeypatch.setattr(unit_child, "_IN_USE_S", 0.5)
    with units(folder, board("A")) as (settings, (unit,)):
        unit.start()
        (own,) = settings.boards
        first = LlamaServer(own)
        await first.start()
        await asked(first, "M-AAAA")
        assert (await asked(first, "M-AAAA")).reused_tokens > 30
        left = first.pid
        second = LlamaServer(own)
        with pytest.raises(Unavailable, match="another program"):
            await second.start()
        await first.stop()
        await second.start()
        assert second.pid != left
        assert (await asked(second, "M-AAAA")).reused_tokens < 20
        assert not Path(f"/proc/{left}").exists()
        await second.stop()


async def test_a_condemned_engine_is_replaced_without_a_right_over_its_unit(folder: Path) -> None:
    with units(folder, board("A")) as (settings, (unit,)):
        unit.start()
        engine = supervised_llama_server(settings.boards[0])
        await engine.start()
        await asked(engine, "M-AAAA")
        first = engine.pid
        await engine.forget("M-AAAA")
        assert engine.pid != first
        assert (await asked(engine, "M-AAAA")).reused_tokens < 20
        assert (await engine.health()).state is State.READY
        await engine.stop()


@pytest.mark.parametrize(
    "changed",
    [{"context_tokens": 1024}, {"cache_ram_mib": 0}, {"environment": {"LC_ALL": "C"}}],
    ids=["flag", "cache", "variable"],
)
async def test_an_engine_that_runs_with_other_settings_is_not_used(
    folder: Path, changed: dict[str, object]
) -> None:
    with units(folder, board("A")) as (settings, (unit,)):
        unit.start()
        engine = LlamaServer(msgspec.structs.replace(settings.boards[0], **changed))
        with pytest.raises(Unavailable, match="other settings"):
            await engine.start()


async def test_weights_that_were_exchanged_since_are_not_used(folder: Path) -> None:
    model = folder / "m.gguf"
    model.write_bytes(bundled_model().read_bytes())
    with units(folder, board("A", model=model)) as (settings, (unit,)):
        unit.start()
        model.touch()
        with pytest.raises(Unavailable, match="another file"):
            await LlamaServer(settings.boards[0]).start()


def test_a_unit_that_proves_nothing_does_not_come_up(folder: Path) -> None:
    """A server that says it is well and writes nothing, as after a fault of a card."""
    binary = folder / "server"
    binary.write_text(LIAR.format(python=sys.executable))
    binary.chmod(0o755)
    with units(folder, board("A", binary=binary)) as (_, (unit,)):
        ended = subprocess.run(
            unit.command, capture_output=True, text=True, timeout=UP_S, env={"PATH": "/usr/bin"}
        )
    assert ended.returncode != 0
    assert "does not answer a completion" in ended.stderr


LIAR = """#!{python}
import http.server, socketserver, sys
if "--help" in sys.argv:
    print(*"-m -a -c -np -b -ub -t -ctk -ctv --cache-ram --fit --offline --slots -lv".split())
    print(*"--host --slot-save-path --no-ui".split())
    sys.exit()
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{{}}")
    def do_POST(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{{}}")
    def log_message(self, *_): pass
    def address_string(self): return ""
class Server(socketserver.UnixStreamServer):
    pass
Server(sys.argv[sys.argv.index("--host") + 1], Answers).serve_forever()
"""


@pytest.mark.slow
async def test_a_killed_engine_is_started_again_and_its_job_ends_once(folder: Path) -> None:
    """Two boards, two units, one worker behind its gateway, a job in the middle of its words."""
    with units(folder, board("A"), board("B")) as (settings, (one, other)):
        for unit in (one, other):
            unit.start()
        box = WholeBox(folder / "box", settings)
        try:
            await box.start()
            async with asyncio.timeout(UP_S), box.line() as link:
                request = Ask(matter=box.matter, conversation="c", question="The boiler?", key="k")
                accepted = await link.call(request)
                assert isinstance(accepted, Accepted)
                events, killed = [], False
                async for event in link.follow(accepted.job):
                    events.append(event)
                    if isinstance(event.body, Words) and not killed:
                        killed = True
                        one.kill()
                        await asyncio.to_thread(one.start)
            assert killed
            assert sum(isinstance(event.body, LAST) for event in events) == 1
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            last = events[-1].body
            assert isinstance(last, Completed)
            assert last.answer is not None
            assert last.answer.provenance.model == "A"  # not the record's words alone
            assert other.program is not None
            assert other.program.poll() is None
        finally:
            box.kill()


class WholeBox(JoinedBox):
    """A worker and a gateway, on the settings that `init` would write."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder, "A")
        write_explained(settings, self.config)
        text = self.config.read_text()
        more = 'composition = "model"\nsecond_reading = false\nlive_text = true\nport = 0\n'
        self.config.write_text(f"{more}answer_tokens = 300\n{text}")
        assert load(self.config, environment={}).settings.boards == settings.boards
        self.operator("init", "--yes", check=False)
        self.operator("users", "add", "you", "--key", f"{folder / 'you'}.pub", "--role", "reviewer")
        papers = folder / "papers"
        papers.mkdir()
        (papers / "note.txt").write_text("The boiler was inspected on 3 May 2021.\n", "utf-8")
        self.matter = self.open_matter("Boiler", papers)
