"""The end of one matter's journal with what following all of it found: nothing of other matters."""

from __future__ import annotations

from pathlib import Path

from protocol.audit import AuditEntry
from protocol.errors import Damaged
from protocol.ids import MatterId
from protocol.jobs import AuditIs
from worker import anchors, audit


def trail(folder: Path, matter: MatterId, most: int) -> AuditIs:
    """The last ``most`` entries of a matter's journal; nothing is written.

    The chain is followed from the first entry, and the kept anchors are held against it, each time:
    a line that was changed shows where it stands and everything after it.

    Args:
        folder: The folder of the sealed journals.
        matter: Whose journal.
        most: Entries wanted, 1 or more.

    Raises:
        ValueError: ``matter`` is not a matter code.
    """
    path = audit.path_of(folder, matter)
    within = audit.bytes_now(path)
    report = audit.verify(path, within=within)
    total, found = audit.last(path, most, within)
    try:
        anchor = anchors.newest(folder)
        troubles = anchors.troubles(folder, only=matter)
    except Damaged as error:
        anchor, troubles = None, (error.message,)
    return AuditIs(
        entries=tuple(_shown(n, entry, holds=n <= report.entries) for n, entry in found),
        total=total,
        head=report.head,
        broken_at=report.broken_at,
        reason=report.reason,
        anchor=anchor.line if anchor is not None else "",
        anchored=anchor.heads.get(matter, (0, ""))[0] if anchor is not None else 0,
        troubles=troubles,
    )


def _shown(n: int, entry: audit.Entry | None, *, holds: bool) -> AuditEntry:
    if entry is None:
        return AuditEntry(n=n, holds=False)
    return AuditEntry(
        n=n,
        holds=holds,
        at=entry.at,
        what=entry.what,
        by=entry.by,
        through=entry.through,
        job=entry.job,
        details=entry.details,
    )
