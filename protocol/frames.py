"""The messages on the line: one JSON object a line, a newline ends it.

First `Hello` and `Welcome`; then calls, results, errors and events in any order, told apart by the
tag ``frame``. A call's ``id`` is the client's. On the unix socket the gateway first sends a
`Stamp`: who the key proved the peer to be. The bytes are the same over SSH, unix socket and pipes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from protocol.errors import BadRequest, ErrorValue
from protocol.events import Event
from protocol.ids import MatterId, UserName
from protocol.jobs import Request, Result

VERSION: Final = 1
"""Raised when an old peer could misread a frame; both ends say the range they speak."""

MAX_TO_WORKER_BYTES: Final = 256 * 1024
"""A request is a question, not a file: files travel over SFTP."""

MAX_TO_CLIENT_BYTES: Final = 4 * 1024 * 1024
"""An answer with some hundred findings and their words; larger results are paged."""


class _Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="frame"):
    """One message, tagged by what it is."""


class Stamp(_Frame, frozen=True, kw_only=True, tag="stamp", forbid_unknown_fields=True):
    """From the gateway only: the identity that the key proved, before anything else."""

    user: UserName
    role: str
    fingerprint: str
    peer: str


class Hello(_Frame, frozen=True, kw_only=True, tag="hello"):
    """The client's greeting: the protocol versions it speaks."""

    lowest: int
    highest: int
    client: str


class Welcome(_Frame, frozen=True, kw_only=True, tag="welcome"):
    """The worker's answer: the version to speak, who the client is, and the limits."""

    version: int
    user: UserName
    role: str
    matters: tuple[MatterId, ...]
    epoch: str
    """Changes when the worker restarts."""
    max_bytes: int


class Call(_Frame, frozen=True, kw_only=True, tag="call", forbid_unknown_fields=True):
    """A request. ``acting_for`` is read only on the connection of a key with role ``bot``."""

    id: int
    request: Request
    acting_for: str | None = None


class Return(_Frame, frozen=True, kw_only=True, tag="return"):
    """The result of call ``id``."""

    id: int
    result: Result


class Error(_Frame, frozen=True, kw_only=True, tag="error"):
    """Call ``id`` failed; ``id`` 0 means the line itself did, and it closes."""

    id: int
    error: ErrorValue


class EventFrame(_Frame, frozen=True, kw_only=True, tag="event"):
    """An event of a job that call ``id`` follows."""

    id: int
    event: Event


class Ping(_Frame, frozen=True, kw_only=True, tag="ping"):
    """Either side: are you there? Answered by a `Pong` with the same number."""

    number: int


class Pong(_Frame, frozen=True, kw_only=True, tag="pong"):
    number: int


ToWorker = Stamp | Hello | Call | Ping | Pong
ToClient = Welcome | Return | Error | EventFrame | Ping | Pong

_T = TypeVar("_T")

_encoder = msgspec.json.Encoder()
_to_worker = msgspec.json.Decoder(ToWorker)
_to_client = msgspec.json.Decoder(ToClient)


def encode(frame: ToWorker | ToClient) -> bytes:
    """The frame as one line, newline included."""
    return _encoder.encode(frame) + b"\n"


def decode_to_worker(line: bytes) -> ToWorker:
    """A frame on its way to the worker.

    Raises:
        BadRequest: It is no frame; the message names the field, never its value.
    """
    return _decode(_to_worker, line)


def decode_to_client(line: bytes) -> ToClient:
    """A frame on its way to a client.

    Raises:
        BadRequest: It is no frame; the message names the field, never its value.
    """
    return _decode(_to_client, line)


def _decode(decoder: msgspec.json.Decoder[_T], line: bytes) -> _T:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        raise BadRequest(f"not a frame this side knows: {_field(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadRequest("not a frame: malformed JSON") from None


def _field(error: msgspec.ValidationError) -> str:
    """What msgspec says of the shape, without the value that a wrong choice or tag would repeat."""
    text = str(error)
    if not text.startswith("Invalid"):
        return text
    return f"none of the values that stand there - at {text.rpartition(' - at ')[2]}"


class LineSplitter:
    """Cuts a byte stream into lines of bounded length.

    A line without its newline is never given out, so half a frame after a cut is not a message.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that ``data`` completes, without their newlines.

        Raises:
            BadRequest: A line grew over the limit.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if len(line) > self._max_bytes:
                raise BadRequest("a frame is longer than the limit")
            if line:
                yield line
        if len(self._rest) > self._max_bytes:
            raise BadRequest("a frame is longer than the limit")
