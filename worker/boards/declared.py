"""The boards file: what the operator says the box has, so that what is missing can be named.

::

    [[board]]
    name = "A"
    gpus = ["GPU-...", "GPU-..."]
    link_width = 8
    power_limit_w = 180
    sm_clock_cap_mhz = 1522

    [[supply]]
    name = "left"
    rating_w = 1600
    gpus = ["GPU-...", "GPU-..."]
    other_w = 400
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from protocol.errors import BadRequest
from worker.boards import Box, known


class DeclaredBoard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One board as it should be."""

    name: str
    gpus: tuple[str, ...]
    """UUIDs."""
    link_width: int | None = None
    """PCIe lanes every card of it should have."""
    power_limit_w: int | None = None
    sm_clock_cap_mhz: int | None = None
    """The graphics clock that a start-up unit locks; the driver cannot be asked for it."""


class Supply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One power supply and what hangs on it."""

    name: str
    rating_w: int
    gpus: tuple[str, ...]
    other_w: int = 0
    """Processor, fans and disks on the same supply."""


class Declared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The boards file."""

    board: tuple[DeclaredBoard, ...] = ()
    supply: tuple[Supply, ...] = ()
    driver_branch: int = 580
    """The branch this box should run; the last one for Volta."""
    memory_mt_s: int | None = None
    """Speed the host's memory should run at, in million transfers a second."""

    def of(self, uuid: str) -> DeclaredBoard | None:
        """The board a card is declared on."""
        return next((board for board in self.board if uuid in board.gpus), None)


def load_declared(path: Path) -> Declared:
    """The boards file; an empty one where there is none.

    Raises:
        BadRequest: It is not TOML, or a key is unknown or wrong; a card is on two boards, or two
            boards have one name. Values are not repeated.
    """
    try:
        declared = msgspec.toml.decode(path.read_bytes(), type=Declared)
    except FileNotFoundError:
        return Declared()
    except OSError as error:
        raise BadRequest(f"the boards file cannot be read ({error.strerror})") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        said = str(error) if isinstance(error, msgspec.ValidationError) else "it is not TOML"
        raise BadRequest(f"the boards file: {said}") from None
    cards = [uuid for board in declared.board for uuid in board.gpus]
    if len(set(cards)) != len(cards):
        raise BadRequest("the boards file: a card stands on two boards")
    names = [board.name for board in declared.board]
    if len(set(names)) != len(names):
        raise BadRequest("the boards file: two boards have the same name")
    return declared


def as_declared(box: Box) -> Declared:
    """What is seen now, as a boards file to start from; the operator corrects it."""
    boards = []
    for board in box.boards:
        widths = {known(gpu.link_width_most) for gpu in board.gpus} - {None}
        limits = {known(gpu.power_limit_mw) for gpu in board.gpus} - {None}
        boards.append(
            DeclaredBoard(
                name=board.name,
                gpus=board.uuids,
                link_width=max((width for width in widths if width is not None), default=None),
                power_limit_w=next(
                    (limit // 1000 for limit in limits if limit is not None and len(limits) == 1),
                    None,
                ),
            )
        )
    return Declared(board=tuple(boards))


def as_toml(declared: Declared) -> str:
    """The file's text, without what is not set."""
    plain = msgspec.to_builtins(declared)
    for table in ("board", "supply"):
        plain[table] = [
            {key: value for key, value in row.items() if value is not None} for row in plain[table]
        ]
    kept = {key: value for key, value in plain.items() if value not in (None, [], ())}
    return msgspec.toml.encode(kept).decode("utf-8")
