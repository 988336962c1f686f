"""What a way to a worker is, and where one leads; the ways themselves are `ssh` and `given`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec

from bot.link.line import Stream


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
