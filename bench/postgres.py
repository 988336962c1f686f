"""A throw-away PostgreSQL server for benches and tests: real, on a unix socket, gone afterwards."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_START_S = 60.0


def missing() -> str:
    """Why no server can be started here; empty when one can."""
    try:
        import psycopg  # noqa: F401, TID251
    except ImportError:
        return "psycopg is not installed"
    if _program("postgres") is None or _program("initdb") is None:
        return "PostgreSQL is not installed (Debian: postgresql)"
    if os.geteuid() == 0 and _stranger() is None:
        return "PostgreSQL refuses to run as root, and there is no other user here"
    return ""


class Server:
    """A running server."""

    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.folder = folder
        self._durable = durable
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def conninfo(self) -> str:
        """How libpq reaches it."""
        return f"host={self.folder} user=secondchair dbname=postgres"

    def start(self) -> None:
        """Returns once it answers."""
        import psycopg  # noqa: TID251

        log = (self.folder / "log").open("ab")
        speed = () if self._durable else ("-c", "fsync=off", "-c", "synchronous_commit=off")
        self._process = subprocess.Popen(
            [
                str(_program("postgres")),
                *("-D", str(self.folder / "data"), "-k", str(self.folder)),
                *("-c", "listen_addresses=", "-c", "max_connections=60", *speed),
            ],
            stdout=log,
            stderr=log,
            **_as_stranger(),
        )
        log.close()
        until = time.monotonic() + _START_S
        while True:
            try:
                psycopg.connect(self.conninfo).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self, *, kill: bool = False) -> None:
        """Ends it; with ``kill`` as a crash would, without a last word on the disk."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if kill else signal.SIGINT)
        self._process.wait(timeout=30)
        self._process = None


@contextlib.contextmanager
def server(*, durable: bool = True) -> Iterator[Server]:
    """A fresh server in a folder of its own.

    Args:
        durable: False leaves out the disk syncs: faster, for tests that crash no server.
    """
    with tempfile.TemporaryDirectory(prefix="pg") as made:
        folder = Path(made)
        stranger = _stranger()
        if stranger is not None:
            os.chown(folder, stranger.pw_uid, stranger.pw_gid)
        subprocess.run(
            [
                str(_program("initdb")),
                *("-D", str(folder / "data"), "-U", "secondchair", "--auth=trust"),
                *("--encoding=UTF8", "--locale=C", "--no-sync"),
            ],
            check=True,
            capture_output=True,
            **_as_stranger(),
        )
        running = Server(folder, durable=durable)
        running.start()
        try:
            yield running
        finally:
            running.stop()


def _program(name: str) -> Path | None:
    for found in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True):
        return found
    found_on_path = shutil.which(name)
    return Path(found_on_path) if found_on_path else None


def _stranger() -> pwd.struct_passwd | None:
    """Somebody who is not root; None where we are not root ourselves or there is nobody."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _as_stranger() -> dict[str, int]:
    stranger = _stranger()
    return {} if stranger is None else {"user": stranger.pw_uid, "group": stranger.pw_gid}
