"""A whole box for the acceptance tests: every part real, in its own process, on the sample matter.

Real means: the command line an operator types, SQLite, Chroma, the bundled embedder and GGUF model
through the native llama.cpp server, the asyncssh gateway, and the client over SSH.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[1] / "data" / "sample" / "hartwell-v-northgate"
UP_S = 120


@dataclass
class Box:
    """One box under a folder, with the programs that run on it."""

    folder: Path
    matter: str = ""
    programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def port(self) -> int:
        return int((self.run / "gateway.port").read_text("ascii"))

    @property
    def config(self) -> Path:
        return self.folder / "worker.toml"

    def operator(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """What an operator types on the box."""
        return subprocess.run(
            [sys.executable, "-m", "worker", "--config", self.config, *words],
            capture_output=True,
            text=True,
            timeout=UP_S,
            check=check,
        )

    def key(self, name: str) -> Path:
        """A fresh key of a person, made by OpenSSH's own tool."""
        path = self.folder / name
        if not path.exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, timeout=60
            )
        return path

    def start(self, name: str) -> None:
        """Starts ``serve`` or ``gateway`` and waits until it can be reached."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.programs[name] = subprocess.Popen(
                [sys.executable, "-m", "worker", "--config", self.config, name, "--leash"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        marker = self.run / ("worker.sock" if name == "serve" else "gateway.port")
        deadline = time.monotonic() + UP_S
        while not marker.exists():
            log = self.folder / f"{name}.log"
            assert self.programs[name].poll() is None, log.read_text("utf-8")[-2000:]
            assert time.monotonic() < deadline, f"{name} did not come up"
            time.sleep(0.05)
        if name == "gateway":
            keys = sorted((self.state / "gateway").glob("host_*.pub"))
            lines = [f"[127.0.0.1]:{self.port} {path.read_text('ascii')}" for path in keys]
            (self.folder / "known_hosts").write_text("".join(lines), "ascii")

    def kill(self, name: str) -> None:
        """kill -9, as a power cut would."""
        program = self.programs.pop(name)
        os.kill(program.pid, signal.SIGKILL)
        program.wait(timeout=30)
        program.stdin.close()
        (self.run / "worker.sock").unlink(missing_ok=True)

    def stop(self) -> None:
        """Ends every program as an operator would."""
        for program in self.programs.values():
            program.terminate()
        for program in self.programs.values():
            program.wait(timeout=60)
            program.stdin.close()

    def client(self, *words: str, user: str = "you", said: str = "") -> subprocess.CompletedProcess:
        """What a person types on the PC."""
        command, *rest = words
        return subprocess.run(
            [
                sys.executable, "-m", "bot", command, "--host", "127.0.0.1",
                "--port", str(self.port), "--key-file", self.key(user),
                "--known-hosts", self.folder / "known_hosts", *rest,
            ],
            input=said,
            capture_output=True,
            text=True,
            timeout=UP_S,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder / "pc")},
        )  # fmt: skip

    def ask(self, question: str) -> dict:
        """A question asked over SSH; the whole answer."""
        done = self.client("ask", "--matter", self.matter, "--json", "-", said=question)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def box(tmp_path_factory) -> Box:
    """The box, set up as the README says: init, a user, a matter, then both programs."""
    # Socket paths are short, pytest's folders may not be.
    folder = tmp_path_factory.mktemp("box")
    box = Box(folder)
    box.config.write_text(
        f'state = "{box.state}"\nrun_folder = "{folder / "run"}"\nport = 0\n', "utf-8"
    )
    box.operator("init", "--yes", check=False)
    for name, role in (("you", "reviewer"), ("stranger", "reviewer")):
        public = box.key(name).with_name(f"{name}.pub")
        box.operator("users", "add", name, "--key", str(public), "--role", role)
    opened = box.operator("matters", "open", "Hartwell v. Northgate", "--folder", str(SAMPLE),
                          "--user", "you")  # fmt: skip
    box.matter = opened.stdout.strip()
    box.start("serve")
    box.start("gateway")
    yield box
    box.stop()
