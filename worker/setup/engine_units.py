"""One unit for each board's engine: its cards by UUID, its share of the box, its exact flags.

The flags stand in the unit in full, so what runs can be read there and in the process list; they
hold no word of a case. The worker compares them with its settings when it takes the engine, and
uses none that runs with others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import AppError, BadRequest
from worker.boards import Box
from worker.config import Settings
from worker.engine import EngineSettings, bundled_model
from worker.engine.server_flags import setting_flags
from worker.engine.unit_words import CONTROL, mark_of
from worker.watching.uses import hardware_of

RUN: Final = Path("/run/secondchair-engine")
"""Above the folder of each engine's sockets."""
TEMPLATE: Final = "secondchair-engine.service"

_NAME: Final = re.compile(r"[A-Za-z0-9._+-]{1,64}")
_WORD: Final = re.compile(r"[A-Za-z0-9._,:/=+-]+")
_PROOF_S: Final = 180
_MIB: Final = 1024**2
_BESIDE_BYTES: Final = 16 * 1024**3
"""For the program itself, a kv_cache on the processor and the driver's own memory."""
_MOST_SHARE: Final = 0.85


def with_units(settings: Settings) -> Settings:
    """The same settings, each engine that can have a unit of its own given one."""
    boards = tuple(
        msgspec.structs.replace(board, unit_socket=RUN / _name(board.name) / CONTROL)
        if _can(board)
        else board
        for board in settings.board_settings()
    )
    return msgspec.structs.replace(settings, boards=boards)


def in_units(settings: Settings) -> tuple[EngineSettings, ...]:
    """The boards whose engines have a unit that we write."""
    return tuple(
        board
        for board in settings.board_settings()
        if board.unit_socket is not None and board.unit_socket == RUN / board.name / CONTROL
    )


def unit_name(board: str) -> str:
    """The unit of a board's engine; a unit's name may hold no plus sign."""
    return f"secondchair-engine-{_name(board).replace('+', '-')}.service"


def engine_blanks(
    board: EngineSettings, *, box: Box, with_caps: bool, sys_root: Path
) -> Mapping[str, str]:
    """What the template of an engine's unit leaves open, for one board.

    Args:
        board: With a socket of its own unit.
        box: What was seen.
        with_caps: Whether limits of cards are set on this box.
        sys_root: Where the kernel's tree is read.

    Raises:
        BadRequest: A flag, a variable or a path holds a sign that a unit would read as another.
    """
    cards = {name: gpu for b in box.boards for name, gpu in zip(b.uuids, b.gpus, strict=True)}
    used = hardware_of(board, {b.name: b.uuids for b in box.boards})
    mine = board.environment.get("CUDA_VISIBLE_DEVICES", "").split(",")
    nodes = sorted(
        {gpu.numa_node for uuid, gpu in cards.items() if uuid in mine and gpu.numa_node is not None}
    )
    return {
        "BOARD": _name(board.name),
        "ENGINE": " ".join(_words(board)),
        "CARDS": _variables(board.environment),
        "START": str(round(board.start_timeout_s) + _PROOF_S),
        "SHARE": "\n".join([*_memory(board, box), *bound_to(nodes, sys_root)]),
        "LOCK": "LimitMEMLOCK=infinity" if "--mlock" in board.flags else "",
        "LIMITS": (
            "# No work before power and clock limits are set and read back.\n"
            "Requires=secondchair-caps.service\nAfter=secondchair-caps.service"
            if with_caps and used
            else ""
        ),
    }


def bound_to(nodes: list[int], sys_root: Path) -> list[str]:
    """The processors and the memory next to the cards, on a box with more than one node."""
    if not nodes or len(list((sys_root / "devices/system/node").glob("node[0-9]*"))) < 2:
        return []
    processors = [
        (sys_root / f"devices/system/node/node{node}/cpulist").read_text("ascii").strip()
        for node in nodes
    ]
    said = ",".join(map(str, nodes))
    return [
        f"AllowedCPUs={','.join(processors)}",
        f"AllowedMemoryNodes={said}",
        "NUMAPolicy=bind",
        f"NUMAMask={said}",
    ]


def _can(board: EngineSettings) -> bool:
    return (
        board.engine == "llama_server"
        and board.unit_socket is None
        and board.fallback_binary is None
        and not board.slot_files
    )


def _words(board: EngineSettings) -> list[str]:
    assert board.unit_socket is not None
    model = _model(board)
    said = ["--folder", str(board.unit_socket.parent), "--model", str(model)]
    if board.binary is not None:
        said += ["--binary", str(board.binary)]
    said += ["--start-timeout", str(round(board.start_timeout_s))]
    for name in sorted(board.environment):
        said += ["--variable", name]
    said += ["--", *setting_flags(board, model=model)]
    for word in said:
        if not _WORD.fullmatch(word):
            raise BadRequest(
                f"board {board.name}: a path or flag of its engine holds a space or a sign that a"
                " unit would misread",
                next_step="use paths and flags of letters, digits, dots, commas and dashes",
            )
    return said


def _model(board: EngineSettings) -> Path:
    return board.model if board.model is not None else bundled_model()


def _variables(environment: Mapping[str, str]) -> str:
    for name, value in environment.items():
        if not _WORD.fullmatch(name) or not _WORD.fullmatch(value):
            raise BadRequest("a variable of an engine holds a sign that a unit would misread")
    return "\n".join(f"Environment={name}={environment[name]}" for name in sorted(environment))


def _memory(board: EngineSettings, box: Box) -> list[str]:
    """A bound that a healthy engine does not meet, and that keeps the box alive when one leaks."""
    most = round(box.memory.total_bytes * _MOST_SHARE)
    try:
        needs = mark_of(_model(board)).size_bytes + board.cache_ram_mib * _MIB + _BESIDE_BYTES
    except AppError:
        needs = most
    return [f"MemoryMax={min(most, needs) // _MIB}M"] if most > _MIB else []  # else not known


def _name(board: str) -> str:
    if not _NAME.fullmatch(board):
        raise BadRequest("a board's name holds characters that a unit's name cannot")
    return board
