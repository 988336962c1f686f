"""The way to another box's engine: a unix socket here, an SSH channel to its gateway, bytes.

The worker here speaks to the socket and needs no network. One connection a box is kept; each
connection to the socket is a channel on it. The other gateway lets only keys of role ``box`` in,
and joins the channel to its lender.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import asyncssh  # noqa: TID251
import msgspec

from protocol.errors import BadRequest
from worker.gateway import ENGINE_SUBSYSTEM, algorithms
from worker.gateway.channel import Channel
from worker.logs import Log

_READ_BYTES: Final = 64 * 1024
_log: Final = Log("gateway")


class OtherBox(msgspec.Struct, frozen=True, kw_only=True):
    """Where another box is, and how it is known."""

    host: str
    port: int
    key: Path
    """Our private key; known there in role ``box``."""
    known_hosts: Path
    """Its host key, pinned."""
    socket: Path
    """Where our worker finds it."""
    connect_s: float = 10.0


class BoxWay:
    """Keeps the way to one other box open, and opens it again when it was lost."""

    def __init__(self, other: OtherBox) -> None:
        self._other = other
        self._conn: asyncssh.SSHClientConnection | None = None
        self._connecting = asyncio.Lock()
        self._reached = True
        self._lines: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[BoxWay]:
        """Offers the socket until the block ends."""
        self._other.socket.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._accept, str(self._other.socket))
        self._other.socket.chmod(0o660)
        try:
            yield self
        finally:
            server.close()
            for task in set(self._lines):
                task.cancel()
            await asyncio.gather(*self._lines, return_exceptions=True)
            if self._conn is not None:
                self._conn.abort()
                with contextlib.suppress(asyncssh.Error, OSError):
                    await self._conn.wait_closed()
            self._other.socket.unlink(missing_ok=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._carry(reader, writer))
        self._lines.add(task)
        task.add_done_callback(self._lines.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the worker over one channel; either end closing closes both."""
        far_in: asyncssh.SSHWriter[bytes] | None = None
        try:
            conn = await self._connected()
            far_in, far_out, _ = await conn.open_session(
                subsystem=ENGINE_SUBSYSTEM, encoding=None, window=1024 * 1024
            )
            self._reached = True
            ways = [
                asyncio.create_task(_pump(reader, far_in)),
                asyncio.create_task(_pump(far_out, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (asyncssh.Error, OSError, TimeoutError, BadRequest) as error:
            if self._reached:  # once, not at each look
                _log.trouble("box.unreachable", error)
            self._reached = False
        finally:
            if far_in is not None:
                far_in.channel.abort()
            writer.close()

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._connecting:
            if self._conn is None or self._conn.is_closed():
                async with asyncio.timeout(self._other.connect_s):
                    self._conn = await _connect(self._other)
            return self._conn


async def join_lender(channel: Channel, lender: Path) -> int:
    """The other end: a channel of a box's key to this box's lender; gives the exit status."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(lender))
    except OSError:
        return 1  # the worker is away: the borrower sees a closed line
    up = asyncio.create_task(_up(channel, writer))
    try:
        while data := await reader.read(_READ_BYTES):
            await channel.write(data)
        return 0
    finally:
        up.cancel()
        await asyncio.gather(up, return_exceptions=True)
        writer.close()


async def _up(channel: Channel, writer: asyncio.StreamWriter) -> None:
    while data := await channel.read(_READ_BYTES):
        writer.write(data)
        await writer.drain()
    writer.close()  # a borrower that closes wants nothing more


async def _pump(
    reader: asyncio.StreamReader | asyncssh.SSHReader[bytes],
    writer: asyncio.StreamWriter | asyncssh.SSHWriter[bytes],
) -> None:
    while data := await reader.read(_READ_BYTES):
        writer.write(data)
        await writer.drain()


async def _connect(other: OtherBox) -> asyncssh.SSHClientConnection:
    try:
        key = asyncssh.read_private_key(str(other.key))
        known = asyncssh.read_known_hosts(str(other.known_hosts))
    except (OSError, asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        raise BadRequest("our key or the pinned host key of a box cannot be read") from error
    return await asyncssh.connect(
        other.host,
        other.port,
        username="box",
        client_keys=[key],
        known_hosts=known,
        config=None,
        agent_path=None,
        preferred_auth="publickey",
        disable_trivial_auth=True,
        gss_host=None,
        kex_algs=algorithms.KEX,
        encryption_algs=algorithms.CIPHERS,
        compression_algs=None,
        keepalive_interval=5,
        keepalive_count_max=3,
        login_timeout=other.connect_s,
    )
