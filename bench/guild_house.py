"""A bot in a server of the double, over SSH to a worker with the sample matter: every part real.

Only the model is a script. Gateway, service, rights, queue, pipeline and checker are the box's own;
the bot is the one that `secondchair bot run` starts; Discord is `bench.guild_double`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import secrets
import shutil
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop'", DeprecationWarning)
    import discord  # noqa: F401, TID251 - it imports audioop, which Python 3.11 deprecates

from bench.children import end
from bench.guild_double import Double, Person
from bench.guild_double.world import SERVER, Json
from bench.house import CODE, House, open_house
from bot.config import toml_value
from bot.guild.deliveries import Bound, Deliveries
from bot.guild.settings import GuildSettings, Mode, explained
from bot.guild.supervisor import Supervisor
from bot.link import Link, Target, drop
from protocol.ids import JobId
from protocol.jobs import (
    Accepted,
    Ask,
    Cancel,
    Chronology,
    CiteCheck,
    Decide,
    Edit,
    Export,
    Extract,
    Find,
    Forget,
    GetAnswer,
    Health,
    Ingest,
    ListAudit,
    ListDocuments,
    ListJobs,
    ListMatters,
    OpenSource,
    Summarize,
    WriteDraft,
)
from worker.engine.scripted import Script
from worker.gateway import DropSettings, GatewaySettings
from worker.gateway.listener import Gateway
from worker.handlers.edit import Edits
from worker.keys import make_key
from worker.registry import Disclosure, Key, Registry, RegistryFile, Role, User, write
from worker.service import Handlers
from worker.service.server import Server

CHANNEL: Final = "500000000000000001"
OTHER: Final = "500000000000000002"
"""A channel that is bound to nothing."""
YOU: Final = "300000000000000001"
STRANGER: Final = "300000000000000002"
"""Known to the box, without this matter."""
NOBODY: Final = "300000000000000003"
"""Unknown to the box."""


class GuildHouse:
    """Box, line, double and bot."""

    def __init__(self, folder: Path, house: House, double: Double, mode: Mode) -> None:
        self.folder = folder
        self.house = house
        self.double = double
        self.mode = mode
        self.trouble: list[str] = []
        self.gateway: Gateway
        self.link: Link
        self.bot: Supervisor
        self._running: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self.you = Person(double, YOU)
        self.stranger = Person(double, STRANGER)
        self.nobody = Person(double, NOBODY)

    @property
    def settings(self) -> GuildSettings:
        """The bot's."""
        return GuildSettings(
            mode=self.mode,
            server=SERVER,
            token_file=self.folder / "token",
            key_file=self.folder / "helper",
            state=self.folder / "discord.sqlite",
            api=self.double.api,
            gateway=self.double.gateway.address,
            pace_s=0.05,
        )

    def target(self, user: str) -> Target:
        """The gateway, for a user."""
        return Target(
            host="127.0.0.1",
            port=self.gateway.port,
            key=self.folder / user,
            known_hosts=self.folder / "known_hosts",
        )

    async def start_bot(self) -> None:
        """Starts the bot and waits until Discord's gateway knows it."""
        self.bot = Supervisor(
            self.settings,
            self.link,
            trouble=self.trouble.append,
            sleep=_soon,
            put=functools.partial(drop.put, self.target("helper")),
            watch_every_s=0.05,
        )
        self._running = asyncio.create_task(self.bot.run())
        await self.until(lambda: self.double.gateway.connected)
        await self.until(lambda: bool(self.bot.client and self.bot.client.is_ready()))

    async def kill_bot(self) -> None:
        """Ends the bot at once, wherever it is; the state file is all that stays."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def start_process(self) -> None:
        """Starts the bot as a person does, in a process of its own."""
        file = self.folder / "bot.toml"
        if not file.exists():
            made = self.settings
            lines = [f"{key} = {toml_value(getattr(made, key))}" for key in ("api", "gateway")]
            lines.append(f"pace_s = {made.pace_s}")
            file.write_text(explained(made) + "\n".join(lines) + "\n")
            line = {
                "host": "127.0.0.1",
                "port": self.gateway.port,
                "known_hosts": self.folder / "known_hosts",
            }
            (self.folder / "line.toml").write_text(
                "".join(f"{key} = {toml_value(value)}\n" for key, value in line.items())
            )
        with (self.folder / "bot.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-W", "ignore::DeprecationWarning", "-m", "bot", "bot", "run",
                "--mode", self.mode, "--bot-config", str(file),
                "--config", str(self.folder / "line.toml"),
                cwd=Path(__file__).parent.parent,
                stdout=log,
                stderr=log,
            )  # fmt: skip

    async def kill_process(self) -> None:
        """kill -9."""
        if self._process is not None and self._process.returncode is None:
            await end(self._process)

    async def until(self, holds: Callable[[], Any], within_s: float = 120.0) -> None:
        """Waits until something holds."""
        async with asyncio.timeout(within_s):
            while not holds():
                if self._running is not None and self._running.done():
                    self._running.result()
                await asyncio.sleep(0.01)

    async def finals(self, count: int = 1, within_s: float = 120.0) -> list[Json]:
        """The messages that call somebody, once there are so many."""
        await self.until(lambda: len(self._finals()) >= count, within_s)
        return self._finals()

    def _finals(self) -> list[Json]:
        return [m for m in self.double.messages(CHANNEL) if m["mentions"]]

    async def idle(self) -> None:
        """Waits until nothing is open any more."""
        assert self.bot.client is not None
        desk = self.bot.client.desk
        await self.until(lambda: not desk.busy)

    async def ask_in_terminal(self, question: str) -> JobId:
        """What a person does on the PC: the same line, another key."""
        async with Link.over_ssh(self.target("you"), client="test") as link:
            key = secrets.token_hex(8)
            request = Ask(matter=CODE, conversation="t", question=question, key=key)
            accepted = await link.call(request)
            assert isinstance(accepted, Accepted)
            return accepted.job


async def _soon(_: float) -> None:
    await asyncio.sleep(0.01)


def _users(folder: Path, mode: Mode) -> Registry:
    def user(name: str, **more: Any) -> User:
        return User(name=name, keys=(Key(public=make_key(folder / name)),), **more)

    disclosure = Disclosure.FULL if mode is Mode.FULL else Disclosure.STRICT
    return Registry(
        users=(
            user("you", role=Role.REVIEWER, matters=(CODE,), discord=(YOU,),
                 approve_from_chat=True),
            user("stranger", role=Role.REVIEWER, matters=(), discord=(STRANGER,)),
            user("helper", role=Role.BOT, matters=(CODE,), disclosure=disclosure),
        )
    )  # fmt: skip


_WORK: Final = (Ask, Find, Summarize, Extract, Chronology, CiteCheck, WriteDraft, Ingest)


def _handlers(house: House) -> Handlers:
    return Handlers(
        calls={
            **dict.fromkeys(_WORK, house.work.submit),
            Cancel: house.work.cancel,
            ListMatters: house.look.matters,
            ListJobs: house.look.jobs,
            ListAudit: house.look.audit,
            ListDocuments: house.look.documents,
            OpenSource: house.look.page,
            GetAnswer: house.look.answer,
            Health: house.look.health,
            Forget: house.look.forget,
            Decide: house.gate.decide,
            Edit: Edits(house.office).edit,
            Export: house.gate.export,
        },
        events=house.queue,
        matter_of=house.office.matter_of,
        join_words=house.look.join_words,
    )


@contextlib.asynccontextmanager
async def open_guild(
    root: Path, mode: Mode, script: Script = (), *, bind: bool = True, start: bool = True
) -> AsyncIterator[GuildHouse]:
    """Everything up, the bot included.

    Args:
        root: A folder that `bench.house.read_matter` has filled.
        mode: Of the Discord server.
        script: What the model says; by itself it points at the first passage.
        start: Whether the bot is started here; else `GuildHouse.start_process` does it apart.
        bind: Whether the channel is bound to the matter, in full mode with consent.
    """
    folder = Path(tempfile.mkdtemp(prefix="sc-"))  # short: socket paths may have 107 bytes
    try:
        async with contextlib.AsyncExitStack() as stack:
            house = await stack.enter_async_context(open_house(root, script))
            double = await stack.enter_async_context(Double().open())
            double.world.add_channel(CHANNEL)
            double.world.add_channel(OTHER)
            guild = GuildHouse(folder, house, double, mode)
            write(folder / "users.toml", _users(folder, mode))
            host = make_key(folder / "host")
            run = folder / "run"
            run.mkdir(mode=0o700)
            registry = RegistryFile(folder / "users.toml")
            server = Server(run / "s", _handlers(house), registry, uids={os.getuid()})
            await server.start()
            stack.push_async_callback(server.stop)
            gateway = GatewaySettings(
                host="127.0.0.1",
                port=0,
                host_keys=(folder / "host",),
                users=folder / "users.toml",
                worker=run / "s",
                drop=DropSettings(matters=root / "matters", audit=root / "audit"),
            )
            guild.gateway = await stack.enter_async_context(Gateway(gateway).open())
            (folder / "known_hosts").write_text(f"[127.0.0.1]:{guild.gateway.port} {host}\n")
            (folder / "token").write_text(double.token)
            (folder / "token").chmod(0o600)
            if bind:
                consent = ("you", "2026-11-30") if mode is Mode.FULL else ("", "")
                with contextlib.closing(Deliveries(guild.settings.state)) as store:
                    store.bind(
                        Bound(
                            channel=CHANNEL,
                            matter=CODE,
                            consent_by=consent[0],
                            consent_on=consent[1],
                        )
                    )
            link = Link.over_ssh(guild.target("helper"), client="bot")
            guild.link = await stack.enter_async_context(link)
            stack.push_async_callback(guild.kill_bot)
            stack.push_async_callback(guild.kill_process)
            if start:
                await guild.start_bot()
            yield guild
    finally:
        shutil.rmtree(folder)
