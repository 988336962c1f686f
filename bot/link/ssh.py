"""The way over SSH: pinned host key, our own key, one channel of the gateway's subsystem.

Loaded only when a line over SSH is opened: a chat that the gateway started needs none of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import asyncssh  # noqa: TID251

from bot.link.line import Stream
from bot.link.ways import Target
from protocol.errors import BadRequest, Refused, Unavailable

SUBSYSTEM: Final = "secondchair"
_KEX: Final = ("mlkem768x25519-sha256", "curve25519-sha256")
_CIPHERS: Final = ("chacha20-poly1305@openssh.com", "aes256-gcm@openssh.com")
_HOST_KEYS: Final = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512")


class SshWay:
    """Over SSH: one connection, one channel on it at a time."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._conn: asyncssh.SSHClientConnection | None = None

    async def open(self) -> Stream:
        """A fresh channel, on the connection that stands or a new one."""
        try:
            async with asyncio.timeout(self._target.connect_s):
                if self._conn is None or self._conn.is_closed():
                    self._conn = await connect(self._target)
                stdin, stdout, _ = await self._conn.open_session(
                    subsystem=SUBSYSTEM, encoding=None, window=1024 * 1024
                )
                return _SshStream(stdin, stdout)
        except asyncssh.HostKeyNotVerifiable as error:
            raise Refused(
                "the host key is not the one that was pinned: not connecting",
                next_step="ask whoever runs the box before anything else",
            ) from error
        except asyncssh.PermissionDenied as error:
            raise Refused(
                "this key opens no door there", next_step="have it added with users add"
            ) from error
        except (asyncssh.Error, OSError, TimeoutError) as error:
            await self.close()
            raise Unavailable("the box cannot be reached", next_step="try again later") from error

    async def close(self) -> None:
        """Ends the connection."""
        if self._conn is not None:
            self._conn.abort()
            with contextlib.suppress(asyncssh.Error, OSError):
                await self._conn.wait_closed()
            self._conn = None


async def connect(target: Target, login: str = "secondchair") -> asyncssh.SSHClientConnection:
    """A connection to a gateway, its host key pinned.

    Args:
        target: Where, and with which keys.
        login: Says nothing about who we are, which our key does; a bot names whom it acts for.

    Raises:
        BadRequest: Our key or the pinned host keys cannot be read.
        asyncssh.Error: The gateway does not let us in, or is not the one that was pinned.
        OSError: It cannot be reached.
    """
    try:
        key = asyncssh.read_private_key(str(target.key), target.passphrase)
        known = asyncssh.read_known_hosts(str(target.known_hosts))
    except (OSError, asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        raise BadRequest(
            "our key or the pinned host keys cannot be read", next_step="run init"
        ) from error
    return await asyncssh.connect(
        target.host,
        target.port,
        username=login,
        client_keys=[key],
        known_hosts=known,
        config=None,
        agent_path=None,
        preferred_auth="publickey",
        disable_trivial_auth=True,
        gss_host=None,
        kex_algs=_KEX,
        encryption_algs=_CIPHERS,
        server_host_key_algs=_HOST_KEYS,
        compression_algs=None,
        keepalive_interval=15,
        keepalive_count_max=3,
        login_timeout=target.connect_s,
    )


class _SshStream:
    """An SSH channel as a `Stream`."""

    def __init__(self, stdin: asyncssh.SSHWriter[bytes], stdout: asyncssh.SSHReader[bytes]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    async def read(self, most: int) -> bytes:
        try:
            return await self._stdout.read(most)
        except asyncssh.Error as error:
            raise ConnectionResetError from error

    async def write(self, data: bytes) -> None:
        try:
            self._stdin.write(data)
            await self._stdin.drain()
        except asyncssh.Error as error:
            raise ConnectionResetError from error

    async def close(self) -> None:
        self._stdin.channel.abort()
