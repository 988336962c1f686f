"""The worker's socket: who may connect, where it may lie, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import sys

import pytest

from bench.children import finish
from protocol.errors import BadRequest, Conflict
from protocol.frames import Call, Error, Hello, Return, Welcome, decode_to_client, encode
from protocol.jobs import Cancel, Done, Health, HealthIs
from worker.jobs.memory import MemoryQueue
from worker.registry import RegistryFile
from worker.service import Handlers, Limits
from worker.service.server import Server

HELLO = encode(Hello(lowest=1, highest=1, client="test"))
CONNECT = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
line = socket.socket(socket.AF_UNIX)
line.settimeout(10)
line.connect(sys.argv[1])
try:
    line.sendall(sys.stdin.buffer.read())
    while data := line.recv(65536):
        sys.stdout.buffer.write(data)
except OSError:
    pass
"""


def _now():
    return dt.datetime.now(dt.UTC)


def _handlers(**more):
    async def health(request, caller):
        return HealthIs(parts={"worker": ("ok", str(caller.person))})

    async def matter_of(job):
        return "M-A1DR"

    async def join_words(event, matter):
        return event

    calls = {Health: health, **more.get("calls", {})}
    return Handlers(
        calls=calls, events=MemoryQueue(_now), matter_of=matter_of, join_words=join_words
    )


@pytest.fixture(name="server")
async def _server(box):
    server = Server(box.socket, _handlers(), RegistryFile(box.users), uids={os.getuid()})
    await server.start()
    yield server
    await server.stop()


async def _talk(path, data):
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(data)
    writer.write_eof()
    async with asyncio.timeout(60):
        rows = (await reader.read()).splitlines()
    await _close(writer)
    return [decode_to_client(row) for row in rows]


async def _close(writer):
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def test_own_user_is_served_under_the_stamp(box, server):
    frames = await _talk(
        box.socket, encode(box.stamp()) + HELLO + encode(Call(id=4, request=Health()))
    )
    welcome, answer = frames
    assert isinstance(welcome, Welcome)
    assert (welcome.user, welcome.role, welcome.matters) == ("alder", "reviewer", ("M-A1DR",))
    assert answer == Return(id=4, result=HealthIs(parts={"worker": ("ok", "alder")}))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
async def test_another_user_of_the_machine_is_not(box, server):
    for path in (box.folder, box.socket.parent):
        path.chmod(0o755)
    box.socket.chmod(0o666)
    for uid, served in ((0, True), (65534, False)):
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-c",
            CONNECT,
            str(box.socket),
            str(uid),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await finish(child, encode(box.stamp()) + HELLO)
        assert bool(out) is served


async def test_where_others_may_enter_it_does_not_open(box):
    box.socket.parent.chmod(0o755)
    server = Server(box.socket, _handlers(), RegistryFile(box.users), uids={os.getuid()})
    with pytest.raises(BadRequest, match="run folder"):
        await server.start()


async def test_path_that_is_too_long_is_said_so(box):
    path = box.folder / ("x" * 120) / "worker.sock"
    server = Server(path, _handlers(), RegistryFile(box.users), uids={os.getuid()})
    with pytest.raises(BadRequest, match="107"):
        await server.start()


async def test_stale_socket_is_replaced_and_a_live_one_is_not(box, server):
    again = Server(box.socket, _handlers(), RegistryFile(box.users), uids={os.getuid()})
    with pytest.raises(Conflict):
        await again.start()
    await server.stop()
    box.socket.touch()
    await again.start()
    assert await _talk(box.socket, encode(box.stamp()) + HELLO)
    await again.stop()
    assert not box.socket.exists()


async def test_call_that_was_read_is_carried_out_though_the_line_is_lost(box):
    begun, finished = asyncio.Event(), asyncio.Event()

    async def slow(request, caller):
        begun.set()
        await asyncio.sleep(0.1)
        finished.set()
        return Done()

    handlers = _handlers(calls={Cancel: slow})
    server = Server(box.socket, handlers, RegistryFile(box.users), uids={os.getuid()})
    await server.start()
    _, writer = await asyncio.open_unix_connection(str(box.socket))
    call = Call(id=1, request=Cancel(job="J-000000000-0000"))
    writer.write(encode(box.stamp()) + HELLO + encode(call))
    await asyncio.wait_for(begun.wait(), 60)
    writer.transport.abort()
    await _close(writer)
    await asyncio.wait_for(finished.wait(), 60)
    await server.stop()


async def test_too_many_lines_are_told_to_come_back(box):
    server = Server(
        box.socket,
        _handlers(),
        RegistryFile(box.users),
        uids={os.getuid()},
        limits=Limits(connections=1),
    )
    await server.start()
    reader, writer = await asyncio.open_unix_connection(str(box.socket))
    writer.write(encode(box.stamp()) + HELLO)
    async with asyncio.timeout(60):
        await reader.readline()  # welcomed
    (frame,) = await _talk(box.socket, encode(box.stamp()) + HELLO)
    assert isinstance(frame, Error)
    assert (frame.error.code, frame.error.retry) == ("unavailable", True)
    await _close(writer)
    await server.stop()


async def test_silence_instead_of_a_greeting_is_closed(box):
    server = Server(
        box.socket,
        _handlers(),
        RegistryFile(box.users),
        uids={os.getuid()},
        limits=Limits(greeting_s=0.1),
    )
    await server.start()
    for start in (b"", encode(box.stamp()), b'{"frame":'):
        reader, writer = await asyncio.open_unix_connection(str(box.socket))
        writer.write(start)
        assert await asyncio.wait_for(reader.read(), 60) == b""
        await _close(writer)
    await server.stop()


async def test_call_over_its_time_is_unavailable(box):
    async def never(request, caller):
        await asyncio.get_running_loop().create_future()

    server = Server(
        box.socket,
        _handlers(calls={Health: never}),
        RegistryFile(box.users),
        uids={os.getuid()},
        limits=Limits(call_s=0.05),
    )
    await server.start()
    _, frame = await _talk(
        box.socket, encode(box.stamp()) + HELLO + encode(Call(id=1, request=Health()))
    )
    assert frame.error.code == "unavailable"
    await server.stop()
