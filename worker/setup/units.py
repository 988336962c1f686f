"""The systemd units of a box, from the templates of ``deploy/systemd/``.

One worker, one gateway, a health check, a unit for each engine (`worker.setup.engine_units`) and,
for boards with declared limits, the caps. A board whose engine is the worker's own child, or that
has none, is a drop-in of the worker's unit: it names the board's cards, binds the worker to their
processors and memory where the box has more than one node, and makes the caps a condition. What an
engine is pinned to stands in the settings, by UUID.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from protocol.errors import BadRequest, NotFound
from worker.boards import Box
from worker.boards.declared import Declared
from worker.config import Settings
from worker.setup.engine_units import TEMPLATE, bound_to, engine_blanks, in_units, unit_name
from worker.watching.uses import hardware_of

UNITS: Final = (
    "secondchair-worker.service",
    "secondchair-gateway.service",
    "secondchair-health.service",
    "secondchair-health.timer",
)
CAPS_UNITS: Final = ("secondchair-caps.service", "secondchair-caps.timer")
CAPS: Final = "set_caps.py"
OFFICE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10")
"""Networks that are not of the internet: RFC 1918, RFC 4193 and link-local."""

_BLANK: Final = re.compile(r"@([A-Z]+)@")
_NAME: Final = re.compile(r"[A-Za-z0-9._+-]{1,64}")
_PATH: Final = re.compile(r"/[A-Za-z0-9._+/-]*")
_HIDDEN_HOMES: Final = ("/home", "/root", "/run/user")


def templates_folder() -> Path:
    """Where the templates lie: beside an installed package, or in the clone.

    Raises:
        NotFound: Neither place has them.
    """
    here = Path(__file__).parent
    for place in (here / "systemd", here.parents[1] / "deploy" / "systemd"):
        if (place / UNITS[0]).is_file():
            return place
    raise NotFound("the unit templates are not installed", next_step="install from a clone")


def caps_script() -> Path | None:
    """The script that sets and reads back power and clock limits, where there is one."""
    here = Path(__file__).parent
    places = (here / "gpu" / CAPS, here.parents[1] / "deploy" / "gpu" / CAPS)
    return next((place for place in places if place.is_file()), None)


def render_units(
    settings: Settings,
    config: Path,
    *,
    box: Box,
    declared: Declared,
    networks: Iterable[str] = OFFICE,
    python: Path | None = None,
    caps: Path | None = None,
    sys_root: Path = Path("/sys"),
) -> dict[str, str]:
    """Every file to be written, by its name under the units' folder.

    Args:
        settings: The box's settings; every path in them must be one that a unit can hold.
        config: The settings file that the units name.
        box: What was seen, for the drop-ins.
        declared: The boards file: caps are set where it gives limits.
        networks: From where the gateway may be reached.
        python: The interpreter of the installation; this one by default.
        caps: The script for limits; without it no caps unit is written.
        sys_root: Where the kernel's tree is read.

    Raises:
        BadRequest: A path or a board's name holds characters that a unit would read as something
            else, or an engine is reached over the network, which the worker does not have.
        NotFound: The templates are not installed.
    """
    _refuse_network_engines(settings)
    python = python or Path(sys.executable)
    limited = any(board.power_limit_w or board.sm_clock_cap_mhz for board in declared.board)
    with_caps = caps is not None and limited
    models = sorted({str(b.model.parent) for b in settings.boards if b.model is not None})
    paths = [settings.state, config, python, *map(Path, models)]
    blanks = {
        "PYTHON": _path(python),
        "CONFIG": _path(config),
        "STATE": _path(settings.state),
        "HOME": "read-only" if any(_in_home(path) for path in paths) else "yes",
        "PORT": str(settings.port),
        "NETWORKS": " ".join(networks),
        "MODELS": " ".join(f"-{_path(Path(folder))}" for folder in models),
        "DEVICES": _devices(box),
        "CAPS": _path(caps) if caps else "",
        "DOCS": _path(_docs()),
        "ENGINES": " ".join(unit_name(board.name) for board in in_units(settings)),
    }
    folder = templates_folder()
    names = (*UNITS, *(CAPS_UNITS if with_caps else ()))
    found = {name: _filled((folder / name).read_text("utf-8"), blanks) for name in names}
    hardware = {board.name: board.uuids for board in box.boards}
    apart: set[str] = set()
    for engine in in_units(settings):
        name = unit_name(engine.name)
        if name in found:
            raise BadRequest("the units of two boards would have one name")
        mine = engine_blanks(engine, box=box, with_caps=with_caps, sys_root=sys_root)
        found[name] = _filled((folder / TEMPLATE).read_text("utf-8"), {**blanks, **mine})
        apart |= hardware_of(engine, hardware)
    for board in box.boards:
        if board.name in apart:
            continue
        name = f"secondchair-worker.service.d/board-{_board_name(board.name)}.conf"
        nodes = sorted(node for node in board.numa_nodes if node is not None)
        found[name] = _drop_in(board.name, board.uuids, nodes, with_caps, sys_root)
    return found


def write_units(units: Mapping[str, str], target: Path) -> list[Path]:
    """Writes what is new or differs, as files every user may read; gives what was written.

    Raises:
        BadRequest: The folder cannot be written.
    """
    written = []
    try:
        for name, text in units.items():
            path = target / name
            if path.exists() and path.read_text("utf-8") == text:
                continue
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            path.chmod(0o644)
            written.append(path)
        drop_ins = target / "secondchair-worker.service.d"
        for path in sorted(drop_ins.glob("board-*.conf")):  # a board that is gone
            if f"{drop_ins.name}/{path.name}" not in units:
                path.unlink()
                written.append(path)
        for path in sorted(target.glob("secondchair-engine-*.service")):
            if path.name not in units:
                path.unlink()
                written.append(path)
    except OSError as error:
        raise BadRequest(f"the units cannot be written ({error.strerror})") from error
    return written


def _filled(template: str, blanks: Mapping[str, str]) -> str:
    text = _BLANK.sub(lambda found: blanks[found[1]], template)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def _drop_in(
    name: str, uuids: tuple[str, ...], nodes: list[int], with_caps: bool, sys_root: Path
) -> str:
    lines = [f"# Board {name}; its engine is pinned to these cards by the settings:"]
    lines += [f"#   {uuid}" for uuid in uuids]
    if with_caps:
        lines += [
            "[Unit]",
            "# No work before power and clock limits are set and read back.",
            "Requires=secondchair-caps.service",
            "After=secondchair-caps.service",
        ]
    if bound := bound_to(nodes, sys_root):
        lines += [
            "[Service]",
            "# The processors and the memory next to its cards; other boards add theirs.",
            *(line for line in bound if not line.startswith("NUMA")),
        ]
    return "\n".join(lines) + "\n"


def _devices(box: Box) -> str:
    if not box.gpus:
        return "PrivateDevices=yes"
    return "DeviceAllow=char-nvidia* rw"


def _refuse_network_engines(settings: Settings) -> None:
    for board in settings.boards:
        if board.engine == "remote" and not board.endpoint.startswith(("/", "unix:")):
            raise BadRequest(
                f"board {board.name} is reached over the network, which the worker's unit has not",
                next_step="give its endpoint as the path of a unix socket",
            )


def _board_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadRequest("a board's name holds characters that a unit's name cannot")
    return name


def _path(path: Path) -> str:
    text = str(path)
    if not _PATH.fullmatch(text):
        raise BadRequest(
            "a path of the settings holds a space or a sign that a unit would misread",
            next_step="use absolute paths of letters, digits, dots and dashes",
        )
    return text


def _in_home(path: Path) -> bool:
    return any(path.is_relative_to(home) for home in _HIDDEN_HOMES)


def _docs() -> Path:
    here = Path(__file__).parents[2]
    page = here / "docs" / "operations.md"
    return page if page.is_file() else Path("/usr/share/doc/secondchair/operations.md")
