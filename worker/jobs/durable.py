"""The queue in one SQLite file; it survives kill -9 and loss of power.

Write-ahead log, full sync, immediate transactions: what an act did is on the disk when it returns,
with one sync, shared by the acts that came while the sync before was running (`worker.jobs.crowd`).
One process writes, held by a lock file; others may read. Every statement stands in ``queries.sql``.
Acts run one after another in a single thread, so a slow disk never holds up the loop; what only
looks has a connection and a thread of its own and waits for no sync.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from protocol.errors import AppError, Damaged, Unavailable
from protocol.ids import JobId, MatterId, new_job_id
from worker.jobs import Clock, MakeId
from worker.jobs.acts import Acts
from worker.jobs.crowd import Crowd, Waiting
from worker.jobs.keeper import Keeper
from worker.jobs.rows import JobRow
from worker.jobs.sql_store import Hook, SqlStore, load_statements

T = TypeVar("T")
Threads = tuple[ThreadPoolExecutor, ThreadPoolExecutor]
"""One that writes, one that looks."""

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
        self._done: list[str] | None = None
        """Transactions that wait for the commit they share; None outside `together`."""
        self._lost = False
        """Whether SQLite took a shared transaction back by itself, as when the disk is full."""

    @contextmanager
    def together(self) -> Iterator[None]:
        """All transactions inside are committed at its end, with one sync, or none of them is.

        A transaction that fails is taken back alone.
        """
        done: list[str] = []
        self._done, self._lost = done, False
        try:
            yield
            if self._lost:
                raise sqlite3.OperationalError("the transaction was taken back")
            if done:
                self._db.execute("COMMIT")
        finally:
            self._done = None
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        for name in done:
            self._hook(f"{name}:after")

    @contextmanager
    def transaction(self, name: str) -> Iterator[None]:
        if self._done is not None:
            with self._part(self._done, name):
                yield
            return
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

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("ROLLBACK")

    @contextmanager
    def _part(self, done: list[str], name: str) -> Iterator[None]:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("SAVEPOINT part")
        try:
            yield
            self._hook(f"{name}:before")
            self._db.execute("RELEASE part")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK TO part")
                self._db.execute("RELEASE part")
            else:
                self._lost = self._lost or bool(done)
            raise
        done.append(name)

    def jobs_of(self, matter: MatterId, most: int | None) -> list[JobRow]:
        return self._all(JobRow, "jobs_of", matter=matter, most=-1 if most is None else most)

    def delete_jobs(self, jobs: list[JobId]) -> None:
        for statement in ("delete_events", "delete_steps", "delete_job"):
            self._db.executemany(self._sql[statement], [{"id": job} for job in jobs])

    def tidy(self) -> None:
        """Moves the log into the file and cuts it to nothing; deleted bytes are zeroed there.

        Raises:
            NotTogether: A commit is still to come.
        """
        if self._done is not None:
            raise NotTogether
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._db.close()

    def _run(self, statement: str, **values: Any) -> sqlite3.Cursor:
        return self._db.execute(self._sql[statement], values)


MakeActs = Callable[[SqliteStore], Acts]


class NotTogether(Exception):
    """This act must have a commit of its own."""


class DurableQueue(Keeper):
    """The queue a real worker uses. Made by `worker.jobs.open_queue`."""

    def __init__(
        self, lock: int, store: SqliteStore, window: SqliteStore, threads: Threads, make: MakeActs
    ):
        super().__init__()
        self._acts, self._looks = make(store), make(window)
        self._store, self._window = store, window
        self._thread, self._look_thread = threads
        self._lock: int | None = lock
        self._crowd = Crowd(self._thread, self._work)
        self._loop: asyncio.AbstractEventLoop

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
        _make(path)
        threads = ThreadPoolExecutor(1, "jobs"), ThreadPoolExecutor(1, "jobs-look")
        try:
            with _translated():
                store, window = (
                    thread.submit(lambda: SqliteStore(_connect(path), hook)).result()
                    for thread in threads
                )
        except BaseException:
            for thread in threads:
                thread.shutdown()
            os.close(lock)
            raise
        return cls(lock, store, window, threads, lambda of: Acts(of, clock, make_id))

    async def close(self) -> None:
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._look_thread, self._window.close)
        await loop.run_in_executor(self._thread, self._store.close)
        for thread in (self._look_thread, self._thread):
            thread.shutdown()
        os.close(lock)

    async def _do(self, act: Callable[[Acts], T]) -> T:
        if self._lock is None:
            raise ValueError("the queue is closed")
        self._loop = asyncio.get_running_loop()
        # A caller that is cancelled takes back an act that has not begun; one that has is finished.
        return await asyncio.wrap_future(self._crowd.put(act))

    async def _look(self, act: Callable[[Acts], T]) -> T:
        if self._lock is None:
            raise ValueError("the queue is closed")

        def run() -> T:
            with _translated(), self._window.snapshot():
                return act(self._looks)

        return await asyncio.get_running_loop().run_in_executor(self._look_thread, run)

    def _work(self, crowd: Sequence[Waiting[Acts]]) -> None:
        """Carries acts out in the queue's thread, with one commit for several.

        Where that fails as a whole, nothing of it is kept, and each has its own commit.
        """
        if len(crowd) > 1 and self._together(crowd):
            return
        for one in crowd:
            self._acts.rung.clear()
            self._carry_out(one)
            self._ring()

    def _together(self, crowd: Sequence[Waiting[Acts]]) -> bool:
        self._acts.rung.clear()
        try:
            with self._store.together():
                for one in crowd:
                    self._carry_out(one)
                    if isinstance(one.error, NotTogether):
                        raise one.error
        except (sqlite3.Error, NotTogether):
            return False
        self._ring()
        return True

    def _carry_out(self, one: Waiting[Acts]) -> None:
        before = set(self._acts.rung)
        one.carry_out(self._acts)
        if one.error is not None:
            self._acts.rung.intersection_update(before)
            one.error = _as_ours(one.error)

    def _ring(self) -> None:
        if self._acts.rung:
            self._loop.call_soon_threadsafe(self._bells.ring, frozenset(self._acts.rung))


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


def _make(path: Path) -> None:
    """Makes the file where there is none, readable for its owner alone; side files take that over.

    Only before the first connection: closing a handle of the file drops every lock that SQLite has
    on it in this process (POSIX), and the next program that looks at the queue would then delete
    the log under us (sqlite.org/howtocorrupt.html, 2.2).
    """
    with _translated(), suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _connect(path: Path) -> sqlite3.Connection:
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
    except (sqlite3.Error, OSError) as error:
        raise _as_ours(error) from error


def _as_ours(error: BaseException) -> BaseException:
    """The same error in our words where it is a foreign one."""
    ours: AppError
    if isinstance(error, sqlite3.OperationalError | OSError):
        ours = Unavailable(
            "the job queue's file cannot be used right now",
            next_step="look at free space and rights of the state folder",
        )
    elif isinstance(error, sqlite3.Error):
        ours = Damaged("the job queue's file is damaged", next_step="run doctor")
    else:
        return error
    ours.__cause__ = error
    return ours
