"""A marker in everything privileged that crosses the line is in no log and no process list."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from bench.children import PATIENCE_S, owned
from protocol.frames import Call, Hello, encode
from protocol.jobs import Ask, Find, Forget

MARK = "MARIGOLDXYZZY"
HELLO = encode(Hello(lowest=1, highest=1, client=MARK))
ROOT = Path(__file__).parents[2]


@contextlib.asynccontextmanager
async def _gateway(box):
    """The real gateway process with its real log."""
    state = box.folder / "state"
    (state / "registry").mkdir(parents=True)
    (state / "gateway").mkdir()
    (state / "registry" / "users.toml").write_bytes(box.users.read_bytes())
    key = state / "gateway" / "host_ed25519"
    key.write_bytes(box.host_key.read_bytes())
    key.chmod(0o600)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "SECONDCHAIR_STATE": str(state),
        "SECONDCHAIR_RUN_FOLDER": str(box.socket.parent),
        "SECONDCHAIR_PORT": "0",
        "PYTHONWARNINGS": "default",
    }
    with (box.folder / "gateway.log").open("ab") as log:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "worker", "gateway", env=environment, stderr=log, stdout=log
        )
    port_file = box.socket.parent / "gateway.port"
    async with owned(child):
        async with asyncio.timeout(PATIENCE_S):
            while not port_file.exists() or not port_file.read_text().endswith("\n"):
                assert child.returncode is None, (box.folder / "gateway.log").read_text()
                await asyncio.sleep(0.02)
        yield child, int(port_file.read_text())


class _Port:
    def __init__(self, port):
        self.port = port


def _command_lines() -> str:
    text = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text.append(path.read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return "\n".join(text)


async def test_marker_is_in_no_log_and_no_process_list(box):
    await box.start_worker()
    async with _gateway(box) as (child, port):
        box.gateway = _Port(port)
        box.pin()
        calls = [
            Ask(matter="M-A1DR", conversation=MARK, question=f"{MARK} what was known", key=MARK),
            Ask(matter=MARK, conversation=MARK, question=MARK, key=MARK),
            Find(matter="M-A1DR", text=MARK, key=MARK + "2"),
            Forget(matter="M-A1DR", conversation=MARK, key=MARK + "3"),
        ]
        stdin = HELLO + b"".join(encode(Call(id=n, request=r)) for n, r in enumerate(calls, 1))
        stdin += b'{"frame":"call","id":9,"request":{"type":"%s"}}\n' % MARK.encode()
        code, out, _ = await box.run_ssh("-s", "secondchair", stdin=stdin)
        assert code == 0
        assert len(out.splitlines()) == 6
        # named words, refused commands, odd login names, a broken line, a stranger
        asking = asyncio.create_task(box.run_ssh("ask --matter M-A1DR -", stdin=MARK.encode()))
        lists = ""
        while not asking.done():
            lists += _command_lines()
            await asyncio.sleep(0.02)
        assert "line_worker.py" in lists
        assert MARK not in lists
        await box.run_ssh("ask", "--matter", "M-A1DR", MARK)
        await box.run_ssh(MARK, options=("-l", MARK))
        await box.run_ssh("help", user="stranger", options=("-l", MARK))
        await box.run_ssh("-s", MARK)
        await box.run_ssh("-s", "secondchair", stdin=HELLO + MARK.encode() + b"\n")
        await box.run_ssh("-s", "secondchair", stdin=MARK.encode() * 30_000)
        await box.kill_worker()
        await box.run_ssh("ask -", stdin=MARK.encode())
        child.terminate()
        await child.wait()
    gateway_log = (box.folder / "gateway.log").read_text()
    assert '"event":"connection.open"' in gateway_log
    assert '"event":"command.refused"' in gateway_log
    assert '"event":"foreign"' not in gateway_log
    assert '"event":"call.refused"' in box.log()
    for log in (gateway_log, box.log()):
        assert MARK.lower() not in log.lower()
    for row in gateway_log.splitlines():
        assert row.startswith("{"), row
