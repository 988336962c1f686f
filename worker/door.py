"""The worker's own door, from the box itself: for commands that ask a running worker.

Whoever may open the worker's socket is its own user (the socket's folder lets nobody else in), so
the command names a user of the registry instead of proving a key. Rights are decided as for anybody
else, and what an operator does is sealed with the name.
"""

from __future__ import annotations

import datetime as dt
import itertools
import socket
from pathlib import Path
from types import TracebackType
from typing import Final

from protocol import frames
from protocol.errors import Refused, Unavailable, from_wire
from protocol.frames import Call, Error, Hello, LineSplitter, Ping, Pong, Return, Stamp, Welcome
from protocol.ids import UserName
from protocol.jobs import Request, Result
from worker.registry import Key, Registry, Role, User

_PEER: Final = "127.0.0.1"
_READ_BYTES: Final = 64 * 1024


def operator(
    registry: Registry, name: str | None, now: dt.datetime, *, any_role: bool = False
) -> Stamp:
    """Who a command on the box acts as: the named user, else the first operator with a good key.

    Args:
        any_role: For commands that only look: a user of another role does where no operator is.

    Raises:
        Refused: There is no such user, or none with a key that works from the box itself.
    """
    users = [user for user in registry.users if name is None or user.name == name]
    ranked = sorted(users, key=lambda user: user.role is not Role.OPERATOR)
    for user in ranked:
        good = user.role is Role.OPERATOR or any_role or name is not None
        key = _working(user, now)
        if good and key is not None:
            return Stamp(
                user=UserName(user.name),
                role=user.role.value,
                fingerprint=key.fingerprint,
                peer=_PEER,
            )
    raise Refused(
        "the registry has no operator with a key that works from this box",
        next_step="secondchair-worker users add NAME --key FILE --role operator",
    )


def _working(user: User, now: dt.datetime) -> Key | None:
    return next((key for key in user.keys if key.works(peer=_PEER, now=now)), None)


class Door:
    """One line to a running worker; use it as a context manager."""

    def __init__(self, path: Path, stamp: Stamp, *, timeout_s: float = 20.0) -> None:
        """Connects and greets.

        Raises:
            Unavailable: No worker answers there.
            AppError: The worker refused the greeting.
        """
        self._numbers = itertools.count(1)
        self._lines: list[bytes] = []
        self._splitter = LineSplitter(frames.MAX_TO_CLIENT_BYTES)
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.settimeout(timeout_s)
        try:
            self._line.connect(str(path))
        except OSError as error:
            self._line.close()
            raise Unavailable(
                "the worker is not running", next_step="secondchair-worker serve"
            ) from error
        try:
            self._send(stamp)
            self._send(Hello(lowest=frames.VERSION, highest=frames.VERSION, client="box"))
            while not isinstance(self._next(), Welcome):
                pass
        except BaseException:
            self._line.close()
            raise

    def call(self, request: Request) -> Result:
        """The result of a request.

        Raises:
            AppError: The worker refused it or could not do it.
            Unavailable: The worker went away.
        """
        number = next(self._numbers)
        self._send(Call(id=number, request=request))
        while True:
            frame = self._next()
            if isinstance(frame, Return) and frame.id == number:
                return frame.result

    def __enter__(self) -> Door:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.close()

    def _send(self, frame: frames.ToWorker) -> None:
        try:
            self._line.sendall(frames.encode(frame))
        except OSError as error:
            raise Unavailable("the worker went away") from error

    def _next(self) -> frames.ToClient:
        """The next frame that is no ping; an error is raised."""
        while True:
            while not self._lines:
                try:
                    data = self._line.recv(_READ_BYTES)
                except OSError as error:
                    raise Unavailable("the worker does not answer") from error
                if not data:
                    raise Unavailable("the worker went away")
                self._lines += self._splitter.feed(data)
            frame = frames.decode_to_client(self._lines.pop(0))
            if isinstance(frame, Ping):
                self._send(Pong(number=frame.number))
            elif isinstance(frame, Error):
                raise from_wire(frame.error)
            else:
                return frame
