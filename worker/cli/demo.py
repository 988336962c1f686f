"""``secondchair-worker demo``: the main job, end to end, on the bundled sample matter.

State lies in ``.demo/`` of the clone. The first run opens the matter and reads it; later runs find
it read. On a terminal it ends in the chat; elsewhere a short conversation runs, over the same SSH,
and what a person would have seen is checked: a station that failed gives a non-zero exit.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
from rich.console import Console

import worker
from protocol.errors import NotFound, Unavailable
from protocol.ids import MatterId, UserName
from rag.matters import matters_in
from worker import registry
from worker.app import open_embedder
from worker.checks import State, run_checks
from worker.cli.doctor import show
from worker.cli.matters import new_matter, read_folder
from worker.config import Settings, load
from worker.keys import make_key
from worker.paths import PORT_FILE, SOCKET, matters_folder, registry_path
from worker.setup.folders import prepare

_CLONE: Final = Path(worker.__file__).parents[1]
_SAMPLE: Final = _CLONE / "tests" / "data" / "sample" / "hartwell-v-northgate"
_TITLE: Final = "hartwell-v-northgate"
_USER: Final = "you"
_UP_S: Final = 90.0

_CONVERSATION: Final = (
    "/ask When did Northgate first know of the leak?",
    "/ask What did the inspection say about the cause and the cost?",
    "/find January 9, 2024",
    "/find asbestos",
    "/extract dates",
    "/summarize",
    "/export md",
    "/quit",
)
"""What is typed where there is no terminal. The export must be refused: nobody has approved."""

_STATIONS: Final = (
    ("replies over SSH, each held as a draft", r"Draft · awaiting review", 6),
    ("items verified, with their place", r"✔ VERIFIED .* p\. \d|✔ VERIFIED .* \d+:\d+", 3),
    ("a model wrote through llama.cpp", r"tok/s on board A", 2),
    ("coverage under every reply", r"read \d+ of 16 documents, \d+ of 32 pages", 6),
    ("proof of absence", r"No page says this", 1),
    ("the gate holds: no export without an approval", r"only an approved reply can be exported", 1),
)
"""What a person must have seen: a name, a pattern, and how often at least."""


@click.command(epilog="Example: secondchair-worker demo --talk")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=_SAMPLE,
    show_default=False,
    help="Another folder of papers to try.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=_CLONE / ".demo",
    show_default=False,
    help="Where the demo keeps its state.",
)
@click.option("--talk/--script", default=None, help="Chat, or the scripted conversation.")
def command(folder: Path, state: Path, talk: bool | None) -> None:
    """Open the sample matter, start worker and gateway, and ask it over SSH."""
    console = Console(stderr=True)
    started = time.monotonic()
    if not folder.is_dir():
        raise NotFound("the sample matter is not here", next_step="run it from a clone")
    settings = _prepared(state)
    matter = _matter(settings, folder, console)
    talk = talk if talk is not None else sys.stdin.isatty() and sys.stdout.isatty()
    with _running(state, settings, console) as port:
        bot = _bot_settings(state, settings, matter, port)
        console.print(f"ready after {time.monotonic() - started:.1f} s; by hand:")
        console.print(
            f"  ssh -p {port} -i {state / 'you'} -o UserKnownHostsFile={state / 'known_hosts'}"
            " you@127.0.0.1",
            soft_wrap=True,
            highlight=False,
        )
        code = subprocess.call(_bot(bot)) if talk else _scripted(bot, console)
    console.print(f"demo: {time.monotonic() - started:.1f} s in all")
    sys.exit(code)


def _prepared(state: Path) -> Settings:
    """State folder, keys, registry and settings file of the demo, each made once."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = hashlib.sha256(str(state.resolve()).encode()).hexdigest()[:8]
    run = Path(tempfile.gettempdir()) / f"secondchair-{os.getuid()}-{mark}"
    config = state / "worker.toml"
    config.write_text(
        "# The demo's worker. Written anew at every start.\n"
        f'state = "{state.resolve() / "state"}"\nrun_folder = "{run}"\nport = 0\n',
        "utf-8",
    )
    settings = load(config, environment={}).settings
    prepare(settings)
    public = make_key(state / _USER)
    held = registry.read(registry_path(settings))
    if held.user(_USER) is None:
        user = registry.User(
            name=_USER, role=registry.Role.REVIEWER, keys=(registry.Key(public=public),)
        )
        registry.write(registry_path(settings), registry.with_user(held, user))
    return settings


def _matter(settings: Settings, folder: Path, console: Console) -> MatterId:
    """The demo's matter, opened and read unless it has been."""
    name = _TITLE if folder == _SAMPLE else folder.name
    found = [one for one in matters_in(matters_folder(settings)) if one.title == name]
    if found:
        code = found[0].id
        held = registry.read(registry_path(settings))
        registry.write(registry_path(settings), registry.with_matter(held, UserName(_USER), code))
    else:
        console.print("opening the sample matter and reading its papers")
        code = new_matter(settings, name, (_USER,))
    if not found or not (matters_folder(settings) / code / "read").exists():
        read_folder(settings, code, folder, open_embedder(settings))
        (matters_folder(settings) / code / "read").touch()
    return code


@contextmanager
def _running(state: Path, settings: Settings, console: Console) -> Iterator[int]:
    """Worker and gateway as children on a leash; gives the gateway's port."""
    run = settings.run()
    with console.status("starting the worker, the model and the SSH gateway"):
        children = [_child(state, name) for name in ("serve", "gateway")]
        try:
            _wait(lambda: (run / SOCKET).exists(), children, state)
            _wait(lambda: (run / PORT_FILE).exists(), children, state)
            port = int((run / PORT_FILE).read_text("ascii"))
        except BaseException:
            _end(children)
            raise
    try:
        yield port
        checks = list(run_checks(load(state / "worker.toml", environment={})))
        if any(check.state is State.FAIL for check in checks):
            show(checks, console)
    finally:
        _end(children)


def _child(state: Path, name: str) -> subprocess.Popen[bytes]:
    with (state / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "worker", "--config", state / "worker.toml", name, "--leash"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait(up: Callable[[], bool], children: Sequence[subprocess.Popen[bytes]], state: Path) -> None:
    deadline = time.monotonic() + _UP_S
    while not up():
        if any(child.poll() is not None for child in children) or time.monotonic() > deadline:
            raise Unavailable(
                "worker or gateway did not come up", next_step=f"their logs lie in {state}"
            )
        time.sleep(0.05)


def _end(children: Sequence[subprocess.Popen[bytes]]) -> None:
    for child in children:
        assert child.stdin is not None
        child.stdin.close()
        child.terminate()
    for child in children:
        try:
            child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _bot_settings(state: Path, settings: Settings, matter: MatterId, port: int) -> Path:
    """The client's settings and pinned host keys, as `init` would make them on a PC."""
    folder = settings.state / "gateway"
    keys = [path.read_text("ascii").strip() for path in sorted(folder.glob("host_*.pub"))]
    (state / "known_hosts").write_text(
        "".join(f"[127.0.0.1]:{port} {key}\n" for key in keys), "ascii"
    )
    path = state / "bot.toml"
    path.write_text(
        "# The demo's client. Written anew at every start.\n"
        f'host = "127.0.0.1"\nport = {port}\nkey_file = "{(state / _USER).resolve()}"\n'
        f'known_hosts = "{(state / "known_hosts").resolve()}"\n'
        f'matter = "{matter}"\ndemo_matter = "{matter}"\n',
        "utf-8",
    )
    return path


def _bot(config: Path) -> list[str]:
    """The client's command; another process, as on a PC: the worker imports nothing of it."""
    return [sys.executable, "-m", "bot", "chat", "--config", str(config)]


def _scripted(bot: Path, console: Console) -> int:
    """The scripted conversation; 0 when every station was seen in what it printed."""
    script = "".join(f"{line}\n" for line in _CONVERSATION)
    with subprocess.Popen(
        _bot(bot), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write(script)
        chat.stdin.close()
        seen = []
        for line in chat.stdout:
            print(line, end="", flush=True)
            seen.append(line)
    said = "".join(seen)
    failed = [name for name, words, least in _STATIONS if len(re.findall(words, said)) < least]
    for name, _, _ in _STATIONS:
        console.print(
            f"[{'red' if name in failed else 'green'}]{'✘' if name in failed else '✔'}[/] {name}"
        )
    return 1 if failed or chat.returncode else 0
