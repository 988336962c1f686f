"""The queue in one SQLite file; it survives kill -9 and loss of power.

Write-ahead log, full sync, immediate transactions: what an act did is on the disk when it returns,
with one sync. One process writes, held by a lock file; others may read. Every statement stands in
``queries.sql``. Acts run one after another in a single thread, so a slow disk never holds up the
loop.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from protocol.errors import Damaged, Unavailable
from protocol.ids import JobId, MatterId, new_job_id
from worker.jobs import Clock, MakeId
from worker.jobs.acts import Acts
from worker.jobs.keeper import Keeper
from worker.jobs.rows import BoardRow, EventRow, JobRow

T = TypeVar("T")
Hook = Callable[[str], None]
"""Called with ``act:before`` and ``act:after`` around every commit; tests end the process there."""

_APPLICATION_ID: Final = 0x53434A51  # "SCJQ": tells our file from any other SQLite file
_VERSION: Final = 1
_BUSY_MS: Final = 2000
"""How long a write waits for a reader that is in the way (a backup), in ms."""


class SqliteStore:
    """Rows in one SQLite file. To be used from one thread."""

    def __init__(self, connection: sqlite3.Connection, hook: Hook) -> None:
        self._db = connection
        self._sql = statements()
        self._hook = hook

    @contextmanager
    def transaction(self, name: str) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._hook(f"{name}:before")
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._hook(f"{name}:after")

    def job(self, job: JobId) -> JobRow | None:
        return self._one(JobRow, "job", id=job)

    def job_of_key(self, key_sha256: str) -> JobRow | None:
        return self._one(JobRow, "job_of_key", key_sha256=key_sha256)

    def jobs_of(self, matter: MatterId, most: int | None) -> list[JobRow]:
        return self._all(JobRow, "jobs_of", matter=matter, most=-1 if most is None else most)

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

    def delete_jobs(self, jobs: list[JobId]) -> None:
        for statement in ("delete_events", "delete_steps", "delete_job"):
            self._db.executemany(self._sql[statement], [{"id": job} for job in jobs])

    def events(self, job: JobId, after: int) -> list[EventRow]:
        rows = self._run("events", job=job, after=after)
        return [EventRow(seq=row["seq"], at_ms=row["at_ms"], body=row["body"]) for row in rows]

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

    def tidy(self) -> None:
        """Moves the log into the file and cuts it to nothing; deleted bytes are zeroed there."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._db.close()

    def _run(self, statement: str, **values: Any) -> sqlite3.Cursor:
        return self._db.execute(self._sql[statement], values)

    def _one(self, kind: type[T], statement: str, **values: Any) -> T | None:
        row = self._run(statement, **values).fetchone()
        return None if row is None else msgspec.convert(dict(row), kind, strict=False)

    def _all(self, kind: type[T], statement: str, **values: Any) -> list[T]:
        rows = self._run(statement, **values).fetchall()
        return [msgspec.convert(dict(row), kind, strict=False) for row in rows]


class DurableQueue(Keeper):
    """The queue a real worker uses. Made by `worker.jobs.open_queue`."""

    def __init__(self, acts: Acts, store: SqliteStore, thread: ThreadPoolExecutor, lock: int):
        super().__init__()
        self._acts = acts
        self._store = store
        self._thread = thread
        self._lock: int | None = lock

    @classmethod
    def open(
        cls,
        path: Path,
        clock: Clock,
        *,
        make_id: MakeId = new_job_id,
        hook: Hook = lambda name: None,
    ) -> DurableQueue:
        """Opens the file, or makes it readable for its owner alone.

        Raises:
            Unavailable: Another process has it open for writing, or the disk refuses.
            Damaged: The file is not a job queue, or not one of this version.
        """
        lock = _lock(path)
        thread = ThreadPoolExecutor(1, "jobs")
        try:
            with _translated():
                store = thread.submit(lambda: SqliteStore(_connect(path), hook)).result()
        except BaseException:
            thread.shutdown()
            os.close(lock)
            raise
        return cls(Acts(store, clock, make_id), store, thread, lock)

    async def close(self) -> None:
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._store.close)
        self._thread.shutdown()
        os.close(lock)

    async def _do(self, act: Callable[[Acts], T]) -> T:
        if self._lock is None:
            raise ValueError("the queue is closed")
        loop = asyncio.get_running_loop()

        def run() -> T:
            self._acts.rung.clear()
            with _translated():
                result = act(self._acts)
            if self._acts.rung:
                loop.call_soon_threadsafe(self._bells.ring, frozenset(self._acts.rung))
            return result

        # A caller that is cancelled takes back an act that has not begun; one that has is finished.
        return await loop.run_in_executor(self._thread, run)


def statements() -> dict[str, str]:
    """The statements of ``queries.sql`` by name."""
    text = resources.files("worker.jobs").joinpath("queries.sql").read_text("utf-8")
    parts = text.split("-- name: ")[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}


def _lock(path: Path) -> int:
    """A file handle that holds the right to write until it is closed, also by death."""
    with _translated():
        handle = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise Unavailable(
            "another worker is using this job queue",
            next_step="stop the other worker, or give this one a state folder of its own",
        ) from error
    return handle


def _connect(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # side files take over the mode
    db = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        mine = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not empty and (mine, version) != (_APPLICATION_ID, _VERSION):
            raise Damaged("this file is not a job queue of this version")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA foreign_keys = ON")
        if empty:
            db.executescript(
                f"BEGIN IMMEDIATE; {statements()['schema']}"
                f"PRAGMA application_id = {_APPLICATION_ID};"
                f"PRAGMA user_version = {_VERSION}; COMMIT;"
            )
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of SQLite and of the file system as ours; their texts are not passed on."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise Unavailable(
            "the job queue's file cannot be used right now",
            next_step="look at free space and rights of the state folder",
        ) from error
    except sqlite3.Error as error:
        raise Damaged("the job queue's file is damaged", next_step="run doctor") from error
