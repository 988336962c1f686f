"""A service box as its units run it: worker, gateway and engine three users, one with a network.

Real parts: the native llama.cpp server with the small model, SSH, SFTP. What each of the users must
not reach is tried as that user.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from worker import audit, registry
from worker.config import load
from worker.engine import bundled_model
from worker.engine.server_flags import setting_flags
from worker.engine.unit_words import CONTROL
from worker.paths import registry_path
from worker.registry import Key, Role, User
from worker.setup.accounts import Accounts
from worker.setup.folders import prepare

WORKER, GATEWAY, GROUP = 61001, 61002, 61003
ENGINE, ENGINES = 61004, 61005
GROUPS = {WORKER: f"{GROUP},{ENGINES}", GATEWAY: str(GROUP), ENGINE: str(ENGINES)}
UP_S = 180
HERE = Path(__file__).parent
SAMPLE = HERE.parent / "data" / "sample" / "hartwell-v-northgate"


def why_not() -> str:
    if os.geteuid() != 0:
        return "only root can start programs as other users"
    if not Path("/mnt").is_dir():
        return "there is no /mnt to move a mount through"
    if any(shutil.which(tool) is None for tool in ("unshare", "mount", "ip", "ssh", "sftp")):
        return "unshare, mount, ip, ssh or sftp is missing"
    if any(not folder.stat().st_mode & 0o001 for folder in HERE.parents):
        return "other users may not enter the folder of this clone"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "true"], capture_output=True, check=False
    )
    return "" if tried.returncode == 0 else "this machine allows no namespaces"


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


def as_user(uid, *command, network=False, folder="/tmp", **more):
    given = {"capture_output": True, "text": True, "timeout": UP_S, **more}
    starter = [sys.executable, HERE / "two_users.py", str(uid), GROUPS[uid]]
    return subprocess.run(
        [*starter, "yes" if network else "no", str(folder), *map(str, command)], **given
    )


def free_port() -> int:
    """Below the range from which the kernel gives ports to whoever asks for any."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as taken, contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


class Service:
    """The box, with both programs running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "worker.toml"
        self.engine = folder / "engine"
        self.port = free_port()
        self.programs: dict[str, subprocess.Popen[bytes]] = {}

    def set_up(self) -> None:
        self.config.write_text(
            f'state = "{self.state}"\nrun_folder = "{self.folder / "run"}"\nport = {self.port}\n'
            f"gateway_uids = [{GATEWAY}]\n"
            f'[[boards]]\nname = "A"\nunit_socket = "{self.engine / CONTROL}"\n'
        )
        self.engine.mkdir()  # RuntimeDirectory= of the engine's unit
        self.engine.chmod(0o750)
        os.chown(self.engine, ENGINE, ENGINES)
        run = self.folder / "run"  # RuntimeDirectory=, RuntimeDirectoryMode=0750
        run.mkdir()
        run.chmod(0o750)
        os.chown(run, WORKER, GROUP)
        settings = load(self.config, environment={}).settings
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "you"], check=True
        )
        public = (self.folder / "you.pub").read_text().strip()
        prepare(settings)
        user = User(name="you", role=Role.REVIEWER, keys=(Key(public=public),))
        path = registry_path(settings)
        registry.write(path, registry.with_user(registry.read(path), user))
        accounts = Accounts(worker_uid=WORKER, gateway_uid=GATEWAY, gid=GROUP, engine_gid=ENGINES)
        prepare(settings, accounts)
        hosts = (self.state / "gateway").glob("host_*.pub")
        lines = [f"[127.0.0.1]:{self.port} {one.read_text()}" for one in sorted(hosts)]
        (self.folder / "known_hosts").write_text("".join(lines))

    def operator(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What is typed with the rights of the worker's user."""
        done = as_user(
            WORKER, sys.executable, "-m", "worker", "--config", self.config, *words,
            folder=self.folder, env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    def start(self, name: str, uid: int, *more: object, network: bool) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.programs[name] = subprocess.Popen(
                [
                    sys.executable, HERE / "two_users.py", str(uid), GROUPS[uid],
                    "yes" if network else "no", self.folder,
                    sys.executable, "-m", "worker", "--config", self.config, name, "--leash",
                    *map(str, more),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
            )  # fmt: skip
        deadline = time.monotonic() + UP_S
        while not self.is_up(name):
            said = (self.folder / f"{name}.log").read_text()[-3000:]
            assert self.programs[name].poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)

    def is_up(self, name: str) -> bool:
        if name == "engine":
            return (self.engine / CONTROL).exists()
        if name == "serve":
            return (self.folder / "run" / "worker.sock").exists()
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as line:
                return line.recv(8) == b"SSH-2.0-"
        except OSError:
            return False

    def client(self, *words: str, said: str) -> subprocess.CompletedProcess[str]:
        command, *rest = words
        return subprocess.run(
            [
                sys.executable, "-m", "bot", command, "--host", "127.0.0.1",
                "--port", str(self.port), "--key-file", self.folder / "you",
                "--known-hosts", self.folder / "known_hosts", *rest,
            ],
            input=said,
            capture_output=True,
            text=True,
            timeout=UP_S,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder / "pc")},
        )  # fmt: skip

    def sftp(self, commands: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                "sftp", "-F", "none", "-b", "-", "-P", str(self.port), "-i", self.folder / "you",
                "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
                "-o", f"UserKnownHostsFile={self.folder / 'known_hosts'}",
                "-o", "StrictHostKeyChecking=yes", "whoever@127.0.0.1",
            ],
            input=commands,
            capture_output=True,
            text=True,
            timeout=UP_S,
        )  # fmt: skip

    def stop(self) -> None:
        for program in self.programs.values():
            program.terminate()
        for program in self.programs.values():
            program.wait(timeout=UP_S)
            program.stdin.close()


@pytest.fixture(scope="module")
def service():
    folder = Path(tempfile.mkdtemp(prefix="sc-"))  # short, and others may pass
    folder.chmod(0o755)
    box = Service(folder)
    try:
        box.set_up()
        papers = folder / "papers"
        papers.mkdir()
        for name in ("Complaint.pdf", "Reeves e-mail 2024-01-23.txt"):
            shutil.copy(SAMPLE / name, papers / name)
        opened = box.operator("matters", "open", "Two v. Users", "--folder", str(papers),
                              "--user", "you")  # fmt: skip
        box.matter = opened.stdout.strip()
        model, (board,) = bundled_model(), load(box.config, environment={}).settings.boards
        flags = ("--folder", box.engine, "--model", model, "--", *setting_flags(board, model=model))
        box.start("engine", ENGINE, *flags, network=False)
        box.start("serve", WORKER, network=False)
        box.start("gateway", GATEWAY, network=True)
        yield box
    finally:
        box.stop()
        shutil.rmtree(folder)


def can(uid, action, *paths):
    """Which of some paths a user can read, write, enter or list."""
    code = (
        "import os, sys\n"
        "for path in sys.argv[2:]:\n"
        "    try:\n"
        "        if sys.argv[1] == 'read': os.close(os.open(path, os.O_RDONLY))\n"
        "        elif sys.argv[1] == 'write': os.close(os.open(path, os.O_WRONLY))\n"
        "        elif sys.argv[1] == 'list': os.listdir(path)\n"
        "        print(path)\n"
        "    except PermissionError: pass\n"
    )
    done = as_user(uid, sys.executable, "-c", code, action, *paths)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_question_is_answered_by_a_worker_without_a_network(service):
    done = service.client("ask", "--matter", service.matter, "--json", "-",
                          said="When did Northgate first know of the leak?")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["items"]
    assert answer["timings"]["board"] == "A"
    assert answer["provenance"]["model_sha256"]


def test_the_health_check_gets_a_real_completion(service):
    parts = json.loads(service.operator("probe", "--prove", "--json").stdout)
    assert parts["board A"][0] == "ok"
    assert "answered a test" in parts["board A"][1]


def test_a_file_dropped_by_the_gateways_user_is_read_by_the_workers(service, tmp_path):
    late = tmp_path / "Late letter.txt"
    late.write_text("The gasket of the pump had perished by the ninth of May 2024.\n")
    put = service.sftp(f'put "{late}" /{service.matter}/inbox/\nls /{service.matter}/inbox\n')
    assert put.returncode == 0, put.stderr
    deadline = time.monotonic() + UP_S
    found = ""
    while "Late letter" not in found:
        assert time.monotonic() < deadline, "the file did not come into the record"
        found = service.client(
            "find", "--matter", service.matter, "--json", "-", said="gasket perished"
        ).stdout
        time.sleep(0.5)
    journal = service.state / "audit" / f"{service.matter}.jsonl"
    report = audit.verify(journal)
    assert report.broken_at is None
    assert '"what":"file.put"' in journal.read_text()  # sealed by the gateway
    assert '"what":"matter.opened"' in journal.read_text()  # in the worker's own journal


def test_an_approved_export_of_the_worker_is_fetched_through_the_gateway(service, tmp_path):
    said = "/find leak\n/approve looked at each of them\n/export md\n/quit\n"
    done = service.client("chat", "--matter", service.matter, said=said)
    out = service.state / "matters" / service.matter / "out"
    files = list(out.iterdir())
    assert files, done.stdout
    got = service.sftp(f'get /{service.matter}/out/{files[0].name} "{tmp_path}/got.md"\n')
    assert got.returncode == 0, got.stderr
    assert (tmp_path / "got.md").read_bytes() == files[0].read_bytes()


def test_the_gateways_user_reaches_nothing_else_of_the_case_store(service):
    matter = service.state / "matters" / service.matter
    wanted = [
        *(path for path in matter.iterdir() if path.name not in ("inbox", "incoming", "out")),
        service.state / "queue.sqlite",
        service.state / "models",
    ]
    originals = list((matter / "originals").iterdir())
    assert originals
    assert can(GATEWAY, "read", *wanted, *originals) == []
    assert can(GATEWAY, "list", matter, service.state / "matters") == []
    assert can(GATEWAY, "write", service.state / "registry" / "users.toml") == []
    assert can(GATEWAY, "read", service.state / "registry" / "users.toml")  # the trial can succeed


def test_the_workers_user_cannot_read_the_host_keys(service):
    keys = service.state / "gateway"
    assert can(WORKER, "read", keys / "host_ed25519", keys / "host_ed25519.spare") == []
    assert can(WORKER, "read", keys / "host_ed25519.pub")


def test_the_engines_user_reaches_nothing_of_the_case_store(service):
    matter = service.state / "matters" / service.matter
    assert can(ENGINE, "list", service.state, service.state / "matters", matter) == []
    assert can(ENGINE, "read", matter / "work.sqlite", service.state / "queue.sqlite") == []
    assert can(ENGINE, "list", service.folder / "run") == []
    assert can(ENGINE, "list", service.engine)  # the trial can succeed


def test_nobody_but_the_worker_reaches_the_engine(service):
    code = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('in')"
    (lent,) = service.engine.glob("e????????.sock")
    for socket_path in (lent, service.engine / CONTROL):
        assert "PermissionError" in as_user(GATEWAY, sys.executable, "-c", code, socket_path).stderr
        assert "in" in as_user(WORKER, sys.executable, "-c", code, socket_path).stdout


def test_a_stranger_on_the_box_reaches_nothing(service):
    other = 61999
    code = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('in')"
    socket_path = service.folder / "run" / "worker.sock"
    starter = [sys.executable, HERE / "two_users.py", str(other), str(other), "yes", "/tmp"]
    tried = subprocess.run(
        [*starter, sys.executable, "-c", code, socket_path], capture_output=True, text=True
    )
    assert "PermissionError" in tried.stderr
    inside = subprocess.run(
        [*starter, sys.executable, "-c", "import os,sys; os.listdir(sys.argv[1])", service.state],
        capture_output=True,
        text=True,
    )
    assert "PermissionError" in inside.stderr


def test_the_worker_has_no_way_out(service):
    children = Path(f"/proc/{service.programs['serve'].pid}/net/dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in children] == ["lo"]
