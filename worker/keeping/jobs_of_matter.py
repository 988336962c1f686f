"""A matter's ended jobs, taken out of one queue and put into another: ids, counts and states.

Without them the replies that lie in the matter's work file could not be asked for on the other box.
Jobs that had not ended stay behind: who asked asks again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from protocol.errors import Conflict, Damaged, Unavailable
from worker.jobs.durable import statements
from worker.keeping.copies import copy_sqlite

_ENDED: Final = "state IN ('done', 'failed', 'stopped')"
_OF_THE_DISK: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_CANTOPEN")
"""Errors that say nothing against the file."""
_TABLES: Final = ("event", "step")


def take_jobs(queue: Path, matter: str, target: Path) -> int:
    """Writes a matter's ended jobs with their events into a queue file of their own.

    Gives how many there are. Nothing of other matters is in the file, not even deleted.
    """
    copy_sqlite(queue, target)
    with _opened(target) as db:
        db.execute("PRAGMA secure_delete = ON")
        ours = f"SELECT id FROM job WHERE matter = ? AND {_ENDED}"  # noqa: S608 - a constant
        for table in _TABLES:
            db.execute(f"DELETE FROM {table} WHERE job NOT IN ({ours})", (matter,))  # noqa: S608
        db.execute(f"DELETE FROM job WHERE id NOT IN ({ours})", (matter,))  # noqa: S608
        for table in ("board", "last_turn"):
            db.execute(f"DELETE FROM {table}")  # noqa: S608
        db.commit()
        db.execute("VACUUM")
        return int(db.execute("SELECT count(*) FROM job").fetchone()[0])


def put_jobs(source: Path, matter: str, queue: Path) -> int:
    """Adds the jobs to a queue that no worker has open; ids that are there already are left.

    Raises:
        Conflict: The two queues are of different versions.
        Damaged: The file holds jobs of another matter.
    """
    with _opened(queue) as db:
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _make_like(db, source)
        db.execute("ATTACH DATABASE ? AS taken", (str(source),))
        versions = {
            db.execute(f"PRAGMA {name}.user_version").fetchone()[0] for name in ("main", "taken")
        }
        if len(versions) != 1:
            raise Conflict("the two boxes keep their jobs in different versions")
        if db.execute("SELECT 1 FROM taken.job WHERE matter <> ?", (matter,)).fetchone():
            raise Damaged("the archive holds jobs of another matter")
        new = "SELECT id FROM taken.job WHERE id NOT IN (SELECT id FROM main.job)"
        names = [row[0] for row in db.execute(new)]
        columns = ", ".join(
            row[1] for row in db.execute("PRAGMA main.table_info(job)") if row[1] != "number"
        )
        for name in names:
            db.execute(
                f"INSERT OR IGNORE INTO main.job ({columns})"  # noqa: S608 - our own columns
                f" SELECT {columns} FROM taken.job WHERE id = ?",
                (name,),
            )
            for table in _TABLES:
                db.execute(
                    f"INSERT OR IGNORE INTO main.{table}"  # noqa: S608 - a constant
                    f" SELECT * FROM taken.{table} WHERE job = ?",
                    (name,),
                )
        db.commit()
        db.execute("DETACH DATABASE taken")
        return len(names)


def _make_like(db: sqlite3.Connection, source: Path) -> None:
    """An empty queue file on a box whose worker never ran, made at once or not at all."""
    with _opened(source) as other:
        marks = [
            (name, other.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("application_id", "user_version")
        ]
    pragmas = "".join(f"PRAGMA {name} = {int(value)};" for name, value in marks)
    db.executescript(f"BEGIN IMMEDIATE; {statements()['schema']}{pragmas} COMMIT;")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(path, timeout=30.0)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        yield db
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname.startswith(_OF_THE_DISK):
            raise Unavailable(
                "the line of jobs cannot be written right now", next_step="make room and try again"
            ) from error
        raise Damaged("a job queue's file is damaged") from error
    finally:
        db.close()
