"""Debian's OpenSSH client against the gateway: what works, and all that must not."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import sys
import termios
from pathlib import Path

import asyncssh  # noqa: TID251
import pytest

from bench.children import PATIENCE_S, end, finish, owned
from protocol.frames import Call, Error, Hello, Return, Welcome, decode_to_client, encode
from protocol.jobs import Ask, Health, ListMatters

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="no OpenSSH client here")

CHAT = (sys.executable, str(Path(__file__).with_name("line_chat.py")))
HELLO = encode(Hello(lowest=1, highest=1, client="test"))


@pytest.fixture(name="shell")
async def _shell(box, monkeypatch):
    """A box whose chat program is the stand-in."""
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    monkeypatch.setattr(
        "worker.gateway.launcher._environment",
        _with(environment, __import__("worker.gateway.launcher", fromlist=["x"])._environment),
    )
    await box.start_worker()
    async with box.open_gateway(program=CHAT):
        yield box
    await box.kill_worker()


def _with(extra, usual):
    return lambda terminal: usual(terminal) | extra


async def test_subsystem_speaks_frames_and_answers_after_half_close(line):
    calls = encode(Call(id=1, request=Health())) + encode(Call(id=2, request=ListMatters()))
    code, out, err = await line.run_ssh("-s", "secondchair", stdin=HELLO + calls)
    frames = [decode_to_client(row) for row in out.splitlines()]
    assert (code, err) == (0, b"")
    assert isinstance(frames[0], Welcome)
    assert {f.id for f in frames[1:] if isinstance(f, Return)} == {1, 2}


async def test_login_name_is_ignored_the_key_is_the_identity(line):
    for name in ("root", "birch", "alder"):
        code, out, _ = await line.run_ssh(
            "-s", "secondchair", stdin=HELLO, options=("-l", name), user="alder"
        )
        assert code == 0
        assert decode_to_client(out.splitlines()[0]).user == "alder"


async def test_stranger_and_password_and_none_do_not_get_in(line):
    for options in ((), ("-o", "PreferredAuthentications=password,keyboard-interactive,none")):
        code, _, err = await line.run_ssh("help", user="stranger", options=options)
        assert code == 255
        assert b"Permission denied (publickey)" in err


async def test_help_is_answered_and_other_commands_are_not(line):
    code, out, _ = await line.run_ssh("help")
    assert code == 0
    assert b"secondchair" in out
    for command in (
        "id",
        "sh -c id",
        "ask --matter M-A1DR what was known",
        "ask --matter '$(id)' -",
        "ask; id",
        "chat --fd 0",
        "find --json --json -",
        "x" * 5000,
    ):
        code, out, _ = await line.run_ssh(command)
        assert (code, out) == (255, b""), command


async def test_forwardings_agent_and_x11_are_refused(line):
    code, _, err = await line.run_ssh(
        "help",
        options=("-o", "ExitOnForwardFailure=yes", "-R", "127.0.0.1:0:127.0.0.1:22"),
    )
    assert code == 255
    assert b"remote port forwarding failed" in err
    code, _, err = await line.run_ssh(options=("-W", f"127.0.0.1:{line.gateway.port}"))
    assert code == 255
    assert b"open failed" in err or b"forwarding" in err
    conn = await line.connect()
    async with conn:
        with pytest.raises(Exception, match=r"refused|prohibited|forward"):
            await conn.open_connection("127.0.0.1", line.gateway.port)
        with pytest.raises(Exception, match=r"refused|prohibited|forward"):
            await conn.open_unix_connection(str(line.socket))


async def test_agent_and_x11_requests_open_nothing(line):
    path = line.folder / "agent"
    agent = await asyncio.create_subprocess_exec(
        "ssh-agent", "-D", "-a", str(path), stdout=asyncio.subprocess.DEVNULL
    )
    async with owned(agent):
        await _until(path.exists)
        conn = await line.connect(agent_path=str(path), agent_forwarding=True)
        process = await conn.create_process("help", encoding=None)
        assert await process.stdout.read()
        assert [door._conn.get_agent_path() for door in line.gateway.doors] == [None]
        with pytest.raises(asyncssh.ChannelOpenError):
            await conn.create_process("help", x11_forwarding=True, x11_display="localhost:0")
        conn.close()
        await conn.wait_closed()


async def test_shell_on_a_terminal_gets_its_size_its_user_and_one_socket(shell):
    async with _terminal(shell, rows=33, columns=91) as screen:
        told = await screen.told()
        assert told["user"] == "alder"
        assert told["matters"] == ["M-A1DR"]
        assert told["arguments"] == ["chat", "--fd"]
        assert told["size"] == [91, 33]
        assert told["leads"]
        assert told["open"][:3] == [0, 1, 2]
        assert len(told["open"]) == 4  # and the one socket
        environment = {"HOME", "LANG", "PATH", "PYTHONUNBUFFERED", "TERM"}
        assert set(told["environment"]) <= environment | {"PYTHONPATH", "LC_CTYPE"}
        await screen.say("size\n")
        screen.resize(40, 120)
        assert (await screen.told())["size"] == [120, 40]
        await screen.say("exit 7\n")
        assert await screen.wait() == 7


async def test_shell_goes_on_over_a_worker_that_was_killed(shell):
    async with _terminal(shell) as screen:
        await screen.told()
        await screen.say("count 200\n")
        seen = []
        while "over" not in (told := await screen.told()):
            seen.append(told["seq"])
            if told["seq"] in (20, 90):
                await shell.kill_worker()
                await shell.start_worker()
        assert seen == list(range(1, len(seen) + 1))
        assert len(seen) > 200


async def test_child_is_gone_when_the_window_closes(shell):
    async with _terminal(shell) as screen:
        pid = (await screen.told())["pid"]
        assert Path(f"/proc/{pid}").exists()
        screen.kill()
        await _until(lambda: not Path(f"/proc/{pid}").exists())


async def test_program_that_will_not_go_and_its_own_children_are_made_to(box):
    await box.start_worker()
    told = box.folder / "pids"
    script = f"trap '' HUP TERM; sleep 1000 & echo $! $$ >> {told}; sleep 1000"
    async with box.open_gateway(program=("/bin/sh", "-c", script)):
        for terminal in ((), ("-tt",)):
            told.unlink(missing_ok=True)
            child = await asyncio.create_subprocess_exec(
                *box.ssh("ask -", options=terminal), stdin=asyncio.subprocess.PIPE
            )
            async with owned(child):
                await _until(lambda: told.exists() and len(told.read_text().split()) == 2)
            await _until(lambda: not any(map(_runs, told.read_text().split())))
    await box.kill_worker()


async def test_gateway_that_closes_leaves_no_program_behind(box):
    await box.start_worker()
    told = box.folder / "pids"
    script = f"trap '' HUP TERM; sleep 1000 & echo $! $$ >> {told}; sleep 1000"
    async with box.open_gateway(program=("/bin/sh", "-c", script)):
        child = await asyncio.create_subprocess_exec(
            *box.ssh("ask -"), stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        await _until(lambda: told.exists() and len(told.read_text().split()) == 2)
    sleeper, program = told.read_text().split()
    assert not _runs(program)
    await _until(lambda: not _runs(sleeper))  # killed with its group; its end is nobody's to await
    await finish(child)
    await box.kill_worker()


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


async def test_commands_run_without_a_terminal_and_give_their_exit_status(shell):
    code, out, _ = await shell.run_ssh("find --matter M-A1DR --json -", stdin=b"leak\nexit 4\n")
    rows = [json.loads(row) for row in out.splitlines()]
    assert rows[0]["arguments"] == ["find", "--fd", "--matter", "M-A1DR", "--json", "-"]
    assert rows[1] == {"heard": "leak"}
    assert code == 4


async def test_windows_of_one_user_have_a_cap_and_others_are_free(box):
    await box.start_worker()
    program = ("/bin/sh", "-c", "exec sleep 60")
    async with (
        box.open_gateway(program=program, programs_per_user=2) as gateway,
        await box.connect() as conn,
        await box.connect("birch") as other,
    ):
        held = [await conn.create_process("ask -", encoding=None) for _ in range(2)]
        await _until(lambda: gateway.programs.held("alder") == 2)
        code, _, err = await box.run_ssh("ask -")
        assert code == 6
        assert b"too many windows" in err
        held.append(await other.create_process("ask -", encoding=None))
        await _until(lambda: gateway.programs.held("birch") == 1)
        for process in held:
            process.close()
        await _until(lambda: gateway.programs.held("alder") == gateway.programs.held("birch") == 0)
    await box.kill_worker()


async def test_two_users_each_have_their_own(shell):
    for user, matters in (("alder", ["M-A1DR"]), ("birch", ["M-B1RC"])):
        _, out, _ = await shell.run_ssh("ask -", user=user)
        told = json.loads(out.splitlines()[0])
        assert (told["user"], told["matters"]) == (user, matters)


async def test_worker_away_is_said_in_one_sentence(shell):
    await shell.kill_worker()
    code, out, err = await shell.run_ssh("ask -")
    assert (code, out) == (6, b"")
    assert b"starting or being serviced; try again" in err
    code, out, _ = await shell.run_ssh("-s", "secondchair", stdin=HELLO)
    (frame,) = [decode_to_client(row) for row in out.splitlines()]
    assert isinstance(frame, Error)
    assert (frame.id, frame.error.code, frame.error.retry) == (0, "unavailable", True)
    await shell.start_worker()


async def test_stranger_matter_over_the_subsystem_is_absent(line):
    asks = [
        encode(Call(id=n, request=Ask(matter=m, conversation="", question="count 1", key="k")))
        for n, m in enumerate(("M-A1DR", "M-ZZZZ"), start=1)
    ]
    _, out, _ = await line.run_ssh("-s", "secondchair", user="birch", stdin=HELLO + b"".join(asks))
    _, *answers = out.splitlines()
    bare = {row.replace(b'"id":1', b'"id":n').replace(b'"id":2', b'"id":n') for row in answers}
    assert len(answers) == 2
    assert len(bare) == 1
    assert b"M-A1DR" not in out


class _Screen:
    def __init__(self, child, master):
        self.child = child
        self.master = master
        self.rest = b""

    async def told(self):
        """The next line of JSON on the screen; echoes of what was typed are passed over."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                while b"\n" not in self.rest:
                    data = await asyncio.to_thread(os.read, self.master, 4096)
                    self.rest += data
                row, _, self.rest = self.rest.partition(b"\n")
                if row.startswith(b"{"):
                    return json.loads(row)

    async def say(self, text):
        os.write(self.master, text.encode())

    def resize(self, rows, columns):
        termios.tcsetwinsize(self.master, (rows, columns))

    def kill(self):
        self.child.kill()

    async def wait(self):
        return await asyncio.wait_for(self.child.wait(), PATIENCE_S)


class _terminal:  # noqa: N801 - used as a verb
    """Stock ssh on a real pseudo-terminal."""

    def __init__(self, box, rows=24, columns=80):
        self.box, self.rows, self.columns = box, rows, columns

    async def __aenter__(self):
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (self.rows, self.columns))
        child = await asyncio.create_subprocess_exec(
            "setsid", "-c", *self.box.ssh(options=("-tt",)), stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.screen = _Screen(child, master)
        return self.screen

    async def __aexit__(self, *_):
        await end(self.screen.child)
        os.close(self.screen.master)


async def _until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - nobody tells when it is so
            await asyncio.sleep(0.02)
