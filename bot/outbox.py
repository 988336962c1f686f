"""What has been shown where: channel, job, event number and message id, so nothing arrives twice.

No words: a channel's and a message's id, a job's id and a number. One SQLite file, or memory for a
face that keeps nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from protocol.errors import Damaged, Unavailable
from protocol.ids import JobId

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS shown (
    channel TEXT NOT NULL,
    job TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    message TEXT NOT NULL DEFAULT '',
    ended INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel, job)
) STRICT
"""


class Outbox:
    """The cursor of every job in every channel.

    `shown` is durable when it returns: the file is written through. A cursor never goes back, so a
    second identical call, or one for an older event, changes nothing and says so.

    Raises:
        Unavailable: The file is locked or the disk is full; trying again may help.
        Damaged: The file is no outbox.
    """

    def __init__(self, file: Path | None) -> None:
        """Opens the file, made with mode 0600 where it is missing; None keeps it in memory."""
        with _translated():
            if file is not None:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                file.touch(mode=0o600)
            self._db = sqlite3.connect(":memory:" if file is None else file, isolation_level=None)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(_SCHEMA)

    def after(self, channel: str, job: JobId) -> int:
        """The number of the last event that was shown; 0 when none was."""
        with _translated():
            row = self._db.execute(
                "SELECT seq FROM shown WHERE channel = ? AND job = ?", (channel, job)
            ).fetchone()
        return int(row[0]) if row else 0

    def shown(
        self, channel: str, job: JobId, seq: int, *, message: str = "", last: bool = False
    ) -> bool:
        """Records that event ``seq`` of a job was shown; False when it had been already.

        Args:
            channel: Where it was shown.
            job: The job that said it.
            seq: The event's number, from 1.
            message: The id of the message that now shows it; empty keeps the one before.
            last: Whether the job says nothing more.
        """
        with _translated():
            cursor = self._db.execute(
                "INSERT INTO shown (channel, job, seq, message, ended) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (channel, job) DO UPDATE SET seq = excluded.seq, "
                "message = CASE excluded.message WHEN '' THEN message ELSE excluded.message END, "
                "ended = excluded.ended WHERE excluded.seq > shown.seq",
                (channel, job, seq, message, int(last)),
            )
        return cursor.rowcount > 0

    def expect(self, channel: str, job: JobId) -> None:
        """Records that a job's events are to be shown here, before the first one came."""
        with _translated():
            self._db.execute(
                "INSERT INTO shown (channel, job, seq) VALUES (?, ?, 0) ON CONFLICT DO NOTHING",
                (channel, job),
            )

    def message(self, channel: str, job: JobId) -> str:
        """The id of the message that shows a job; empty when there is none."""
        with _translated():
            row = self._db.execute(
                "SELECT message FROM shown WHERE channel = ? AND job = ?", (channel, job)
            ).fetchone()
        return str(row[0]) if row else ""

    def unfinished(self, channel: str) -> list[JobId]:
        """The jobs of a channel whose last event was not shown, in the order of their ids."""
        with _translated():
            rows = self._db.execute(
                "SELECT job FROM shown WHERE channel = ? AND NOT ended ORDER BY job", (channel,)
            ).fetchall()
        return [JobId(row[0]) for row in rows]

    def close(self) -> None:
        """Closes the file; a second call does nothing."""
        self._db.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise Unavailable("the outbox of this program cannot be written") from error
    except sqlite3.DatabaseError as error:
        raise Damaged("the outbox of this program is damaged") from error
