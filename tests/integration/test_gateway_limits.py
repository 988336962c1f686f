"""Floods, hostile bytes and keys that stop working: the gateway and the service hold."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
import socket

import asyncssh  # noqa: TID251
import msgspec
import pytest

from bench.children import PATIENCE_S
from protocol.errors import BadRequest, Conflict, NotFound
from protocol.frames import (
    MAX_TO_CLIENT_BYTES,
    MAX_TO_WORKER_BYTES,
    Call,
    Error,
    Hello,
    LineSplitter,
    Ping,
    Pong,
    Return,
    Welcome,
    decode_to_client,
    encode,
)
from protocol.jobs import GetAnswer, Health, OpenSource
from worker.gateway import algorithms
from worker.gateway.listener import Gateway
from worker.registry import read, write

HELLO = encode(Hello(lowest=1, highest=1, client="test"))
HEALTH = encode(Call(id=1, request=Health()))


async def _subsystem(conn):
    return await conn.open_session(subsystem="secondchair", encoding=None)


async def _frame(stdout):
    async with asyncio.timeout(PATIENCE_S):
        return decode_to_client(await stdout.readuntil(b"\n"))


# --- caps ---


async def test_five_hundred_channels_end_at_ten_and_the_line_still_serves(line):
    async with await line.connect() as conn:
        opened = []
        refused = 0
        for _ in range(500):
            try:
                opened.append(await _subsystem(conn))
            except asyncssh.ChannelOpenError:
                refused += 1
        assert (len(opened), refused) == (10, 490)
        opened[0][0].channel.close()
        await opened[0][0].channel.wait_closed()
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(HELLO)
        assert isinstance(await _frame(stdout), Welcome)


async def test_channel_that_asks_for_nothing_counts_too(line):
    async with await line.connect() as conn:
        for _ in range(9):
            await _subsystem(conn)
        process = await conn.create_process("help", encoding=None)
        assert await process.stdout.read()


async def test_one_address_and_all_together_have_a_cap(box):
    await box.start_worker()
    async with box.open_gateway(per_address=3, connections=200):
        held = [await box.connect() for _ in range(3)]
        with pytest.raises((asyncssh.Error, OSError)):
            await box.connect()
        held[0].close()
        await held[0].wait_closed()
        async with asyncio.timeout(PATIENCE_S):
            while box.gateway.caps.held("127.0.0.1") >= 3:  # noqa: ASYNC110 - as the door closes
                await asyncio.sleep(0.01)
        held[0] = await box.connect()
        for conn in held:
            conn.abort()
    await box.kill_worker()


async def test_half_open_connections_are_dropped_after_the_login_time(box):
    async with box.open_gateway(login_s=0.3):
        held = []
        for _ in range(20):
            line = socket.create_connection(("127.0.0.1", box.gateway.port))
            line.setblocking(False)
            held.append(line)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(PATIENCE_S):
            for line in held:
                while await loop.sock_recv(line, 4096):
                    pass
                line.close()
        assert box.gateway.caps.held("127.0.0.1") == 0


async def test_a_flood_that_says_nothing_leaves_one_log_line_and_the_next_person_is_served(
    box, caplog
):
    """A thousand connections that never speak; what is over the cap is closed at once."""
    caplog.set_level(logging.INFO)
    loop = asyncio.get_running_loop()
    await box.start_worker()
    async with box.open_gateway(per_address=20, login_s=30.0):
        held = []
        for _ in range(1_000):
            line = socket.socket()
            line.setblocking(False)
            await loop.sock_connect(line, ("127.0.0.1", box.gateway.port))
            held.append(line)
        async with asyncio.timeout(PATIENCE_S):
            for line in held[20:]:
                with contextlib.suppress(ConnectionError):
                    while await loop.sock_recv(line, 4096):
                        pass
        assert box.gateway.caps.held("127.0.0.1") == 20
        for line in held:
            line.close()
        async with asyncio.timeout(PATIENCE_S):
            while box.gateway.caps.held("127.0.0.1"):  # noqa: ASYNC110 - as the doors close
                await asyncio.sleep(0.01)
        async with box.link() as link:
            await link.call(Health())
    said = [record for record in caplog.records if record.msg == "connection.capped"]
    assert 1 <= len(said) <= 20, "a line in ten seconds, not one for each"
    await box.kill_worker()


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"SSH-1.5-old\r\n",
        b"SSH-2.0-" + b"A" * 100_000 + b"\r\n",
        b"\x00" * 200_000,
        b"SSH-2.0-x\r\n\xff\xff\xff\xff" + b"A" * 1_000,
    ],
)
async def test_what_is_no_ssh_is_closed_and_harms_nobody(line, bytes_sent):
    reader, writer = await asyncio.open_connection("127.0.0.1", line.gateway.port)
    with contextlib.suppress(ConnectionError):
        writer.write(bytes_sent)
        await writer.drain()
        async with asyncio.timeout(PATIENCE_S):
            while await reader.read(65536):
                pass
    writer.close()
    async with line.link() as link:
        await link.call(Health())


async def test_only_so_many_keys_are_tried(box):
    async with box.open_gateway():
        keys = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(12)]
        good = asyncssh.read_private_key(str(box.folder / "alder"))
        with pytest.raises((asyncssh.DisconnectError, asyncssh.PermissionDenied)):
            await asyncssh.connect(
                "127.0.0.1",
                box.gateway.port,
                username="x",
                client_keys=[*keys, good],
                known_hosts=str(box.known_hosts),
                config=None,
                agent_path=None,
            )
        async with await asyncssh.connect(
            "127.0.0.1",
            box.gateway.port,
            username="x",
            client_keys=[*keys[:5], good],
            known_hosts=str(box.known_hosts),
            config=None,
            agent_path=None,
        ):
            pass


# --- algorithms ---


async def test_new_clients_get_the_post_quantum_exchange_and_old_ones_curve25519(box):
    async with box.open_gateway():
        async with await box.connect(kex_algs=["mlkem768x25519-sha256"]):
            pass
        for weak in (
            {"kex_algs": ["diffie-hellman-group14-sha1"]},
            {"kex_algs": ["ecdh-sha2-nistp256"]},
            {"encryption_algs": ["aes256-ctr"]},
            {"signature_algs": ["rsa-sha2-256"], "kex_algs": ["diffie-hellman-group14-sha256"]},
        ):
            with pytest.raises(asyncssh.KeyExchangeFailed):
                await box.connect(**weak)
        async with await box.connect(kex_algs=["curve25519-sha256"]):
            pass


async def test_the_bots_line_stands_on_the_post_quantum_exchange(box, caplog, monkeypatch):
    """Offered first at both ends, so it is what they take (RFC 4253, section 7.1)."""
    await box.start_worker()
    asyncssh.set_debug_level(2)
    try:
        with caplog.at_level(logging.DEBUG, logger="asyncssh"):
            async with box.open_gateway(), box.link() as link:
                await link.call(Health())
    finally:
        asyncssh.set_debug_level(1)
    taken = {
        record.getMessage().rpartition(": ")[2]
        for record in caplog.records
        if "Key exchange alg:" in record.getMessage()
    }
    assert taken == {"mlkem768x25519-sha256"}
    # And it stands where the gateway takes nothing else.
    monkeypatch.setattr(algorithms, "KEX", ("mlkem768x25519-sha256",))
    async with box.open_gateway(), box.link() as link:
        await link.call(Health())


@pytest.mark.parametrize(
    ("kind", "options"),
    [("ssh-ed25519", {}), ("ecdsa-sha2-nistp384", {}), ("ssh-rsa", {"key_size": 3072})],
)
async def test_kinds_of_keys_that_are_taken(box, kind, options):
    key = asyncssh.generate_private_key(kind, **options)
    registry = read(box.users)
    alder = registry.user("alder")
    known = msgspec.structs.replace(alder.keys[0], public=key.export_public_key().decode().strip())
    users = (msgspec.structs.replace(alder, keys=(known,)),)
    write(box.users, msgspec.structs.replace(registry, users=users))
    box._key("alder", key)
    async with box.open_gateway(), await box.connect():
        pass
    if kind == "ssh-rsa":
        async with box.open_gateway():
            with pytest.raises((asyncssh.Error, OSError)):
                await box.connect(signature_algs=["rsa-sha2-256"])


# --- hostile bytes on the subsystem ---


async def test_line_without_end_is_bounded_and_closes(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(HELLO)
        assert isinstance(await _frame(stdout), Welcome)
        stdin.write(b'{"frame":"call","id":1,"x":"' + b"x" * (MAX_TO_WORKER_BYTES + 10))
        frame = await _frame(stdout)
        assert (frame.id, frame.error.code) == (0, "bad_request")
        assert await stdout.read() == b""


async def test_half_a_frame_after_a_cut_is_no_message(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(HELLO + HEALTH + HEALTH.replace(b":1", b":2")[:-1])
        stdin.write_eof()
        rows = (await stdout.read()).splitlines()
        assert [type(decode_to_client(row)) for row in rows] == [Welcome, Return]


@pytest.mark.parametrize(
    "line_bytes",
    [
        b"\xff\xfe\n",
        b"null\n",
        b"[1,2]\n",
        b'{"frame":"stamp","user":"birch","role":"lawyer","fingerprint":"x","peer":"y"}\n',
        b'{"frame":"welcome"}\n',
        b'{"frame":"call","id":0,"request":{"type":"health"}}\n',
        b'{"frame":"call","id":-5,"request":{"type":"health"}}\n',
        b"GET / HTTP/1.1\n",
        b"\x00" * 1000 + b"\n",
        b"[" * 100_000 + b"\n",
        HELLO,
    ],
)
async def test_what_is_no_frame_ends_the_line_without_repeating_it(line, line_bytes):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(HELLO + line_bytes)
        assert isinstance(await _frame(stdout), Welcome)
        frame = await _frame(stdout)
        assert isinstance(frame, Error)
        assert frame.id == 0
        assert await stdout.read() == b""
        assert "birch" not in frame.error.message


async def test_malformed_call_is_answered_and_the_line_goes_on(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(HELLO)
        await _frame(stdout)
        for request in (
            b'{"type":"nonsense"}',
            b'{"type":"health","extra":"Marigold"}',
            b'{"type":"ask","matter":5}',
            b'"Marigold"',
        ):
            stdin.write(b'{"frame":"call","id":7,"request":' + request + b"}\n")
            frame = await _frame(stdout)
            assert (frame.id, frame.error.code) == (7, "bad_request")
            assert "Marigold" not in frame.error.message
        stdin.write(HEALTH)
        assert isinstance(await _frame(stdout), Return)


async def test_our_own_fault_gives_a_reference_and_no_words(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        async with line.link() as link:
            from protocol.jobs import Ask

            job = (
                await link.call(Ask(matter="M-A1DR", conversation="c", question="count 1", key="k"))
            ).job
        stdin.write(HELLO + encode(Call(id=3, request=GetAnswer(job=job))))
        await _frame(stdout)
        frame = await _frame(stdout)
        assert frame.error.code == "internal"
        assert len(frame.error.reference) == 8
        assert frame.error.reference in line.log()
        assert "Marigold" not in line.log() + frame.error.message


async def test_reply_over_the_limit_is_an_error_of_that_call_only(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        big = OpenSource(matter="M-A1DR", document="d", page=5_000_000)
        stdin.write(HELLO + encode(Call(id=1, request=big)) + HEALTH.replace(b":1", b":2"))
        await _frame(stdout)
        frames = {f.id: f for f in (await _frame(stdout), await _frame(stdout))}
        assert frames[1].error.code == "bad_request"
        assert isinstance(frames[2], Return)


async def test_reader_who_takes_nothing_holds_up_only_himself(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await conn.open_session(
            subsystem="secondchair", encoding=None, window=32 * 1024
        )
        stdin.write(HELLO)
        await _frame(stdout)
        stdout.channel.pause_reading()
        big = OpenSource(matter="M-A1DR", document="d", page=1_000_000)
        for number in range(1, 60):
            stdin.write(encode(Call(id=number, request=big)))
        async with line.link() as link:
            await link.call(Health())
        stdout.channel.resume_reading()
        splitter, got = LineSplitter(MAX_TO_CLIENT_BYTES), []
        async with asyncio.timeout(PATIENCE_S):
            while len(got) < 59:
                got += [decode_to_client(r).id for r in splitter.feed(await stdout.read(65536))]
        assert sorted(got) == list(range(1, 60))


async def test_pings_are_answered(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(HELLO + encode(Ping(number=9)))
        await _frame(stdout)
        assert await _frame(stdout) == Pong(number=9)


async def test_other_version_of_the_protocol_is_told_so(line):
    async with await line.connect() as conn:
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(encode(Hello(lowest=2, highest=3, client="later")))
        frame = await _frame(stdout)
        assert (frame.id, frame.error.code) == (0, "bad_request")
        assert "version 1" in frame.error.message


async def test_other_subsystems_are_refused(line):
    async with await line.connect() as conn:
        for name in ("shell", "netconf", "secondchair2"):
            with pytest.raises(asyncssh.ChannelOpenError):
                await conn.open_session(subsystem=name, encoding=None)


# --- keys that stop working ---


async def _closed(conn):
    async with asyncio.timeout(PATIENCE_S):
        await conn.wait_closed()


async def test_revoked_key_closes_the_live_connection_and_no_other(line):
    async with await line.connect("birch") as other:
        conn = await line.connect("alder")
        stdin, stdout, _ = await _subsystem(conn)
        stdin.write(HELLO)
        await _frame(stdout)
        line.revoke("alder")
        await _closed(conn)
        with pytest.raises(asyncssh.PermissionDenied):
            await line.connect("alder")
        stdin, stdout, _ = await _subsystem(other)
        stdin.write(HELLO)
        assert isinstance(await _frame(stdout), Welcome)


@pytest.mark.parametrize(
    "change",
    [
        {"expires": dt.date(2020, 1, 1)},
        {"networks": ("192.0.2.0/24",)},
    ],
)
async def test_key_that_expired_or_comes_from_elsewhere_is_out(line, change):
    conn = await line.connect("alder")
    registry = read(line.users)
    users = tuple(
        msgspec.structs.replace(
            user, keys=tuple(msgspec.structs.replace(key, **change) for key in user.keys)
        )
        for user in registry.users
    )
    write(line.users, msgspec.structs.replace(registry, users=users))
    await _closed(conn)
    with pytest.raises(asyncssh.PermissionDenied):
        await line.connect("alder")


async def test_matter_taken_away_is_gone_on_the_live_line(line):
    async with line.link() as link:
        registry = read(line.users)
        users = tuple(msgspec.structs.replace(u, matters=()) for u in registry.users)
        write(line.users, msgspec.structs.replace(registry, users=users))
        with pytest.raises(NotFound, match="no such matter"):
            await link.call(OpenSource(matter="M-A1DR", document="d", page=1))


async def test_gateway_does_not_start_on_an_unknown_field(box):
    good = box.users.read_text()
    for bad in (
        good.replace("version", "verzion"),
        good + "\nroot = true\n",
        good.replace("reviewer", "admin"),
        good.replace("ssh-ed25519", "ssh-dss"),
        good.replace('role = "lawyer"', 'role = "lawyer"\nrevokedd = true'),
        "not toml [",
    ):
        box.users.write_text(bad)
        with pytest.raises(BadRequest) as caught:
            Gateway(box.settings())
        assert "AAAA" not in caught.value.message
    box.users.unlink()
    with pytest.raises(NotFound):
        Gateway(box.settings())


async def test_registry_broken_while_running_lets_nobody_new_in(line):
    conn = await line.connect("alder")
    good = line.users.read_text()
    line.users.write_text(good.replace("version", "verzion"))
    with pytest.raises(asyncssh.PermissionDenied):
        await line.connect("alder")
    stdin, stdout, _ = await _subsystem(conn)
    stdin.write(HELLO)
    assert isinstance(await _frame(stdout), Welcome)
    line.users.write_text(good)
    async with await line.connect("alder"):
        pass
    conn.abort()


async def test_spare_host_key_is_kept_back(box):
    spare = box._key("spare", asyncssh.generate_private_key("ssh-ed25519"))
    async with box.open_gateway(host_keys=(box.host_key, spare)), await box.connect():
        pass
    async with box.open_gateway(host_keys=(spare, box.host_key)):
        with pytest.raises(asyncssh.HostKeyNotVerifiable):
            await box.connect()
        box.pin(box.folder / "spare.pub")
        async with await box.connect():
            pass


async def test_port_that_is_taken_is_said_so(box):
    async with box.open_gateway() as gateway:
        with pytest.raises(Conflict):
            async with Gateway(box.settings(port=gateway.port)).open():
                pass


# --- the worker's socket itself ---


async def test_second_worker_on_the_same_socket_is_refused(line):
    before = line.worker
    with pytest.raises(AssertionError, match=r"Conflict|Unavailable"):
        await line.start_worker()
    await line.worker.communicate()
    line.worker = before
    async with line.link() as link:
        await link.call(Health())


async def test_line_without_a_stamp_or_with_a_false_one_is_closed(line):
    false = msgspec.structs.replace(line.stamp("birch"), user="alder")
    for start in (HELLO, encode(false) + HELLO):
        reader, writer = await asyncio.open_unix_connection(str(line.socket))
        writer.write(start + HEALTH)
        rows = (await reader.read()).splitlines()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        assert len(rows) == 1
        assert decode_to_client(rows[0]).id == 0
