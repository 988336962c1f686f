"""Which board a job goes to, who words its reply, and why.

A readable table of kinds; the choice explains itself. Never anything outside the box.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.jobs import WorkRequest
from worker.config import Settings
from worker.engine import EngineSettings

_ENGINE_KINDS: Final = frozenset({"ask", "summarize"})
"""Kinds that may ask a model; the others are code alone and run on the first board's queue."""

CODE_KINDS: Final = (
    frozenset(str(kind.__struct_config__.tag) for kind in typing.get_args(WorkRequest))
    - _ENGINE_KINDS
)
"""Kinds that are computed from the record: any board's queue may run them."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A board and the reason for it."""

    name: str
    why: str


class Router:
    """Chooses a board for each kind of job."""

    def __init__(self, settings: Settings) -> None:
        self._boards: Sequence[EngineSettings] = settings.board_settings()

    def board_for(self, kind: str) -> Choice:
        """The board on which a kind of job runs."""
        board = self._boards[0].name
        if kind not in _ENGINE_KINDS:
            return Choice(name=board, why=f"{kind} is computed from the record; no model is asked")
        if len(self._boards) == 1:
            return Choice(name=board, why="the only board")
        return Choice(name=board, why="the first board configured")


def is_extractive(settings: Settings, billion_parameters: float | None) -> bool:
    """Whether a model of this size only orders the record's words.

    Args:
        settings: ``composition`` and, under auto, ``extractive_below_billion``.
        billion_parameters: Of the model; None when unknown, which counts as small: a model that
            nobody can size up must not word a reply.
    """
    if settings.composition != "auto":
        return settings.composition == "extractive"
    return billion_parameters is None or billion_parameters < settings.extractive_below_billion
