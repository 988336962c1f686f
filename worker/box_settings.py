"""The settings of a box among others: what may leave it, and the boxes that work for it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from protocol.errors import BadRequest
from protocol.ids import matter_id
from worker.engine import EngineSettings
from worker.jobs import wordless


class BoxSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[box]``: this box among the firm's."""

    name: str
    """This box's name among the firm's boxes: a short code in lower case."""
    lends: str = ""
    """The board that works for other boxes, with its model_sha256 set; empty lends none."""
    leaving: tuple[str, ...] = ()
    """Matters whose prompts may go to another box, by code. What is not listed never leaves."""
    staying: tuple[str, ...] = ()
    """Matters that never leave their box, of whichever box: neither sent nor taken, whatever
    leaving says."""
    queue_file: Path | None = None
    """A file that holds one line: how libpq reaches the PostgreSQL database with the line of all
    boxes. Boards are then called by box, as one.a. The box's own line when not set."""


class OtherBoxSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[other_box]]``: a box that may word replies for this one."""

    name: str
    """The other box's name, as its own settings have it."""
    host: str
    """Where its gateway listens."""
    port: int = 8022
    """The port of its gateway."""
    key: Path
    """Our private key; its public half is known there in role box. The gateway reads it."""
    known_hosts: Path
    """A file with its gateway's host key, pinned."""
    board: str = ""
    """The board of ours whose model it runs too, with its model_sha256 set; empty for the first."""
    calls: int = 1
    """Jobs of ours that it may work on at the same time."""
    socket: Path | None = None
    """Where our gateway offers the way to it. When not set, the run folder; for a gateway with a
    user of its own, the folder beside it that ends in -boxes, which is the gateway's."""


def check_boxes(
    box: BoxSettings | None,
    others: tuple[OtherBoxSettings, ...],
    boards: tuple[EngineSettings, ...],
) -> None:
    """Nothing when the parts fit together.

    Raises:
        BadRequest: A name or a matter's code is none, or a board lacks what it needs.
    """
    if box is None:
        if others:
            raise BadRequest("settings: an other_box needs the part [box] with this box's name")
        return
    try:
        for name in (box.name, *(other.name for other in others)):
            wordless.check_code(name, "box")
        for matter in (*box.leaving, *box.staying):
            matter_id(matter)
    except ValueError as error:
        raise BadRequest(f"settings: a part of box is {error}") from None
    names = [box.name, *(other.name for other in others)]
    if len(set(names)) < len(names):
        raise BadRequest("settings: two boxes have one name")
    if box.queue_file and not all(one.name.startswith(f"{box.name}.") for one in boards):
        raise BadRequest(
            "settings: boards on a shared queue are called by their box",
            next_step=f"call each board {box.name}.NAME",
        )
    used = [*([box.lends] if box.lends else []), *(board_of(other, boards) for other in others)]
    known = {board.name: board for board in boards}
    for name in used:
        if name not in known:
            raise BadRequest("settings: box or other_box names a board that is not there")
        if not known[name].model_sha256:
            raise BadRequest(
                f"settings: board {name} is shared between boxes and has no model_sha256",
                next_step="two boxes answer alike only where the hashes of their weights are equal",
            )
    if any(other.calls < 1 for other in others):
        raise BadRequest("settings: an other_box takes at least one of the calls")


def board_of(other: OtherBoxSettings, boards: tuple[EngineSettings, ...]) -> str:
    """The board of ours that another box stands in for."""
    return other.board or boards[0].name


def way_socket(other: OtherBoxSettings, run: Path, *, apart: bool) -> Path:
    """Where the gateway offers the way to another box, and the worker finds it.

    Args:
        other: The other box.
        run: The worker's run folder.
        apart: Whether the gateway has a user of its own, who may not write there.
    """
    if other.socket is not None:
        return other.socket
    return (run.with_name(f"{run.name}-boxes") if apart else run) / f"box-{other.name}.sock"
