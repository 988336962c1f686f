"""The file drop with stock sftp, scp and pscp, and a client that tries to get out."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil

import asyncssh  # noqa: TID251
import msgspec
import pytest

from bench.children import PATIENCE_S, finish
from protocol.ids import MatterId
from worker.audit import path_of, read, verify
from worker.gateway import DropSettings
from worker.registry import read as read_registry
from worker.registry import write

ALDER = MatterId("M-A1DR")
BIRCH = MatterId("M-B1RC")
needs_sftp = pytest.mark.skipif(shutil.which("sftp") is None, reason="no OpenSSH client here")


@pytest.fixture(name="drop")
async def _drop(box):
    matters, audit = box.folder / "matters", box.folder / "audit"
    for code in (ALDER, BIRCH):
        (matters / code / "out").mkdir(parents=True)
        (matters / code / "record.sqlite").write_text("Marigold")
    (matters / ALDER / "out" / "reply.md").write_text("approved")
    (matters / BIRCH / "out" / "other.md").write_text("Marigold")
    settings = DropSettings(matters=matters, audit=audit, upload_bytes=2_000_000)
    await box.start_worker()
    async with box.open_gateway(drop=settings):
        box.matters, box.audit = matters, audit
        yield box
    await box.kill_worker()


async def _run(*command, stdin=b""):
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await finish(child, stdin)
    return child.returncode, out.decode("utf-8", "replace")


def _stock(box, program, *arguments, user="alder"):
    start, *_ = box.ssh(user=user)
    assert start == "ssh"
    options = box.ssh(user=user)[1:-1]
    options = ["-P" if option == "-p" else option for option in options]
    return [program, *options, *arguments]


def _journal(box, matter=ALDER):
    return [(entry.what, str(entry.by)) for entry in read(path_of(box.audit, matter))]


async def _until_ingested(box, lines):
    path = box.folder / "ingests"
    async with asyncio.timeout(PATIENCE_S):
        while not path.exists() or path.read_text().splitlines() != lines:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@needs_sftp
async def test_sftp_puts_and_gets_and_the_worker_is_told(drop, tmp_path):
    source = tmp_path / "계약서 2024.pdf"
    source.write_bytes(os.urandom(300_000))
    batch = (
        "ls -l\n"
        f'put -p "{source}" /M-A1DR/inbox/\n'
        f"get /M-A1DR/out/reply.md {tmp_path}/got.md\n"
        "ls /M-A1DR/inbox\n"
    )
    code, said = await _run(*_stock(drop, "sftp", "-b", "-", "you@127.0.0.1"), stdin=batch.encode())
    assert code == 0, said
    assert "M-A1DR" in said
    assert "M-B1RC" not in said
    assert (drop.matters / ALDER / "inbox" / source.name).read_bytes() == source.read_bytes()
    assert (tmp_path / "got.md").read_text() == "approved"
    assert _journal(drop) == [("file.put", "alder"), ("file.got", "alder")]
    entries = list(read(path_of(drop.audit, ALDER)))
    assert entries[0].details == {
        "file": hashlib.sha256(source.read_bytes()).hexdigest(),
        "bytes": "300000",
    }
    assert verify(path_of(drop.audit, ALDER)).broken_at is None
    await _until_ingested(drop, ["M-A1DR alder"])


@needs_sftp
async def test_scp_ends_with_success_both_ways(drop, tmp_path):
    source = tmp_path / "a b.txt"
    source.write_text("words")
    code, said = await _run(*_stock(drop, "scp", "-p", str(source), "you@127.0.0.1:/M-A1DR/inbox/"))
    assert (code, said) == (0, "")
    code, said = await _run(
        *_stock(drop, "scp", "you@127.0.0.1:/M-A1DR/out/reply.md", str(tmp_path / "got"))
    )
    assert (code, said) == (0, "")
    assert (tmp_path / "got").read_text() == "approved"
    # the old protocol of scp runs a command on the server, and commands are refused
    code, _ = await _run(*_stock(drop, "scp", "-O", str(source), "you@127.0.0.1:/M-A1DR/inbox/z"))
    assert code != 0
    assert not (drop.matters / ALDER / "inbox" / "z").exists()


@pytest.mark.skipif(shutil.which("pscp") is None, reason="no PuTTY tools here")
async def test_pscp_and_plink(drop, tmp_path):
    key = tmp_path / "key.ppk"
    code, said = await _run("puttygen", str(drop.folder / "alder"), "-O", "private", "-o", str(key))
    if code != 0:
        pytest.skip(f"puttygen: {said}")
    mark = asyncssh.import_public_key((drop.folder / "host.pub").read_bytes()).get_fingerprint()
    port = str(drop.gateway.port)
    usual = ("-batch", "-P", port, "-i", str(key), "-hostkey", mark)
    source = tmp_path / "a.txt"
    source.write_text("words")
    code, said = await _run("pscp", *usual, "-sftp", str(source), "you@127.0.0.1:/M-A1DR/inbox/")
    assert code == 0, said
    assert (drop.matters / ALDER / "inbox" / "a.txt").read_text() == "words"
    code, said = await _run("plink", *usual, "you@127.0.0.1", "help")
    assert code == 0, said
    assert "secondchair" in said


@contextlib.asynccontextmanager
async def _sftp(box, user="alder", login=None):
    options = {} if login is None else {"login": login}
    async with await box.connect(user, **options) as conn, conn.start_sftp_client() as sftp:
        yield sftp


async def test_tree_shows_what_is_ours_and_nothing_else(drop):
    async with _sftp(drop) as sftp:
        assert set(await sftp.listdir("/")) == {".", "..", "M-A1DR"}
        assert set(await sftp.listdir("/M-A1DR")) == {".", "..", "inbox", "out"}
        assert set(await sftp.listdir("/M-A1DR/out")) == {".", "..", "reply.md"}
        assert set(await sftp.listdir("/M-A1DR/inbox")) == {".", ".."}
        assert await sftp.realpath("../../etc") == "/etc"


TRAVERSALS = [
    "/etc/passwd",
    "/M-A1DR/../../../../etc/passwd",
    "/M-A1DR/out/../../M-B1RC/out/other.md",
    "/M-B1RC",
    "/M-B1RC/out/other.md",
    "/M-ZZZZ",
    "/M-A1DR/record.sqlite",
    "/M-A1DR/originals",
    "/M-A1DR/incoming",
    "/M-A1DR/out/link",
    "/M-A1DR/out/hole/reply.md",
    "/M-A1DR/out/..",
    "/M-A1DR/out/reply.md/",
    "/M-A1DR/OUT/reply.md",
    "/proc/self/environ",
    "/M-A1DR/out/reply.md\x00.txt",
    "~/M-A1DR",
]


@pytest.mark.parametrize("path", TRAVERSALS)
async def test_no_path_leads_out(drop, path):
    out = drop.matters / ALDER / "out"
    (out / "link").symlink_to(drop.matters / BIRCH / "out" / "other.md")
    (out / "hole").symlink_to(drop.matters / BIRCH)
    async with _sftp(drop) as sftp:
        for act in (sftp.open, sftp.listdir, sftp.readlink):
            said = await _tried(act, path)
            assert said == "approved" or not {"Marigold", "record.sqlite", "other.md"} & set(
                said.split()
            )
            assert str(drop.matters) not in said
    assert "Marigold" not in drop.log()


async def _tried(act, path):
    """What came of it, in words: contents, names, or the refusal."""
    try:
        came = await act(path)
        return await came.read() if hasattr(came, "read") else " ".join(map(str, came))
    except asyncssh.SFTPError as error:
        return str(error)


async def test_everything_that_changes_is_refused(drop):
    (drop.matters / ALDER / "inbox").mkdir()
    (drop.matters / ALDER / "inbox" / "there.txt").write_text("first")
    async with _sftp(drop) as sftp:
        reply, there = "/M-A1DR/out/reply.md", "/M-A1DR/inbox/there.txt"
        acts = [
            sftp.remove(reply),
            sftp.remove(there),
            sftp.rename(reply, "/M-A1DR/out/b.md"),
            sftp.posix_rename(there, "/M-A1DR/inbox/b.txt"),
            sftp.mkdir("/M-A1DR/inbox/folder"),
            sftp.mkdir("/M-NEW1"),
            sftp.rmdir("/M-A1DR/out"),
            sftp.symlink("/etc/passwd", "/M-A1DR/inbox/x"),
            sftp.link("/M-A1DR/out/reply.md", "/M-A1DR/inbox/x"),
            sftp.truncate(reply, 0),
            sftp.truncate(there, 0),
            sftp.chmod(reply, 0o777),
            sftp.utime(reply, (0, 0)),
            sftp.statvfs("/"),
            sftp.open(reply, "w"),
            sftp.open(reply, "a"),
            sftp.open("/M-A1DR/out/new.md", "w"),
            sftp.open(there, "w"),
            sftp.open(there, "r"),
            sftp.open(there, "a"),
            sftp.open("/M-A1DR/inbox/new.txt", "w+"),
            sftp.open("/M-A1DR/new.txt", "w"),
            sftp.open("/new.txt", "w"),
            sftp.open("/M-B1RC/inbox/new.txt", "w"),
            sftp.open("/M-A1DR/inbox/.hidden", "w"),
            sftp.open("/M-A1DR/inbox/invoice\u202efdp.exe", "w"),
            sftp.open("/M-A1DR/inbox/THERE.TXT", "w"),
            sftp.copy(reply, "/M-A1DR/out/copy.md"),
        ]
        for act in acts:
            with pytest.raises(asyncssh.SFTPError):
                await act
    assert (drop.matters / ALDER / "inbox" / "there.txt").read_text() == "first"
    assert (drop.matters / ALDER / "out" / "reply.md").read_text() == "approved"
    assert sorted(p.name for p in (drop.matters / ALDER).iterdir()) == [
        "inbox", "out", "record.sqlite",
    ]  # fmt: skip


async def test_upload_that_is_cut_is_not_there(drop):
    conn = await drop.connect()
    sftp = await conn.start_sftp_client()
    file = await sftp.open("/M-A1DR/inbox/a.txt", "w", block_size=1024)
    await file.write("half of it")
    conn.abort()
    incoming = drop.matters / ALDER / "incoming"
    async with asyncio.timeout(PATIENCE_S):
        while list(incoming.iterdir()):  # noqa: ASYNC110 - another process's folder
            await asyncio.sleep(0.02)
    assert list((drop.matters / ALDER / "inbox").iterdir()) == []
    assert _journal(drop) == []


async def test_upload_over_the_limit_is_refused_and_gone(drop):
    async with _sftp(drop) as sftp:
        file = await sftp.open("/M-A1DR/inbox/big", "wb")
        with pytest.raises(asyncssh.SFTPError, match="larger"):
            await file.write(b"x", 3_000_000)
        await file.write(b"x" * 10, 0)
        await file.close()
    assert (drop.matters / ALDER / "inbox" / "big").stat().st_size == 10


async def test_what_cannot_be_recorded_is_not_done(drop):
    path = path_of(drop.audit, ALDER)
    async with _sftp(drop) as sftp:
        async with sftp.open("/M-A1DR/inbox/one.txt", "w") as file:
            await file.write("1")
        path.write_bytes(path.read_bytes().replace(b"alder", b"birch"))
        file = await sftp.open("/M-A1DR/inbox/two.txt", "w")
        await file.write("2")
        with pytest.raises(asyncssh.SFTPError, match="recorded"):
            await file.close()
        with pytest.raises(asyncssh.SFTPError, match="recorded"):
            await sftp.open("/M-A1DR/out/reply.md", "r")
    assert [p.name for p in (drop.matters / ALDER / "inbox").iterdir()] == ["one.txt"]


async def test_matter_taken_away_in_the_middle_ends_it(drop):
    async with _sftp(drop) as sftp:
        file = await sftp.open("/M-A1DR/inbox/a.txt", "w")
        await file.write("words")
        registry = read_registry(drop.users)
        users = tuple(msgspec.structs.replace(user, matters=()) for user in registry.users)
        write(drop.users, msgspec.structs.replace(registry, users=users))
        await file.close()
        assert set(await sftp.listdir("/")) == {".", ".."}
        with pytest.raises(asyncssh.SFTPNoSuchFile):
            await sftp.open("/M-A1DR/out/reply.md", "r")
    assert list((drop.matters / ALDER / "inbox").iterdir()) == []


async def test_bot_has_no_drop_to_itself(drop):
    async with _sftp(drop, "helper") as sftp:
        assert set(await sftp.listdir("/")) == {".", ".."}
        with pytest.raises(asyncssh.SFTPNoSuchFile):
            await sftp.listdir("/M-A1DR")


async def test_a_bot_puts_files_for_a_person_with_the_rights_of_both(drop):
    registry = read_registry(drop.users)
    accounts = {"alder": ("3001",), "birch": ("3002",)}
    users = tuple(
        msgspec.structs.replace(user, discord=accounts.get(user.name, ()))
        for user in registry.users
    )
    write(drop.users, msgspec.structs.replace(registry, users=users))
    path = f"/{ALDER}/inbox"
    async with _sftp(drop, "helper", "for-3001") as sftp, sftp.open(f"{path}/a.txt", "wb") as file:
        await file.write(b"seen")
    assert (drop.matters / ALDER / "inbox" / "a.txt").read_bytes() == b"seen"
    (entry,) = read(path_of(drop.audit, ALDER))
    assert (entry.by, entry.through) == ("alder", "helper")
    # Without the matter, unknown, no account at all, or not the bot's to give: nothing is there.
    for login in ("for-3002", "for-9999", "for-", "for-3001x", "whoever"):
        async with _sftp(drop, "helper", login) as sftp:
            assert set(await sftp.listdir("/")) == {".", ".."}
            with pytest.raises(asyncssh.SFTPNoSuchFile):
                await sftp.open(f"{path}/b.txt", "wb")
    # A person's own key gains and loses nothing by such a name.
    async with _sftp(drop, "birch", "for-3001") as sftp:
        assert set(await sftp.listdir("/")) == {".", "..", BIRCH}
    assert [file.name for file in (drop.matters / ALDER / "inbox").iterdir()] == ["a.txt"]


async def test_foreign_and_absent_matters_read_the_same(drop):
    said = set()
    async with _sftp(drop) as sftp:
        for code in (BIRCH, "M-ZZZZ"):
            for act in (sftp.listdir, sftp.stat):
                for path in (f"/{code}", f"/{code}/out", f"/{code}/out/other.md"):
                    with pytest.raises(asyncssh.SFTPError) as caught:
                        await act(path)
                    said.add((caught.value.code, caught.value.reason))
    assert said == {(2, "no such file")}


async def test_worker_away_keeps_the_file(drop):
    await drop.kill_worker()
    async with _sftp(drop) as sftp, sftp.open("/M-A1DR/inbox/a.txt", "w") as file:
        await file.write("words")
    assert (drop.matters / ALDER / "inbox" / "a.txt").read_text() == "words"
    await drop.start_worker()


async def test_many_files_open_at_once_have_a_cap(drop):
    async with _sftp(drop) as sftp:
        files = [await sftp.open(f"/M-A1DR/inbox/{number}.txt", "w") for number in range(32)]
        with pytest.raises(asyncssh.SFTPError, match="too many"):
            await sftp.open("/M-A1DR/inbox/one-more.txt", "w")
        for file in files:
            await file.close()
        async with sftp.open("/M-A1DR/inbox/more.txt", "w"):
            pass


async def test_without_a_drop_there_is_no_sftp(line):
    async with await line.connect() as conn:
        with pytest.raises(asyncssh.ChannelOpenError):
            await conn.start_sftp_client()
