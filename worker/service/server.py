"""The unix socket: who may connect, and a session for each who does."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import secrets
import socket
import struct
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from protocol.errors import BadRequest, Conflict, Unavailable, to_wire
from protocol.frames import Error
from worker.clock import utc_now
from worker.logs import Log
from worker.registry import RegistryFile
from worker.service import Handlers, Limits
from worker.service.calls import Calls
from worker.service.line import FrameLine
from worker.service.once import Once
from worker.service.session import Session

_log: Final = Log("service")

_ACCEPT_TURNS: Final = 5  # of the loop: what asyncio needs to hand over an accepted connection
MAX_PATH_BYTES: Final = 107  # sun_path holds 108 with its closing zero (unix(7))


class Server:
    """The worker's socket, open from `start` to `stop`."""

    def __init__(
        self,
        path: Path,
        handlers: Handlers,
        registry: RegistryFile,
        *,
        uids: Collection[int],
        limits: Limits | None = None,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        """Joins the parts; nothing is opened yet.

        Args:
            path: The socket, in a folder that only its owner (and the gateway's group) may enter.
            handlers: What answers.
            registry: Who is who.
            uids: User ids whose processes may connect: the worker's own and the gateway's.
            limits: What a line may take.
            now: The time, in UTC.
        """
        self._path = path
        self._registry = registry
        self._uids = frozenset(uids)
        self._limits = limits if limits is not None else Limits()
        self._now = now
        self._epoch = secrets.token_hex(8)
        self._calls = Calls(
            handlers, registry, once=Once(time.monotonic), call_s=self._limits.call_s, now=now
        )
        self._lines: set[asyncio.Task[None]] = set()
        self._count = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Opens the socket.

        Raises:
            BadRequest: The path is too long, or others may enter its folder.
            Conflict: A worker listens there already.
        """
        if len(str(self._path).encode()) > MAX_PATH_BYTES:
            raise BadRequest(
                f"the socket's path is longer than {MAX_PATH_BYTES} bytes",
                next_step="set a shorter run_folder",
            )
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.parent.stat().st_mode & 0o027:
            raise BadRequest("others may enter the run folder", next_step="chmod 0700 it")
        if await _answers(self._path):
            raise Conflict("a worker is running on this run folder already")
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._accept, str(self._path))
        self._path.chmod(0o660)
        _log.info("service.open")

    async def stop(self) -> None:
        """Takes no more lines, ends the open ones, removes the socket."""
        if self._server is None:
            return
        self._server.close()
        for _ in range(_ACCEPT_TURNS):
            await asyncio.sleep(0)
        for task in self._lines:
            task.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await self._server.wait_closed()
        self._path.unlink(missing_ok=True)
        self._server = None
        _log.info("service.closed")

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: the one asyncio would make reports its cancellation as an error.
        task = asyncio.create_task(self._serve(reader, writer))
        self._lines.add(task)
        task.add_done_callback(self._lines.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count += 1
        number = self._count
        line = FrameLine(reader, writer)
        try:
            await self._session(line, writer, number)
        except OSError:
            pass  # the line broke; there is nobody left to tell
        except Exception as error:
            _log.trouble("line.failed", error, number=number)
        finally:
            await line.close()

    async def _session(self, line: FrameLine, writer: asyncio.StreamWriter, number: int) -> None:
        uid = peer_uid(writer)
        if uid not in self._uids:
            _log.warning("line.stranger", uid=uid)
            return
        if len(self._lines) > self._limits.connections:
            error = Unavailable("too many lines are open", next_step="try again in a minute")
            await line.send(Error(id=0, error=to_wire(error)))
            return
        await Session(
            line,
            self._calls,
            self._registry,
            number=number,
            epoch=self._epoch,
            limits=self._limits,
            now=self._now,
        ).run()


def peer_uid(writer: asyncio.StreamWriter) -> int:
    """The user id of the process at the other end of a unix socket (SO_PEERCRED, unix(7))."""
    raw: socket.socket = writer.get_extra_info("socket")
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", raw.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(uid)


async def _answers(path: Path) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(str(path))
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
