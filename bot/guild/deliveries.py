"""What is bound and what was delivered, so that a restart neither loses nor doubles a message.

One SQLite file of ids, numbers and dates. A part of a reply is written down before it is sent and
again when Discord has named its message; what lies between is looked for in the channel before it
is sent again. No words of a case are kept.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import Conflict, Damaged, Unavailable
from protocol.ids import JobId, MatterId

PROGRESS: Final = 0
"""The part that is edited while a job is at work; the reply's own parts count from 1."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS bound (
    channel TEXT PRIMARY KEY,
    matter TEXT NOT NULL,
    role TEXT NOT NULL,
    consent_by TEXT NOT NULL,
    consent_on TEXT NOT NULL,
    banner INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS deliveries (
    job TEXT NOT NULL,
    channel TEXT NOT NULL,
    matter TEXT NOT NULL,
    account TEXT NOT NULL,
    request TEXT NOT NULL DEFAULT '',
    ended INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, channel)
) STRICT;
CREATE TABLE IF NOT EXISTS parts (
    job TEXT NOT NULL,
    channel TEXT NOT NULL,
    part INTEGER NOT NULL,
    message TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job, channel, part)
) STRICT;
CREATE TABLE IF NOT EXISTS intakes (
    key TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    account TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A channel and its matter."""

    channel: str
    matter: MatterId
    role: str = ""
    """The Discord role that is asked for besides; empty asks for none."""
    consent_by: str = ""
    """Who gave the consent to full text; empty where there is none."""
    consent_on: str = ""
    """When, as a date."""
    banner: bool = False
    """Whether the channel was told."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A job whose states and reply go to a channel."""

    job: JobId
    channel: str
    matter: MatterId
    account: str
    """Who asked."""
    request: str = ""
    """A request without words, as JSON, to be made again; empty where it had words."""


class Intake(msgspec.Struct, frozen=True, kw_only=True):
    """A request under way to the box."""

    key: str
    channel: str
    account: str


class Deliveries:
    """The file; every change is durable when the call returns.

    Raises:
        Unavailable: The file is locked or the disk is full.
        Damaged: The file is no such file.
    """

    def __init__(self, file: Path | None) -> None:
        """Opens the file, made with mode 0600 where it is missing; None keeps it in memory."""
        with _translated():
            if file is not None:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                file.touch(mode=0o600)
            self._db = sqlite3.connect(":memory:" if file is None else file, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)

    # --- channels ---

    def bind(self, bound: Bound) -> None:
        """Binds a channel to a matter.

        Raises:
            Conflict: The channel is bound to another matter: its history is that matter's.
        """
        before = self.bound(bound.channel)
        if before is not None and before.matter != bound.matter:
            raise Conflict(
                "that channel is bound to another matter already",
                next_step="make a new channel for this matter",
            )
        self._run(
            "INSERT INTO bound (channel, matter, role, consent_by, consent_on) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT (channel) DO UPDATE SET role = excluded.role, "
            "consent_by = excluded.consent_by, consent_on = excluded.consent_on, banner = 0",
            bound.channel, bound.matter, bound.role, bound.consent_by, bound.consent_on,
        )  # fmt: skip

    def unbind(self, channel: str) -> bool:
        """Forgets a binding; False when there was none."""
        return self._run("DELETE FROM bound WHERE channel = ?", channel).rowcount > 0

    def bound(self, channel: str) -> Bound | None:
        """The binding of a channel."""
        rows = self._run(
            "SELECT channel, matter, role, consent_by, consent_on, banner FROM bound "
            "WHERE channel = ?",
            channel,
        ).fetchall()
        return _bound(rows[0]) if rows else None

    def all_bound(self) -> list[Bound]:
        """Every binding."""
        rows = self._run(
            "SELECT channel, matter, role, consent_by, consent_on, banner FROM bound "
            "ORDER BY channel"
        ).fetchall()
        return [_bound(row) for row in rows]

    def told(self, channel: str) -> None:
        """The channel has its banner."""
        self._run("UPDATE bound SET banner = 1 WHERE channel = ?", channel)

    # --- requests and jobs ---

    def begin(self, intake: Intake) -> None:
        """A request is about to be sent to the box."""
        self._run(
            "INSERT INTO intakes VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            intake.key, intake.channel, intake.account,
        )  # fmt: skip

    def taken(self, key: str, delivery: Delivery | None) -> bool:
        """The box has answered a request: with a job to deliver, or with a refusal.

        Returns:
            Whether the delivery is new.
        """
        with _translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                new = delivery is not None and self._expect(delivery)
                self._db.execute("DELETE FROM intakes WHERE key = ?", (key,))
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        return new

    def interrupted(self) -> list[Intake]:
        """Requests of which nobody knows whether the box took them."""
        rows = self._run("SELECT key, channel, account FROM intakes ORDER BY key").fetchall()
        return [Intake(key=row[0], channel=row[1], account=row[2]) for row in rows]

    def expect(self, delivery: Delivery) -> bool:
        """A job of which this channel is to hear; False when it is known already."""
        with _translated():
            return self._expect(delivery)

    def delivery(self, job: JobId, channel: str) -> Delivery | None:
        """A job as this channel hears of it."""
        rows = self._run(
            "SELECT job, channel, matter, account, request FROM deliveries "
            "WHERE job = ? AND channel = ?",
            job, channel,
        ).fetchall()  # fmt: skip
        return _delivery(rows[0]) if rows else None

    def open_ones(self) -> list[Delivery]:
        """The deliveries that have not ended, oldest first."""
        rows = self._run(
            "SELECT job, channel, matter, account, request FROM deliveries WHERE NOT ended "
            "ORDER BY job"
        ).fetchall()
        return [_delivery(row) for row in rows]

    def end(self, job: JobId, channel: str) -> None:
        """All of it was delivered, or it cannot be."""
        self._run("UPDATE deliveries SET ended = 1 WHERE job = ? AND channel = ?", job, channel)

    # --- the parts of a reply ---

    def start_part(self, job: JobId, channel: str, part: int) -> tuple[bool, str]:
        """A part is about to be sent.

        Returns:
            Whether this is the first try, and the message's id where it was sent already.
        """
        first = self._run(
            "INSERT INTO parts (job, channel, part) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            job, channel, part,
        ).rowcount > 0  # fmt: skip
        return first, self.message(job, channel, part)

    def sent_part(self, job: JobId, channel: str, part: int, message: str) -> None:
        """Discord has the part."""
        self._run(
            "UPDATE parts SET message = ? WHERE job = ? AND channel = ? AND part = ?",
            message, job, channel, part,
        )  # fmt: skip

    def message(self, job: JobId, channel: str, part: int) -> str:
        """The message of a part; empty when there is none."""
        row = self._run(
            "SELECT message FROM parts WHERE job = ? AND channel = ? AND part = ?",
            job, channel, part,
        ).fetchone()  # fmt: skip
        return str(row[0]) if row else ""

    # --- single facts ---

    def fact(self, name: str) -> str:
        """What was remembered under a name; empty when nothing was."""
        row = self._run("SELECT value FROM facts WHERE name = ?", name).fetchone()
        return str(row[0]) if row else ""

    def remember(self, name: str, value: str) -> None:
        """Remembers one value under a name."""
        self._run(
            "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = ?",
            name, value, value,
        )  # fmt: skip

    def facts(self, kind: str) -> list[tuple[str, str]]:
        """Everything remembered under names that begin with a word, by name."""
        rows = self._run(
            "SELECT name, value FROM facts WHERE substr(name, 1, ?) = ? ORDER BY name",
            len(kind) + 1,
            f"{kind} ",
        ).fetchall()
        return [(row[0], row[1]) for row in rows]

    def forget(self, name: str) -> None:
        """Forgets what was remembered under a name."""
        self._run("DELETE FROM facts WHERE name = ?", name)

    def close(self) -> None:
        """Closes the file; a second call does nothing."""
        self._db.close()

    def _expect(self, delivery: Delivery) -> bool:
        cursor = self._db.execute(
            "INSERT INTO deliveries (job, channel, matter, account, request) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                delivery.job,
                delivery.channel,
                delivery.matter,
                delivery.account,
                delivery.request,
            ),
        )
        return cursor.rowcount > 0

    def _run(self, statement: str, *values: str | int) -> sqlite3.Cursor:
        with _translated():
            return self._db.execute(statement, values)


def nonce(job: JobId, channel: str, part: int) -> str:
    """What lets Discord see that two sends are one; 24 characters, Discord takes 25."""
    return "n" + hashlib.sha256(f"{job} {channel} {part}".encode()).hexdigest()[:23]


def _bound(row: tuple[str, str, str, str, str, int]) -> Bound:
    return Bound(
        channel=row[0],
        matter=MatterId(row[1]),
        role=row[2],
        consent_by=row[3],
        consent_on=row[4],
        banner=bool(row[5]),
    )


def _delivery(row: tuple[str, str, str, str, str]) -> Delivery:
    return Delivery(
        job=JobId(row[0]), channel=row[1], matter=MatterId(row[2]), account=row[3], request=row[4]
    )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise Unavailable("what this bot has delivered cannot be written down") from error
    except sqlite3.DatabaseError as error:
        raise Damaged("what this bot has delivered is damaged") from error
