"""The guard of conftest.py bites: what leaves the machine is denied and counted."""

import socket

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "example.invalid"])  # TEST-NET-1, reserved names
def test_a_connection_to_the_outside_is_denied_and_counted(host, outside_attempts):
    before = len(outside_attempts)
    with pytest.raises(PermissionError):
        socket.create_connection((host, 80), timeout=1)
    assert len(outside_attempts) == before + 1
    del outside_attempts[before:]  # this one was on purpose


def test_the_loopback_is_open():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
