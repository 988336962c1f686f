"""A connection to the worker that says whose it is."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from protocol.errors import Unavailable
from protocol.frames import Stamp, encode


async def connect(path: Path, stamp: Stamp) -> socket.socket:
    """A socket to the worker on which the stamp has been sent; non-blocking.

    Raises:
        Unavailable: The worker is not there.
    """
    loop = asyncio.get_running_loop()
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.setblocking(False)
    try:
        async with asyncio.timeout(5.0):
            await loop.sock_connect(line, str(path))
            await loop.sock_sendall(line, encode(stamp))
    except (OSError, TimeoutError) as error:
        line.close()
        raise Unavailable(
            "the assistant is starting or being serviced", next_step="try again in a minute"
        ) from error
    except BaseException:
        line.close()
        raise
    return line
