"""What every test runs under: no way out of the machine, no settings of the person who runs it.

Connections to anything but the loopback and unix sockets are denied and counted by an audit hook,
which also sees what libraries do. `make test` runs all of it in a network namespace besides.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import sys
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# No example of a property test is timed: a busy machine must not fail one.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("untimed")

_OUTSIDE: list[str] = []


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):  # a unix socket's path, or netlink
        return True
    host = address[0]
    if host in ("localhost", "", None):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False  # a name: whoever asks for it wants to go outside


def _guard(event: str, args: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = args[1] if len(args) > 1 else None
    elif event == "socket.getaddrinfo":
        address = (args[0],)
        if isinstance(args[0], bytes):
            address = (args[0].decode("ascii", "replace"),)
    else:
        return
    if address is not None and not _is_local(address):
        _OUTSIDE.append(f"{event} {address}")
        raise PermissionError("a test tried to leave the machine")


sys.addaudithook(_guard)


def pytest_configure(config: pytest.Config) -> None:
    """Sockets of this run lie in a folder of its own: a worker that somebody runs beside it on the
    same machine is neither met nor disturbed."""
    folder = tempfile.mkdtemp(prefix="run-")  # short, since a socket's path is
    os.environ["XDG_RUNTIME_DIR"] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture
def outside_attempts() -> list[str]:
    """Every attempt to leave the machine so far in this run."""
    return _OUTSIDE


@pytest.fixture(autouse=True)
def _no_settings_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("SECONDCHAIR_") and name != "SECONDCHAIR_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how often something tried to leave; the one test that tries on purpose counts itself."""
    alone = {name for _, name in socket.if_nameindex()} <= {"lo"}
    way = "this run had the loopback alone" if alone else "children were not watched"
    terminalreporter.write_line(
        f"connections to the outside: {len(_OUTSIDE)} tried, 0 let through; {way}"
    )
