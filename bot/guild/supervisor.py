"""Keeps a bot alive: one instance, a new client after every exit, a watch over a stuck one."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

import discord  # noqa: TID251

from bot.guild.client import GuildClient
from bot.guild.deliveries import Deliveries
from bot.guild.files import Put
from bot.guild.place import point_at
from bot.guild.rights import ActingLine
from bot.guild.settings import GuildSettings, token
from protocol.errors import BadRequest, Conflict

_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0
_LOOK_EVERY_S: Final = 15.0
_STUCK_S: Final = 120.0
"""Seconds without a gateway after which a client is thrown away."""
_BAD_TOKEN: Final = 4004


class Supervisor:
    """Runs one bot until it is cancelled."""

    def __init__(
        self,
        settings: GuildSettings,
        line: ActingLine,
        *,
        trouble: Callable[[str], None],
        put: Put | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        watch_every_s: float = 3.0,
    ) -> None:
        """Joins the parts.

        Args:
            settings: The bot's settings.
            line: An open line to the box.
            trouble: Told a word about whatever went wrong; no words of a case.
            put: See `GuildClient`.
            sleep: Waits between two clients.
            watch_every_s: See `Counter`.
        """
        self._settings = settings
        self._line = line
        self._trouble = trouble
        self._put = put
        self._sleep = sleep
        self._watch_every_s = watch_every_s
        self.client: GuildClient | None = None
        """The client of now."""
        self.clients = 0
        """How many were made."""

    async def run(self) -> None:
        """Until cancelled.

        Raises:
            BadRequest: The token or the application's settings are wrong: trying again is of no
                use.
            Conflict: This bot runs already.
            AppError: The state file cannot be used.
        """
        secret = token(self._settings)
        point_at(self._settings)
        with (
            alone(self._settings.state),
            contextlib.closing(Deliveries(self._settings.state)) as store,
        ):
            wait_s = _FIRST_WAIT_S
            while True:
                lived = await self._one_client(store, secret)
                wait_s = _FIRST_WAIT_S if lived else min(2 * wait_s, _LONGEST_WAIT_S)
                await self._sleep(wait_s)

    async def _one_client(self, store: Deliveries, secret: str) -> bool:
        """One client until it ends; whether it had become ready."""
        client = GuildClient(
            self._settings,
            self._line,
            store,
            trouble=self._trouble,
            put=self._put,
            watch_every_s=self._watch_every_s,
        )
        self.client, self.clients = client, self.clients + 1
        ready = False
        try:
            async with _watched(client):
                await client.start(secret)
        except discord.LoginFailure:
            raise BadRequest(
                "Discord does not accept the bot's token", next_step="put a new one into its file"
            ) from None
        except discord.PrivilegedIntentsRequired:
            raise BadRequest(
                "this application may not read messages, which a full bot must",
                next_step="switch on the message content intent in the developer portal",
            ) from None
        except discord.ConnectionClosed as error:
            if error.code == _BAD_TOKEN:
                raise BadRequest("Discord does not accept the bot's token") from None
            self._trouble(f"closed {error.code}")
        except Exception as error:  # whatever ends a client, a new one takes over
            self._trouble(type(error).__name__)
        finally:
            ready = client.is_ready()
            with contextlib.suppress(Exception):
                await client.close()
        return ready


@contextlib.asynccontextmanager
async def _watched(client: GuildClient) -> AsyncIterator[None]:
    """Closes a client that has had no gateway for too long."""

    async def watch() -> None:
        without_s = 0.0
        while without_s < _STUCK_S:
            await asyncio.sleep(_LOOK_EVERY_S)
            alive = client.is_ready() and client.latency < _STUCK_S
            without_s = 0.0 if alive else without_s + _LOOK_EVERY_S
        await client.close()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@contextlib.contextmanager
def alone(state: Path) -> Iterator[None]:
    """Holds the lock of this bot; it goes with the process, however that ends.

    Raises:
        Conflict: Another process holds it.
    """
    state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = sqlite3.connect(state.with_suffix(".lock"), isolation_level=None, timeout=0)
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise Conflict("this bot runs already", next_step="stop the other one first") from None
        yield
    finally:
        lock.close()
