"""A program of its own for a shell or a named word: isolated, with one socket of that user.

The child gets three standard streams (a terminal when one was asked for), one numbered socket that
is already stamped with its user, and an environment of five fixed variables. It is the leader of
its own process group, which is ended when the channel is.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import os
import signal
import socket
import termios
from collections.abc import AsyncIterator
from typing import IO, Any, Final, cast

from protocol.errors import Unavailable
from protocol.frames import Stamp
from worker.gateway import GatewaySettings
from worker.gateway.channel import Channel, Terminal
from worker.gateway.relay import relay
from worker.gateway.worker_line import connect
from worker.logs import Log
from worker.threads import whole

_log: Final = Log("gateway")
_READ_BYTES: Final = 64 * 1024
_GRACE_S: Final = 2.0  # between asking the group to go and making it


async def launch(channel: Channel, stamp: Stamp, settings: GatewaySettings) -> int:
    """Runs the program for a channel; gives its exit status, 128 + n after signal n."""
    arguments = channel.command if channel.command is not None else ("chat",)
    try:
        line = await connect(settings.worker, stamp)
    except Unavailable as error:
        await channel.say(f"{error.message}; {error.next_step}.")
        return error.exit_code
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    passing = asyncio.create_task(relay(ours, line, stamp, settings.worker))
    try:
        with theirs:
            verb, *rest = arguments
            fd = theirs.fileno()
            command = (*settings.program, verb, "--fd", str(fd), *rest)
            if channel.terminal is not None:
                return await _on_terminal(channel, channel.terminal, command, fd)
            return await _on_pipes(channel, command, fd)
    finally:
        passing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await passing


async def _on_pipes(channel: Channel, command: tuple[str, ...], fd: int) -> int:
    child = await _spawned(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=(fd,),
        cwd="/",
        env=_environment(None),
        start_new_session=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    async with _ended(child):
        up = asyncio.create_task(_feed(channel, child.stdin))
        try:
            await asyncio.gather(
                _drain(child.stdout, channel, to_stderr=False),
                _drain(child.stderr, channel, to_stderr=True),
            )
            return _status(await child.wait())
        finally:
            up.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await up


async def _on_terminal(
    channel: Channel, terminal: Terminal, command: tuple[str, ...], fd: int
) -> int:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as screen:
        try:
            # The size is set before the child starts, or its first frame is drawn for another one.
            termios.tcsetwinsize(theirs, (terminal.rows, terminal.columns))
            child = await _spawned(
                *command,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                pass_fds=(fd,),
                cwd="/",
                env=_environment(terminal),
                start_new_session=True,
                preexec_fn=functools.partial(fcntl.ioctl, 0, termios.TIOCSCTTY, 0),
            )
        finally:
            os.close(theirs)
        channel.on_resize = lambda rows, columns: termios.tcsetwinsize(
            screen.fileno(), (rows, columns)
        )
        async with _ended(child), _terminal_streams(screen) as (reader, writer):
            up = asyncio.create_task(_feed(channel, writer))
            try:
                await _drain(reader, channel, to_stderr=False)
                return _status(await child.wait())
            finally:
                channel.on_resize = None
                up.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await up


async def _spawned(*command: str, **options: Any) -> asyncio.subprocess.Process:
    """Starts a child; cancelled meanwhile, it ends the child's whole group before it says so.

    Left to itself, asyncio would kill the child alone, and what that has started would stay.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, **options))

    async def end() -> None:
        with contextlib.suppress(OSError):
            await _end_group(await starting)

    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await whole(end())
        raise


@contextlib.asynccontextmanager
async def _ended(child: asyncio.subprocess.Process) -> AsyncIterator[None]:
    """Whatever happens, the child's whole process group is gone afterwards."""
    _log.info("child.started", pid=child.pid)
    try:
        yield
    finally:
        await whole(_end_group(child))


async def _end_group(child: asyncio.subprocess.Process) -> None:
    for sign in (signal.SIGHUP, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, sign)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await child.wait()
            if sign is signal.SIGHUP:
                continue  # its own children may still be there
    _log.info("child.ended", pid=child.pid, exit=_status(child.returncode or 0))


@contextlib.asynccontextmanager
async def _terminal_streams(
    screen: IO[bytes],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_READ_BYTES)
    inward, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(screen.fileno()), "rb", 0)
    )
    outward, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(screen.fileno()), "wb", 0)
    )
    writer = asyncio.StreamWriter(outward, cast(asyncio.BaseProtocol, protocol), None, loop)
    try:
        yield reader, writer
    finally:
        inward.close()
        if not outward.is_closing():  # a transport that is closing does not bear a second end
            outward.abort()


async def _feed(channel: Channel, into: asyncio.StreamWriter) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while data := await channel.read(_READ_BYTES):
            into.write(data)
            await into.drain()
    if into.can_write_eof():
        into.close()


async def _drain(source: asyncio.StreamReader, channel: Channel, *, to_stderr: bool) -> None:
    with contextlib.suppress(OSError):  # a terminal whose last holder left reads as an I/O error
        while data := await source.read(_READ_BYTES):
            await channel.write(data, to_stderr=to_stderr)


def _environment(terminal: Terminal | None) -> dict[str, str]:
    """Five fixed variables; nothing of the gateway's own environment and nothing of the peer's."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "PYTHONUNBUFFERED": "1",
        "TERM": terminal.term if terminal is not None else "dumb",
    }


def _status(code: int) -> int:
    return code if code >= 0 else 128 - code
