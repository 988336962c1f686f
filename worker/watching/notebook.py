"""The operator's notebook: what was said of the hardware, and what holds boards over a restart.

Two files of the state folder. ``operator.jsonl`` has one line for each thing said, oldest first; a
pause brings the card's last minute along. ``held.json`` says which boards are held and why. Both
hold names, numbers and our own sentences about cards; nothing of any matter.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from protocol.boards import BoardNotice
from worker.boards import Sample
from worker.boards.health import Change
from worker.boards.verdicts import Verdict

_MOST_BYTES: Final = 4 * 1024**2
"""Then the file becomes ``operator.jsonl.1`` and a new one is begun."""
_KEPT: Final = 200
"""Notices kept for whoever asks what was said lately."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    notice: BoardNotice
    series: tuple[Sample, ...] = ()


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Why boards take no work."""

    faults: dict[str, tuple[Verdict, ...]] = {}
    """Hardware boards, with what paused them."""
    operator: dict[str, str] = {}
    """Boards of the settings that an operator holds, with his name."""


class Notebook:
    """The two files of one state folder."""

    def __init__(self, state: Path) -> None:
        """Reads the last notices; a file that cannot be read is begun anew."""
        self._said = state / "operator.jsonl"
        self._held = state / "held.json"
        self._lately: deque[BoardNotice] = deque(_last_lines(self._said), maxlen=_KEPT)

    def lately(self) -> tuple[BoardNotice, ...]:
        """What was said last, newest first."""
        return tuple(reversed(self._lately))

    def say(self, change: Change, at: dt.datetime) -> None:
        """Adds a line.

        Raises:
            OSError: The disk refuses; it is kept in memory all the same.
        """
        notice = BoardNotice(
            at=at,
            kind=change.kind,
            board=change.board,
            severity=change.severity.value,
            rule=change.rule,
            reason=change.reason,
            next_step=change.next_step,
            uuid=change.uuid,
        )
        self._lately.append(notice)
        if self._said.exists() and self._said.stat().st_size > _MOST_BYTES:
            self._said.replace(self._said.with_name("operator.jsonl.1"))
        line = msgspec.json.encode(_Line(notice=notice, series=change.series)) + b"\n"
        with self._said.open("ab") as file:
            file.write(line)

    def held(self) -> Held:
        """What holds boards; nothing where the file is not there or cannot be read."""
        try:
            return msgspec.json.decode(self._held.read_bytes(), type=Held)
        except (OSError, msgspec.DecodeError):
            return Held()

    def hold(self, held: Held) -> None:
        """Replaces what holds boards, in one go.

        Raises:
            OSError: The disk refuses.
        """
        new = self._held.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(held))
        new.replace(self._held)


def _last_lines(path: Path) -> list[BoardNotice]:
    notices = []
    try:
        with path.open("rb") as file:
            lines = deque(file, maxlen=_KEPT)
    except OSError:
        return []
    for line in lines:
        try:
            notices.append(msgspec.json.decode(line, type=_Line).notice)
        except msgspec.DecodeError:  # the last line of a run that was cut off
            continue
    return notices
