"""The SSH process: the only part that speaks to other machines, and it has no case store.

It proves who is there by his key, and joins each channel to the worker's unix socket with a stamp
that says so: the subsystem ``secondchair`` byte for byte, a shell or one of a few named words
through a program of its own that holds one socket of that user. Nothing else is possible:
no password, no forwarding, no agent, no X11, no command line.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec

SUBSYSTEM: Final = "secondchair"
ENGINE_SUBSYSTEM: Final = "secondchair-engine"
"""What another box asks for: the way to this box's lender."""


class DropSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the file drop needs to know."""

    matters: Path
    """All matters; of each only ``inbox``, ``incoming`` and ``out`` are touched."""
    audit: Path
    """The folder of journals; what cannot be sealed there is not done."""
    upload_bytes: int = 4 * 1024**3
    """Largest file that is taken."""


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the gateway needs to know; `worker/cli` makes it from the settings."""

    host: str
    """The address to listen on."""
    port: int
    """0 takes a free one, see `Gateway.port`."""
    host_keys: tuple[Path, ...]
    """Private host keys; the first is in use, further ones are spares for rotation."""
    users: Path
    """The key registry."""
    worker: Path
    """The worker's socket."""
    lender: Path | None = None
    """The socket on which the worker works for other boxes; None: it does not."""
    drop: DropSettings | None = None
    """The file drop; None means no SFTP."""
    program: tuple[str, ...] = (sys.executable, "-I", "-m", "bot")
    """What a shell or a named word starts; it gets ``chat --fd N`` and the like."""
    connections: int = 200
    per_address: int = 120
    """An office of fifty, two windows each, often stands behind one address."""
    programs: int = 100
    """Shells and named words running at once; each takes some 30 to 60 MB."""
    programs_per_user: int = 12
    attempts: int = 6
    """Keys a connection may try, as OpenSSH's MaxAuthTries."""
    channels: int = 10
    """Channels of one connection, as OpenSSH's MaxSessions."""
    login_s: float = 20.0
    keepalive_s: float = 15.0
    keepalive_count: int = 3
    watch_s: float = 1.0
    """How often the registry is looked at for keys that stopped working."""
