"""Rows of the queue in PostgreSQL, for several boxes at once.

Two kinds of act need two kinds of lock. An act that looks at a line and changes it (add, claim,
stop, park, end, recover, ...) holds one advisory lock of the database to its commit, so that such
acts follow one another on all boxes just as they do in one SQLite file. An act of one running job
alone (say, step, beat), which happens some thirty times a second while a model writes, locks only
that job's row. No act ever holds two locks of the second kind without the first, so none can wait
for another in a ring. Whoever reads for a write locks what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg  # noqa: TID251
from psycopg import sql  # noqa: TID251
from psycopg.rows import DictRow, dict_row  # noqa: TID251

from protocol.errors import Damaged, Unavailable
from protocol.ids import JobId, MatterId
from worker.jobs.rows import JobRow
from worker.jobs.sql_store import Hook, SqlStore, load_statements

VERSION: Final = 1
OF_ONE_JOB: Final = frozenset({"say", "step", "beat"})
"""The acts that touch one running job and nothing else."""

_SETTINGS: Final = (
    # A worker that froze inside a transaction must not hold up the other boxes for ever.
    "-c idle_in_transaction_session_timeout=5000 -c lock_timeout=10000 "
    "-c statement_timeout=15000 -c synchronous_commit=on -c client_min_messages=error"
)


class PostgresStore(SqlStore):
    """Keeps `worker.jobs.rows.Store` over one connection. To be used from one thread.

    Args:
        conninfo: As libpq takes it; may hold a secret and is in no error.
        schema: The schema the tables stand in.
        hook: See `Hook`.
    """

    def __init__(self, conninfo: str, schema: str, hook: Hook) -> None:
        self._conninfo = conninfo
        self._schema = schema
        self._hook = hook
        self._sql = statements()
        self._writing = False
        self._looking = False
        self._now_ms: int | None = None
        self.topics: set[str] = set()
        """Whom to wake with the commit; the acts fill it."""
        self._db = connect(conninfo, schema)
        try:
            self._make_tables()
        except BaseException:
            self._db.close()
            raise

    # --- one act ---

    @contextmanager
    def transaction(self, name: str) -> Iterator[None]:
        self._end_look()
        self._db.execute("BEGIN")
        self._writing = True
        try:
            if name not in OF_ONE_JOB:
                self._run("one_at_a_time", schema=self._schema)
            yield
            self._hook(f"{name}:before")
            if self.topics:
                self._run("tell", channel=self._schema, topics=sorted(self.topics))
            self._db.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):  # a broken connection has rolled back by itself
                self._db.execute("ROLLBACK")
            raise
        finally:
            self._writing = False
        self._hook(f"{name}:after")

    def begin_act(self) -> None:
        """Connects again where the connection was lost since the act before."""
        self.topics.clear()
        self._now_ms = None
        if self._db.closed:
            self._looking = False
            self._db = connect(self._conninfo, self._schema)

    def end_act(self) -> None:
        """Lets go of what an act was looking at."""
        with suppress(psycopg.Error):
            self._end_look()

    def process(self) -> int:
        """The number under which the database knows this connection; 0 while there is none."""
        return 0 if self._db.closed else self._db.info.backend_pid

    def now_ms(self) -> int:
        """The server's time, the same throughout one act: boxes' own clocks may differ."""
        if self._now_ms is None:
            self._now_ms = int(self._one_row("clock")["now_ms"])
        return self._now_ms

    # --- the rows ---

    def jobs_of(self, matter: MatterId, most: int | None) -> list[JobRow]:
        return self._all(JobRow, "jobs_of", matter=matter, most=most)

    def delete_jobs(self, jobs: list[JobId]) -> None:
        for statement in ("delete_events", "delete_steps", "delete_jobs"):
            self._run(statement, ids=list(jobs))

    def tidy(self) -> None:
        """Nothing: the server reuses the room of deleted rows in its own time. What may lie there
        until then is ids and counts, as everything here."""

    def wake(self) -> None:
        """Makes every listener look up, so that one that is to end does so at once."""
        if not self._db.closed:
            with suppress(psycopg.Error):
                self._db.execute(self._sql["tell"], {"channel": self._schema, "topics": [""]})

    def close(self) -> None:
        self._db.close()

    # --- within ---

    def _run(self, statement: str, **values: Any) -> psycopg.Cursor[DictRow]:
        if self._writing and (locking := f"{statement} for update") in self._sql:
            statement = locking  # jobs that are read inside a write are locked to its end
        if not self._writing and not self._looking:
            self._db.execute(self._sql["look"])
            self._looking = True
        return self._db.execute(self._sql[statement], values)

    def _one_row(self, statement: str, **values: Any) -> DictRow:
        row = self._run(statement, **values).fetchone()
        assert row is not None
        return row

    def _end_look(self) -> None:
        if self._looking:
            self._looking = False
            self._db.execute("COMMIT")

    def _make_tables(self) -> None:
        """Makes the tables where there is no such schema yet.

        Raises:
            Damaged: There is one, and it is not a queue of this version.
        """
        with self.transaction("schema"):
            if self._run("present", schema=self._schema).fetchone() is None:
                self._db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self._schema)))
                self._db.execute(self._sql["schema"])
                return
        try:
            version = self._one_row("version")["number"]
        except psycopg.errors.UndefinedTable:
            version = None
        finally:
            self.end_act()
        if version != VERSION:
            raise Damaged("this schema of the database is not a job queue of this version")


def connect(conninfo: str, schema: str) -> psycopg.Connection[DictRow]:
    """A connection that sees this schema alone and commits only what it is told to."""
    db = psycopg.connect(
        conninfo,
        autocommit=True,
        row_factory=dict_row,
        connect_timeout=5,
        keepalives_idle=15,
        application_name="secondchair",
        options=_SETTINGS,
    )
    try:
        db.execute("SELECT set_config('search_path', %s, false)", [f'"{schema}"'])
    except BaseException:
        db.close()
        raise
    return db


def statements() -> dict[str, Any]:
    """The statements of ``shared.sql`` by name; those that read jobs also as they lock them."""
    named: dict[str, Any] = dict(load_statements("shared.sql"))
    for name, statement in list(named.items()):
        if statement.partition("\n")[2].startswith("SELECT * FROM job"):
            named[f"{name} for update"] = statement.rstrip(";") + " FOR UPDATE;"
    return named


@contextmanager
def translated() -> Iterator[None]:
    """Errors of PostgreSQL as ours; their texts, which may repeat values, are not passed on."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise Unavailable(
            "the shared job queue's database cannot be used right now",
            next_step="look at the PostgreSQL server and the way to it",
        ) from error
    except psycopg.Error as error:
        raise Damaged(
            "the shared job queue's database is damaged", next_step="run doctor"
        ) from error
