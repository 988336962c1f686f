"""Which board a job goes to, who words its reply, and why.

A readable table of kinds; the choice explains itself. Never anything outside the box.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from protocol.errors import BadRequest
from protocol.jobs import WorkRequest
from worker.config import Settings
from worker.engine import EngineSettings

Role = Literal["draft", "summarize", "review"]
"""What a model is asked for: to write a reply, to word a summary, to read a reply once more."""

CODE_KINDS: Final = frozenset(
    str(kind.__struct_config__.tag) for kind in typing.get_args(WorkRequest)
) - {"ask", "summarize"}
"""Kinds that are computed from the record: any board's queue may run them."""


ROLE_OF: Final[dict[str, Role]] = {"ask": "draft", "summarize": "summarize"}
"""Which role a kind of job is done in; the kinds that are missing here ask no model."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A board and the reason for it."""

    name: str
    why: str


class Router:
    """Chooses a board for each kind of job and each role.

    Raises:
        BadRequest: The settings give a role to a board that they do not have.
    """

    def __init__(self, settings: Settings) -> None:
        self._boards: Sequence[EngineSettings] = settings.board_settings()
        self._roles: dict[Role, str] = dict(settings.roles)
        names = {board.name for board in self._boards}
        if wrong := [role for role, board in self._roles.items() if board not in names]:
            raise BadRequest(f"settings: the role {wrong[0]} is given to a board that is not there")

    def board_for(self, kind: str) -> Choice:
        """The board on which a kind of job runs."""
        if kind not in ROLE_OF:
            board = self._boards[0].name
            return Choice(name=board, why=f"{kind} is computed from the record; no model is asked")
        return self.board_of(ROLE_OF[kind])

    def board_of(self, role: Role) -> Choice:
        """The board that fills a role."""
        if role in self._roles:
            return Choice(name=self._roles[role], why=f"the settings give {role} to this board")
        if len(self._boards) == 1:
            return Choice(name=self._boards[0].name, why="the only board")
        if role == "review":
            writer = self.board_of("draft").name
            other = next(board.name for board in self._boards if board.name != writer)
            return Choice(name=other, why=f"another board than {writer}, which wrote")
        return Choice(name=self._boards[0].name, why="the first board configured")

    def reader_for(self, writer: str) -> Choice:
        """The board that reads a reply once more which this board has written."""
        choice = self.board_of("review")
        if choice.name != writer or len(self._boards) == 1 or "review" in self._roles:
            return choice
        other = next(board.name for board in self._boards if board.name != writer)
        return Choice(name=other, why=f"another board than {writer}, which wrote")


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
