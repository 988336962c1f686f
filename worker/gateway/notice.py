"""Tells the worker that new files lie in a matter's inbox, in the name of who put them there."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Final

from protocol import frames
from protocol.errors import AppError
from protocol.frames import Call, Error, Hello, LineSplitter, Return, Stamp, encode
from protocol.ids import MatterId
from protocol.jobs import Ingest
from worker.gateway.worker_line import connect
from worker.logs import Log

_log: Final = Log("drop")
_WAIT_S: Final = 10.0


async def files_arrived(
    worker: Path, stamp: Stamp, acting_for: str | None, matter: MatterId
) -> None:
    """Asks for an ingest; when the worker is away the files wait in the inbox for the next one."""
    request = Ingest(matter=matter, key=f"drop-{secrets.token_hex(8)}")
    call = Call(id=1, request=request, acting_for=acting_for)
    hello = Hello(lowest=frames.VERSION, highest=frames.VERSION, client="drop")
    try:
        async with asyncio.timeout(_WAIT_S):
            line = await connect(worker, stamp)
            reader, writer = await asyncio.open_unix_connection(sock=line)
            try:
                writer.write(encode(hello) + encode(call))
                taken = await _taken(reader)
            finally:
                writer.close()
        _log.info("ingest.asked", matter=matter, user=stamp.user, ok=taken)
    except (AppError, OSError, TimeoutError):
        _log.warning("ingest.not_asked", matter=matter, user=stamp.user)


async def _taken(reader: asyncio.StreamReader) -> bool:
    splitter = LineSplitter(frames.MAX_TO_CLIENT_BYTES)
    while data := await reader.read(64 * 1024):
        for text in splitter.feed(data):
            frame = frames.decode_to_client(text)
            if isinstance(frame, Return | Error):
                return isinstance(frame, Return)
    return False
