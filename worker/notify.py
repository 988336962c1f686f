"""Tells the service manager that a program is up, where one asked to be told (sd_notify(3))."""

from __future__ import annotations

import contextlib
import os
import socket


def ready() -> None:
    """Says so once; where nobody asked, or he is gone, nothing happens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # the abstract namespace
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.connect(address)
        line.sendall(b"READY=1")
