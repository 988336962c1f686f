"""One SSH channel: what is asked of it, and bytes in and out with back-pressure.

A channel is asked for one thing: the subsystem, a shell or a command. What serves it is passed in,
so this file knows neither sockets nor children.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import asyncssh  # noqa: TID251
from asyncssh.stream import SSHServerStreamSession  # noqa: TID251

from worker.gateway import ENGINE_SUBSYSTEM, SUBSYSTEM
from worker.gateway.commands import parse
from worker.logs import Log

if TYPE_CHECKING:
    from worker.gateway.drop import DropBox

_log: Final = Log("gateway")
_TERM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,31}")
_BUFFER_BYTES: Final = 256 * 1024

_SFTP_VERSION: Final = 3  # what every client speaks; later versions add operations

MAX_CELLS: Final = 1000
"""Widest and highest terminal that is believed."""


class Terminal:
    """The terminal a client asked for."""

    def __init__(self, term: str, columns: int, rows: int) -> None:
        self.term = term if _TERM.fullmatch(term) else "xterm-256color"
        self.columns = _cells(columns, 80)
        self.rows = _cells(rows, 24)


class Channel(asyncssh.SSHServerSession[bytes]):
    """The server's end of one channel."""

    def __init__(
        self,
        serve: Callable[[Channel], Awaitable[int]],
        closed: Callable[[Channel], None],
        runs: Callable[[asyncio.Task[None]], None],
        drop: Callable[[asyncssh.SSHServerChannel[bytes]], DropBox] | None,
    ) -> None:
        """Joins the callbacks.

        Args:
            serve: Serves the channel once it has asked for something; gives the exit status.
            closed: Told once when the channel is gone.
            runs: Given the task that serves it, which may outlive the channel while it tidies up.
            drop: Makes the file drop for this channel; None means there is none.
        """
        self._serve = serve
        self._closed = closed
        self._runs = runs
        self._make_drop = drop
        self._drop: DropBox | None = None
        self._sftp: SSHServerStreamSession[bytes] | None = None
        self._chan: asyncssh.SSHServerChannel[bytes]
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._reader = asyncio.StreamReader(limit=_BUFFER_BYTES // 2)
        self.gone = asyncio.Event()
        self.command: tuple[str, ...] | None = None
        """Arguments of a named word; empty for help; None for shell and subsystem."""
        self.subsystem = False
        self.engine = False
        """Asked for by another box."""
        self.terminal: Terminal | None = None
        self.on_resize: Callable[[int, int], None] | None = None

    # --- what the library calls ---

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._chan = chan
        chan.set_write_buffer_limits(high=_BUFFER_BYTES)
        self._reader.set_transport(chan)  # type: ignore[arg-type]  # pause and resume suffice

    def pty_requested(
        self, term_type: str, term_size: tuple[int, int, int, int], term_modes: Mapping[int, int]
    ) -> bool:
        self.terminal = Terminal(term_type, term_size[0], term_size[1])
        return True

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        if self.on_resize is not None:
            self.on_resize(_cells(height, 24), _cells(width, 80))
        elif self.terminal is not None:
            self.terminal = Terminal(self.terminal.term, width, height)

    def shell_requested(self) -> bool:
        return True

    def exec_requested(self, command: str) -> bool:
        self.command = parse(command)
        if self.command is None:
            _log.info("command.refused", chars=len(command))
        return self.command is not None

    def subsystem_requested(self, subsystem: str) -> bool:
        self.subsystem = subsystem == SUBSYSTEM
        self.engine = subsystem == ENGINE_SUBSYSTEM
        if subsystem == "sftp" and self._make_drop is not None:
            # From here on the library's own session does the protocol, and our class the work.
            self._sftp = SSHServerStreamSession(
                None, cast(Any, self._new_drop), _SFTP_VERSION, allow_scp=False
            )
            self._sftp.connection_made(self._chan)
        return self.subsystem or self.engine or self._sftp is not None

    def session_started(self) -> None:
        if self._sftp is not None:
            self._sftp.session_started()
            return
        self._task = asyncio.create_task(self._run())
        self._runs(self._task)

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if self._sftp is not None:
            self._sftp.data_received(data, datatype)
            return
        self._reader.feed_data(data)

    def eof_received(self) -> bool:
        if self._sftp is not None:
            self._cut()
            return bool(self._sftp.eof_received())
        self._reader.feed_eof()
        return True  # the other direction stays open: replies may still come

    def pause_writing(self) -> None:
        if self._sftp is not None:
            self._sftp.pause_writing()
        self._writable.clear()

    def resume_writing(self) -> None:
        if self._sftp is not None:
            self._sftp.resume_writing()
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        self._writable.set()
        if self._sftp is not None:
            self._cut()
            self._sftp.connection_lost(exc)
        if not self._reader.at_eof():
            self._reader.feed_eof()
        if self._task is not None:
            self._task.cancel()
        self._closed(self)

    # --- for whoever serves it ---

    async def read(self, most: int = 64 * 1024) -> bytes:
        """Bytes from the client; empty when he will send no more."""
        return await self._reader.read(most)

    async def write(self, data: bytes, *, to_stderr: bool = False) -> None:
        """Sends bytes; returns when the channel can take more.

        Raises:
            BrokenPipeError: The channel is gone.
        """
        await self._writable.wait()
        if self.gone.is_set():
            raise BrokenPipeError
        kind = asyncssh.EXTENDED_DATA_STDERR if to_stderr and self.terminal is None else None
        self._chan.write(data, kind)

    async def say(self, text: str) -> None:
        """A sentence of ours for the person at the other end."""
        ending = "\r\n" if self.terminal is not None else "\n"
        await self.write((text.replace("\n", ending) + ending).encode(), to_stderr=True)

    def _new_drop(self, chan: asyncssh.SSHServerChannel[bytes]) -> DropBox:
        assert self._make_drop is not None
        self._drop = self._make_drop(chan)
        return self._drop

    def _cut(self) -> None:
        if self._drop is not None:
            self._drop.cut = True

    async def _run(self) -> None:
        status = 1
        try:
            status = await self._serve(self)
        except OSError:
            pass  # the channel or the worker is gone; there is nobody to tell
        except Exception as error:
            _log.trouble("channel.failed", error)
        finally:
            if not self.gone.is_set():
                self._chan.exit(status)


def _cells(given: int, usual: int) -> int:
    return min(given, MAX_CELLS) if given > 0 else usual
