"""The SSH line to the worker, kept alive: connect, check the host key, send, follow, reconnect.

Every request may be sent twice without harm (it carries a key, or changes nothing), so a call that
was under way when the line broke is sent again on the next one, and a follow goes on after the last
event it gave out: each event once, none missing. The same class runs over a numbered descriptor,
which is how a chat started by the gateway speaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

import asyncssh  # noqa: TID251
import msgspec

from bot.line import Line, LineLost, Stream, worth_retrying
from protocol.errors import AppError, BadRequest, Refused, Unavailable
from protocol.events import LAST, Event
from protocol.frames import Welcome
from protocol.ids import JobId
from protocol.jobs import Follow, Request, Result

SUBSYSTEM: Final = "secondchair"
_KEX: Final = ("mlkem768x25519-sha256", "curve25519-sha256")
_CIPHERS: Final = ("chacha20-poly1305@openssh.com", "aes256-gcm@openssh.com")
_HOST_KEYS: Final = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512")
_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 10.0


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway is and how we know it and it knows us."""

    host: str
    port: int
    key: Path
    """Our private key."""
    known_hosts: Path
    """The pinned host keys, current and spare, in the form of OpenSSH."""
    passphrase: str | None = None
    connect_s: float = 15.0


class Way(Protocol):
    """A way to a worker; opened again each time the line is lost."""

    async def open(self) -> Stream:
        """A fresh stream.

        Raises:
            Refused: The host or our key is not accepted: trying again is of no use.
            BadRequest: Something on this side is not as it must be.
            Unavailable: Not now.
        """
        ...

    async def close(self) -> None:
        """Lets go of everything."""
        ...


class Link:
    """A line that comes back."""

    def __init__(
        self,
        way: Way,
        *,
        client: str = "secondchair",
        ping_s: float = 20.0,
        on_state: Callable[[bool], None] | None = None,
    ) -> None:
        """Joins the parts; nothing is opened yet.

        Args:
            way: How to reach the worker.
            client: What this client calls itself.
            ping_s: Seconds between heartbeats.
            on_state: Told when the line is up (True) or lost (False).
        """
        self._way = way
        self._client = client
        self._ping_s = ping_s
        self._on_state = on_state if on_state is not None else lambda _: None
        self._line: Line | None = None
        self._changed = asyncio.Condition()
        self._fatal: AppError | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.welcome: Welcome | None = None
        """Who we are to the worker, from the newest greeting."""

    @classmethod
    def over_ssh(cls, target: Target, *, client: str = "secondchair") -> Self:
        """A link to a gateway."""
        return cls(SshWay(target), client=client)

    @classmethod
    def over_fd(cls, fd: int, *, client: str = "secondchair") -> Self:
        """A link over a connected unix socket that this process was given."""
        return cls(FdWay(fd), client=client)

    async def __aenter__(self) -> Self:
        """Connects.

        Raises:
            AppError: There is no way to the worker; `Unavailable` when trying later may help.
        """
        try:
            await self._connect()
        except LineLost:
            await self._way.close()
            raise Unavailable("the line broke while connecting") from None
        except BaseException:
            await self._way.close()
            raise
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self._end(Unavailable("this link is closed"))
        await self._way.close()

    async def call(
        self, request: Request, *, acting_for: str | None = None, within_s: float = 60.0
    ) -> Result:
        """The result of a request, sent again if the line is lost meanwhile.

        Args:
            request: Anything but `Follow`.
            acting_for: For a bot's key only: the account it acts for.
            within_s: Seconds after which it is given up, lost lines included.

        Raises:
            AppError: The worker refused or failed; `Unavailable` when the time is over.
        """
        try:
            async with asyncio.timeout(within_s):
                while True:
                    with contextlib.suppress(LineLost):
                        return await self._once(await self._up(), request, acting_for)
                    await asyncio.sleep(0)  # lets the keeper see that the line is gone
        except TimeoutError:
            raise Unavailable(
                "the worker did not answer in time", next_step="try again in a minute"
            ) from None

    async def follow(
        self, job: JobId, after: int = 0, *, acting_for: str | None = None
    ) -> AsyncIterator[Event]:
        """The job's events after number ``after``, each once, until its last.

        Lost lines are bridged for as long as it takes; the caller stops by leaving the loop.

        Raises:
            AppError: The worker refused, or the link has given up.
        """
        while True:
            line = await self._up()
            try:
                pending = await line.call(Follow(job=job, after=after), acting_for)
            except LineLost:
                await asyncio.sleep(0)  # as above
                continue
            try:
                while not (pending.lagging and pending.empty()):
                    event = await pending.next()
                    if not isinstance(event, Event):
                        return
                    if event.seq <= after:
                        continue
                    after = event.seq
                    yield event
                    if isinstance(event.body, LAST):
                        return
            except LineLost:
                continue
            finally:
                line.forget(pending)

    @property
    def up(self) -> bool:
        """Whether the line stands now."""
        return self._line is not None

    async def _once(self, line: Line, request: Request, acting_for: str | None) -> Result:
        pending = await line.call(request, acting_for)
        try:
            result = await pending.next()
        finally:
            line.forget(pending)
        assert not isinstance(result, Event)  # only a follow has events
        return result

    async def _up(self) -> Line:
        async with self._changed:
            await self._changed.wait_for(lambda: self._line is not None or self._fatal is not None)
            if self._line is None:
                assert self._fatal is not None
                raise self._fatal
            return self._line

    async def _connect(self) -> None:
        line = Line(await self._way.open(), ping_s=self._ping_s)
        try:
            async with asyncio.timeout(15.0):
                self.welcome = await line.greet(self._client)
        except TimeoutError:
            await line.close()
            raise Unavailable("the worker did not greet us in time") from None
        except BaseException:
            await line.close()
            raise
        async with self._changed:
            self._line = line
            self._changed.notify_all()
        self._on_state(True)

    async def _keep(self) -> None:
        """Runs the line, and opens it again whenever it is lost."""
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                if self._line is None:
                    await self._connect()
                    wait_s = _FIRST_WAIT_S
                assert self._line is not None
                await self._line.run()
            except LineLost:
                pass
            except AppError as error:
                if not worth_retrying(error):
                    await self._end(error)
                    return
            await self._drop()
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    async def _drop(self) -> None:
        line, self._line = self._line, None  # first: nobody is given a line that is going
        if line is not None:
            await line.close()
            self._on_state(False)

    async def _end(self, error: AppError) -> None:
        await self._drop()
        async with self._changed:
            self._fatal = error
            self._changed.notify_all()


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
                    self._conn = await self._connect()
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

    async def _connect(self) -> asyncssh.SSHClientConnection:
        target = self._target
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
            username="secondchair",  # ignored there: the key is the identity
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


class FdWay:
    """Over a descriptor that this process was given, a connected unix socket.

    Whoever holds the other end restarts the line in place: after an `Error` with number 0 the next
    hello greets a worker anew. So the same stream is given out each time.
    """

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        self._stream: _SocketStream | None = None

    async def open(self) -> Stream:
        """The stream; the descriptor belongs to it from then on."""
        if self._stream is None:
            assert self._fd is not None
            try:
                line = socket.socket(fileno=self._fd)
            except OSError as error:
                raise BadRequest("that descriptor is no socket") from error
            self._fd = None
            line.setblocking(False)
            os.set_inheritable(line.fileno(), False)
            self._stream = _SocketStream(*await asyncio.open_unix_connection(sock=line))
        if self._stream.ended:
            raise Refused("the line that this program was given is closed")
        return self._stream

    async def close(self) -> None:
        """Closes the socket."""
        if self._stream is not None:
            await self._stream.end()


class _SocketStream:
    """A unix socket as a `Stream` that outlives a line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.ended = False

    async def read(self, most: int) -> bytes:
        data = await self._reader.read(most)
        self.ended = self.ended or not data
        return data

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Leaves the socket open for the next greeting."""

    async def end(self) -> None:
        self.ended = True
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
