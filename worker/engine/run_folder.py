"""The folder of an engine's sockets and scratch files: ours alone, and short enough for a socket.

A unix socket's path may hold 107 bytes on Linux; a deep folder fails at bind with no useful word.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path

from protocol.errors import BadRequest

SOCKET_PATH_BYTES = 107
"""``sizeof(sun_path)`` less the closing zero, unix(7)."""
SOCKET_LIKE = "e00000000.sock"
"""As long as every name of `RunFolder.new_socket`."""


class RunFolder:
    """A 0700 folder; one that we made is removed with everything in it."""

    def __init__(self, configured: Path | None) -> None:
        self._made = configured is None
        self.path = configured if configured is not None else _fresh_folder()
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)

    def new_socket(self) -> Path:
        """A socket name that was never used before: a late child must not meet a new client.

        Raises:
            BadRequest: The folder's path is too long for a socket.
        """
        path = self.path / f"e{secrets.token_hex(4)}.sock"
        if len(os.fsencode(path)) > SOCKET_PATH_BYTES:
            raise BadRequest(
                "the run folder's path is too long for a socket",
                next_step="set run_folder to a shorter path",
            )
        return path

    def folder(self, name: str) -> Path:
        """A 0700 folder inside."""
        path = self.path / name
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    def remove(self) -> None:
        """Delete what we made; a configured folder stays, without our sockets and scratch."""
        if self._made:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        for socket in self.path.glob("e????????.sock"):
            socket.unlink(missing_ok=True)


def _fresh_folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    parent = Path(runtime) if runtime and Path(runtime).is_dir() else Path(tempfile.gettempdir())
    return Path(tempfile.mkdtemp(prefix="sc-engine-", dir=parent))
