"""A box for the tests of the line: keys made on the spot, a real worker process, a real gateway."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh  # noqa: TID251
import msgspec
import pytest

from bench.children import end, finish
from bench.house import SAMPLE, read_matter
from bot.link import Link, Target
from bot.link.ssh import SshWay
from protocol.frames import Stamp
from protocol.ids import MatterId, UserName
from protocol.jobs import Accepted, Ask
from worker.gateway import GatewaySettings
from worker.gateway.listener import Gateway
from worker.registry import Key, Registry, Role, User, read, with_revoked, write

ALDER = MatterId("M-A1DR")
BIRCH = MatterId("M-B1RC")
ABSENT = MatterId("M-ZZZZ")

WORKER = Path(__file__).parent / "line_worker.py"


class Box:
    """One box: its folder, its worker, its gateway, its users."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.users = folder / "users.toml"
        self.socket = folder / "run" / "worker.sock"
        self.known_hosts = folder / "known_hosts"
        self.worker: asyncio.subprocess.Process | None = None
        self.gateway: Gateway | None = None
        (folder / "run").mkdir(mode=0o700)
        self.host_key = self._key("host", asyncssh.generate_private_key("ssh-ed25519"))
        users = []
        for name, role, matters in (
            ("alder", Role.REVIEWER, (ALDER,)),
            ("birch", Role.LAWYER, (BIRCH,)),
            ("helper", Role.BOT, (ALDER,)),
        ):
            key = asyncssh.generate_private_key("ssh-ed25519")
            self._key(name, key)
            users.append(
                User(
                    name=name,
                    role=role,
                    matters=matters,
                    keys=(Key(public=key.export_public_key().decode()),),
                )
            )
        self._key("stranger", asyncssh.generate_private_key("ssh-ed25519"))
        write(self.users, Registry(users=tuple(users)))

    def _key(self, name: str, key: asyncssh.SSHKey) -> Path:
        path = self.folder / name
        path.write_bytes(key.export_private_key())
        path.chmod(0o600)
        (self.folder / f"{name}.pub").write_bytes(key.export_public_key())
        return path

    def settings(self, **changes: object) -> GatewaySettings:
        usual = GatewaySettings(
            host="127.0.0.1",
            port=0,
            host_keys=(self.host_key,),
            users=self.users,
            worker=self.socket,
            watch_s=0.05,
        )
        return msgspec.structs.replace(usual, **changes)

    @contextlib.asynccontextmanager
    async def open_gateway(self, **changes: object) -> AsyncIterator[Gateway]:
        async with Gateway(self.settings(**changes)).open() as gateway:
            self.gateway = gateway
            self.pin()
            yield gateway

    def pin(self, public: Path | None = None) -> None:
        """Pins the gateway's host key, or another one."""
        assert self.gateway is not None
        kind, blob = (public or self.folder / "host.pub").read_text().split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.gateway.port} {kind} {blob}\n")

    async def start_worker(self, *more: str) -> None:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
        with (self.folder / "worker.log").open("ab") as log:
            self.worker = await asyncio.create_subprocess_exec(
                sys.executable,
                str(WORKER),
                str(self.folder),
                str(self.socket),
                *more,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=environment,
            )
        assert self.worker.stdout is not None
        assert await self.worker.stdout.readline() == b"ready\n", self.log()

    async def kill_worker(self) -> None:
        assert self.worker is not None
        with contextlib.suppress(ProcessLookupError):
            self.worker.send_signal(signal.SIGKILL)
        await self.worker.communicate()

    def log(self) -> str:
        return (self.folder / "worker.log").read_text()

    def target(self, user: str = "alder") -> Target:
        assert self.gateway is not None
        return Target(
            host="127.0.0.1",
            port=self.gateway.port,
            key=self.folder / user,
            known_hosts=self.known_hosts,
        )

    def link(self, user: str = "alder") -> Link:
        return Link(SshWay(self.target(user)), client="test")

    async def connect(
        self, user: str = "alder", *, login: str = "whoever", **options: object
    ) -> asyncssh.SSHClientConnection:
        assert self.gateway is not None
        return await asyncssh.connect(
            "127.0.0.1",
            self.gateway.port,
            username=login,
            client_keys=[str(self.folder / user)],
            known_hosts=str(self.known_hosts),
            config=None,
            **({"agent_path": None} | options),
        )

    def ssh(self, *arguments: str, user: str = "alder", options: tuple[str, ...] = ()) -> list[str]:
        """The command line of Debian's OpenSSH client."""
        assert self.gateway is not None
        return [
            "ssh",
            "-F",
            "none",
            "-p",
            str(self.gateway.port),
            "-i",
            str(self.folder / user),
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "IdentityAgent=none",
            "-o",
            f"UserKnownHostsFile={self.known_hosts}",
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            "BatchMode=yes",
            *options,
            "you@127.0.0.1",
            *arguments,
        ]

    async def run_ssh(
        self,
        *arguments: str,
        user: str = "alder",
        options: tuple[str, ...] = (),
        stdin: bytes = b"",
    ) -> tuple[int, bytes, bytes]:
        """Runs the stock client: exit status, output, errors."""
        child = await asyncio.create_subprocess_exec(
            *self.ssh(*arguments, user=user, options=options),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await finish(child, stdin)
        assert child.returncode is not None
        return child.returncode, out, err

    def revoke(self, user: str) -> None:
        registry = read(self.users)
        found = registry.user(user)
        assert found is not None
        write(self.users, with_revoked(registry, found.keys[0].fingerprint))

    def stamp(self, user: str = "alder") -> Stamp:
        found = read(self.users).user(user)
        assert found is not None
        return Stamp(
            user=UserName(user),
            role=found.role.value,
            fingerprint=found.keys[0].fingerprint,
            peer="127.0.0.1",
        )


@pytest.fixture(name="box")
async def _box(caplog: pytest.LogCaptureFixture) -> AsyncIterator[Box]:
    """A box; whatever a test does to it, nothing may go wrong unseen in gateway, link or loop."""
    folder = Path(tempfile.mkdtemp(prefix="sc-"))  # short: socket paths may have 107 bytes
    box = Box(folder)
    yield box
    if box.worker is not None:  # of a test that failed it runs still, or died and holds its pipes
        await end(box.worker)
    shutil.rmtree(folder)
    unseen = {"channel.failed", "line.failed", "registry.watch"}
    for record in caplog.get_records("call"):
        assert not (record.name == "asyncio" and record.levelname == "ERROR"), record.getMessage()
        assert record.msg not in unseen, getattr(record, "fields", {})


@pytest.fixture(name="line")
async def _line(box: Box) -> AsyncIterator[Box]:
    """A box with its worker and its gateway running."""
    await box.start_worker()
    async with box.open_gateway():
        yield box
    await box.kill_worker()


@pytest.fixture(name="ask")
def _ask():
    """Asks the counting worker for a job of so many events."""

    async def ask(link: Link, many: int, matter: MatterId = ALDER) -> Accepted:
        key = secrets.token_hex(8)
        request = Ask(matter=matter, conversation="c", question=f"count {many}", key=key)
        result = await link.call(request)
        assert isinstance(result, Accepted)
        return result

    return ask


@pytest.fixture(scope="session", name="sample_root")
def _sample_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample matter, read once for all tests that open a house around it."""
    root = tmp_path_factory.mktemp("sample")
    read_matter(root, SAMPLE)
    return root
