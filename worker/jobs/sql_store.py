"""What the two keepers with a database share: rows in and out by named statements.

`durable` and `shared_store` differ in how a transaction begins and ends, in what a lock is and in
how many rows are deleted at once; their statements have the same names and take the same values,
so everything else stands here once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any, Protocol, TypeVar

import msgspec

from protocol.ids import JobId, MatterId
from worker.jobs.rows import BoardRow, EventRow, JobRow

T = TypeVar("T")
Hook = Callable[[str], None]
"""Called with ``act:before`` and ``act:after`` around every commit; tests end the process there."""


class Cursor(Protocol):
    """The little that both drivers' cursors have in common; a row is read by column name."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class SqlStore(ABC):
    """`worker.jobs.rows.Store`, but for transactions, `jobs_of`, deleting, tidying and closing."""

    @abstractmethod
    def _run(self, statement: str, **values: Any) -> Cursor:
        """Runs one statement by its name. Errors are the driver's; the keeper translates them."""

    def job(self, job: JobId) -> JobRow | None:
        return self._one(JobRow, "job", id=job)

    def job_of_key(self, key_sha256: str) -> JobRow | None:
        return self._one(JobRow, "job_of_key", key_sha256=key_sha256)

    def waiting(self, board: str) -> list[JobRow]:
        return self._all(JobRow, "waiting", board=board)

    def running(self, board: str | None) -> list[JobRow]:
        if board is None:
            return self._all(JobRow, "running")
        return self._all(JobRow, "running_on", board=board)

    def ended(self, before_ms: int) -> list[JobId]:
        return [JobId(row["id"]) for row in self._run("ended", before_ms=before_ms)]

    def put_job(self, row: JobRow) -> None:
        self._run("put_job", **msgspec.to_builtins(row))

    def events(self, job: JobId, after: int) -> list[EventRow]:
        return [
            EventRow(seq=row["seq"], at_ms=row["at_ms"], body=bytes(row["body"]))
            for row in self._run("events", job=job, after=after)
        ]

    def add_event(self, job: JobId, row: EventRow) -> None:
        self._run("add_event", job=job, seq=row.seq, at_ms=row.at_ms, body=row.body)

    def step(self, job: JobId, name: str) -> bytes | None:
        row = self._run("step", job=job, name=name).fetchone()
        return None if row is None else bytes(row["value"])

    def put_step(self, job: JobId, name: str, value: bytes) -> None:
        self._run("put_step", job=job, name=name, value=value)

    def board(self, name: str) -> BoardRow | None:
        return self._one(BoardRow, "board", name=name)

    def boards(self) -> list[BoardRow]:
        return self._all(BoardRow, "boards")

    def put_board(self, row: BoardRow) -> None:
        self._run("put_board", **msgspec.to_builtins(row))

    def last_turns(self, board: str) -> dict[MatterId, int]:
        rows = self._run("last_turns", board=board)
        return {MatterId(row["matter"]): row["tick"] for row in rows}

    def put_turn(self, board: str, matter: MatterId, tick: int) -> None:
        self._run("put_turn", board=board, matter=matter, tick=tick)

    def forget_turns(self, matter: MatterId) -> None:
        self._run("forget_turns", matter=matter)

    def _one(self, kind: type[T], statement: str, **values: Any) -> T | None:
        row = self._run(statement, **values).fetchone()
        return None if row is None else _convert(row, kind)

    def _all(self, kind: type[T], statement: str, **values: Any) -> list[T]:
        return [_convert(row, kind) for row in self._run(statement, **values).fetchall()]


def load_statements(file: str) -> dict[str, str]:
    """The statements of a file of this folder by name.

    Args:
        file: Such as ``queries.sql``; a line ``-- name: waiting`` begins each statement.
    """
    text = resources.files("worker.jobs").joinpath(file).read_text("utf-8")
    parts = text.split("-- name: ")[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}


def _convert(row: Any, kind: type[T]) -> T:
    return msgspec.convert(dict(row), kind, strict=False)  # SQLite keeps a truth value as 0 or 1
