"""Which board a job goes to, who words its reply, and why.

A readable table of kinds, then the line: where several boards have the role's model, a job goes to
the one with the shortest line. The choice explains itself. Never anything outside the box.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from protocol.errors import BadRequest
from protocol.jobs import WorkRequest
from worker.config import Settings
from worker.engine import EngineSettings
from worker.jobs import BoardInfo

KINDS: Final = tuple(
    sorted(str(kind.__struct_config__.tag) for kind in typing.get_args(WorkRequest))
)
"""Every kind of job."""

Role = Literal["draft", "summarize", "review"]
"""What a model is asked for: to write a reply, to word a summary, to read a reply once more."""

CODE_KINDS: Final = frozenset(KINDS) - {"ask", "summarize"}
"""Kinds that are computed from the record: any board's queue may run them."""


ROLE_OF: Final[dict[str, Role]] = {"ask": "draft", "summarize": "summarize"}
"""Which role a kind of job is done in; the kinds that are missing here ask no model. So there is no
model for extracting, and none at the gate: facts are computed, and a person approves."""


STAY_S: Final = 30.0
"""A matter stays with the board that answered it last, which still holds its record read, while
that board's line is at most so many seconds longer than the shortest: about what reading a record
of a hundred pages again costs."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A board and the reason for it."""

    name: str
    why: str
    code: str = "table"
    """The reason for the log: ``table`` of roles and settings, ``stays``, ``shortest``."""


class Line(NamedTuple):
    """One line of the router's table."""

    work: str
    role: str
    """As it is commonly called; ``none`` for what is computed and has no such name."""
    done_by: str
    boards: tuple[str, ...]
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

    def table(self) -> tuple[Line, ...]:
        """The whole table as people read it: every kind of work, and the two that are no job."""
        lines = [self._line(kind) for kind in KINDS]
        review = self.board_of("review")
        own = len(self._boards) == 1
        lines.append(
            Line(
                work="second reading",
                role="review",
                done_by="the writer's own model" if own else "another model",
                boards=(review.name,),
                why=f"{review.why}; it adds notes, and makes nothing green",
            )
        )
        person = "a model proposes; nothing leaves without a named reviewer's approval"
        return (
            *lines,
            Line(work="approval", role="gate", done_by="a person", boards=(), why=person),
        )

    def _line(self, kind: str) -> Line:
        role = ROLE_OF.get(kind)
        return Line(
            work=kind,
            role=role or ("extract" if kind in ("extract", "chronology") else "none"),
            done_by="code" if role is None else "a model",
            boards=self.able(kind),
            why=self.board_for(kind).why,
        )

    def able(self, kind: str) -> tuple[str, ...]:
        """The boards that may run a kind of job: the role's, and its twins with the same model.

        A role that the settings give to a board stays there, and no other role comes to it.
        """
        first = self.board_for(kind).name
        role = ROLE_OF.get(kind)
        if role is None or role in self._roles:
            return (first,)
        like = next(board for board in self._boards if board.name == first)
        kept = set(self._roles.values())
        twins = (
            board.name
            for board in self._boards
            if board.name not in kept and stands_in(board, like)
        )
        return (first, *twins)

    def place(
        self,
        kind: str,
        lines: Sequence[BoardInfo],
        last: str | None = None,
        more: Sequence[str] = (),
    ) -> Choice:
        """The board for a new job, by the lines as they are now.

        Args:
            kind: The job's.
            lines: Every board as the queue sees it.
            last: The board that answered the job's matter last.
            more: Boards on other boxes that may do it as well.
        """
        able = (*self.able(kind), *more)
        if len(able) == 1:
            return self.board_for(kind)
        return shortest(able, {line.name: line for line in lines}, last)

    def reader_for(self, writer: str) -> Choice:
        """The board that reads a reply once more which this board has written."""
        choice = self.board_of("review")
        if choice.name != writer or len(self._boards) == 1 or "review" in self._roles:
            return choice
        other = next(board.name for board in self._boards if board.name != writer)
        return Choice(name=other, why=f"another board than {writer}, which wrote")


def shortest(able: Sequence[str], lines: Mapping[str, BoardInfo], last: str | None) -> Choice:
    """The board whose line is shortest, unless the matter does better to stay; see `STAY_S`.

    Args:
        able: Boards that may do it, in the order of the settings; at least one.
        lines: Boards by name; one that is missing has no line yet.
        last: The board that answered the matter last.
    """
    held = [name for name in able if name in lines and lines[name].paused]
    free = [name for name in able if name not in held] or list(able)
    passed = f"; {', '.join(held)} held" if held and len(held) < len(able) else ""
    wait_s = {name: _wait_s(lines.get(name)) for name in free}
    best = min(free, key=lambda name: (wait_s[name], free.index(name)))
    if last in wait_s and wait_s[last] <= wait_s[best] + STAY_S:
        why = f"it answered this matter last; its line of {wait_s[last]:.0f} s is not much longer"
        return Choice(name=last, why=why + passed, code="stays")
    why = f"the shortest line: {wait_s[best]:.0f} s"
    return Choice(name=best, why=why + passed, code="shortest")


def _wait_s(line: BoardInfo | None) -> float:
    return 0.0 if line is None else line.weight_s / line.places


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


def stands_in(other: EngineSettings, engine: EngineSettings) -> bool:
    """Whether a job of one engine may run on another and be answered by the same model."""
    same = ("engine", "model", "model_sha256", "remote_model", "script")
    if engine.engine == "remote" and not (engine.model_sha256 or engine.remote_model):
        return False  # nobody said which model answers there
    return (
        other.name != engine.name
        and all(getattr(other, field) == getattr(engine, field) for field in same)
        and other.context_tokens >= engine.context_tokens
    )
