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
from pathlib import Path
from typing import Any, Final, TypeVar

from protocol.errors import Damaged, Unavailable
from protocol.ids import JobId, MatterId, new_job_id
from worker.jobs import Clock, MakeId
from worker.jobs.acts import Acts
from worker.jobs.keeper import Keeper
from worker.jobs.rows import JobRow
from worker.jobs.sql_store import Hook, SqlStore, load_statements

T = TypeVar("T")

_APPLICATION_ID: Final = 0x53434A51  # "SCJQ": tells our file from any other SQLite file
_VERSION: Final = 1
_BUSY_MS: Final = 2000
"""How long a write waits for a reader that is in the way (a backup), in ms."""


class SqliteStore(SqlStore):
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

    def jobs_of(self, matter: MatterId, most: int | None) -> list[JobRow]:
        return self._all(JobRow, "jobs_of", matter=matter, most=-1 if most is None else most)

    def delete_jobs(self, jobs: list[JobId]) -> None:
        for statement in ("delete_events", "delete_steps", "delete_job"):
            self._db.executemany(self._sql[statement], [{"id": job} for job in jobs])

    def tidy(self) -> None:
        """Moves the log into the file and cuts it to nothing; deleted bytes are zeroed there."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._db.close()

    def _run(self, statement: str, **values: Any) -> sqlite3.Cursor:
        return self._db.execute(self._sql[statement], values)


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
    return load_statements("queries.sql")


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
