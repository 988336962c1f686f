"""Where things lie in a box's state folder and run folder, for all programs of the box.

It imports nothing but the settings: a command that only looks something up starts without the
worker's libraries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from worker.config import Settings

SOCKET: Final = "worker.sock"
"""The worker's socket in the run folder; the gateway connects to it."""

LENDER: Final = "lender.sock"
"""The socket in the run folder on which a box's boards work for other boxes."""

PORT_FILE: Final = "gateway.port"
"""In the run folder: the gateway's port in use, for those that configured port 0."""


def registry_path(settings: Settings) -> Path:
    """Where keys, users and roles stand."""
    return settings.state / "registry" / "users.toml"


def boards_path(settings: Settings) -> Path:
    """Where the boards file lies: what the operator says the box has."""
    return settings.state / "boards.toml"


def matters_folder(settings: Settings) -> Path:
    """The folder of all matters."""
    return settings.state / "matters"


def audit_folder(settings: Settings) -> Path:
    """The folder of the sealed journals."""
    return settings.state / "audit"
