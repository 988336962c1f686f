"""The boards file: what the operator says the box has, so that what is missing can be named.

::

    [[board]]
    name = "A"
    gpus = ["GPU-...", "GPU-..."]
    link_width = 8
    power_limit_w = 180
    sm_clock_cap_mhz = 1522

    [board.thresholds]      # for every card of the board above; what is not said keeps its default
    slowdown_margin_c = 5

    [[card]]                # one card that differs from its board
    uuid = "GPU-..."
    link_width = 4

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
from worker.boards.thresholds import Thresholds


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
    thresholds: Thresholds | None = None
    """Where readings of its cards become verdicts; the defaults where it is not given."""


class DeclaredCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One card that differs from its board; what is not given is as the board says."""

    uuid: str
    link_width: int | None = None
    power_limit_w: int | None = None
    sm_clock_cap_mhz: int | None = None
    thresholds: Thresholds | None = None
    """In place of the board's, as a whole."""


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
    card: tuple[DeclaredCard, ...] = ()
    supply: tuple[Supply, ...] = ()
    driver_branch: int = 580
    """The branch this box should run; the last one for Volta."""
    memory_mt_s: int | None = None
    """Speed the host's memory should run at, in million transfers a second."""

    def of(self, uuid: str) -> DeclaredBoard | None:
        """The board a card is declared on, with what is said of that card alone."""
        board = next((board for board in self.board if uuid in board.gpus), None)
        card = next((card for card in self.card if card.uuid == uuid), None)
        if board is None or card is None:
            return board
        own = {
            field: value
            for field in DeclaredCard.__struct_fields__[1:]
            if (value := getattr(card, field)) is not None
        }
        return msgspec.structs.replace(board, **own)


def load_declared(path: Path) -> Declared:
    """The boards file; an empty one where there is none.

    Raises:
        BadRequest: It is not TOML, or a key is unknown or wrong; a card is on two boards or on
            none, or two boards have one name. Values are not repeated.
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
    own = [card.uuid for card in declared.card]
    if len(set(own)) != len(own) or not set(own) <= set(cards):
        raise BadRequest("the boards file: a [[card]] is given twice or stands on no board")
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
    for table in ("board", "card", "supply"):
        plain[table] = [
            {key: value for key, value in row.items() if value is not None} for row in plain[table]
        ]
    kept = {key: value for key, value in plain.items() if value not in (None, [], ())}
    return msgspec.toml.encode(kept).decode("utf-8")
