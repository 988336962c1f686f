"""One line of a matter's sealed journal as it is shown: who did what, when, on what; no words."""

from __future__ import annotations

import datetime as dt

import msgspec

from protocol.ids import JobId, UserName


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, or the place of a line that is none."""

    n: int
    """The line in the journal, from 1."""
    holds: bool
    """Whether the chain holds from the first entry up to and with this one."""
    at: dt.datetime | None = None
    """None, and all that follows empty, for a line that cannot be read as an entry."""
    what: str = ""
    """A code: ``job.accepted``, ``review.approved``, ``export.written``, ``file.put``."""
    by: UserName | None = None
    through: UserName | None = None
    """The bot that acted for ``by``; None when he acted himself."""
    job: JobId | None = None
    details: dict[str, str] = {}
    """Ids, hashes, codes and counts by name."""
