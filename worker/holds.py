"""Legal holds: while one is on a matter, nothing of it is deleted.

A hold is one small file in the matter's own folder, so that every program of the box sees it, and
two entries in the audit journal. What deletes asks `refuse_if_held` first: closing the matter,
forgetting a conversation, sweeping its jobs. The gateway deletes nothing at all. Where a matter
comes from a backup or from another box, `renewed` sees to it that its hold came too.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Conflict
from protocol.ids import MatterId, UserName
from worker import audit
from worker.audit import Journal

_FILE: Final = "hold.json"
_MOST_CHARS: Final = 1_000


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a matter, since when and why."""

    by: UserName
    at: dt.datetime
    reason: str


def hold_on(folder: Path) -> Hold | None:
    """The hold on the matter in this folder; a hold that cannot be read is a hold all the same."""
    try:
        content = (folder / _FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError:
        content = b""
    try:
        return msgspec.json.decode(content, type=Hold)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        at = dt.datetime.fromtimestamp(0, dt.UTC)
        return Hold(by=UserName("unknown"), at=at, reason="the hold's file cannot be read")


def refuse_if_held(folder: Path) -> None:
    """Refuses what would delete something of this matter.

    Raises:
        Conflict: The matter is on hold.
    """
    if (hold := hold_on(folder)) is not None:
        raise Conflict(
            f"the matter is on legal hold since {hold.at:%Y-%m-%d}, set by {hold.by}",
            next_step="nothing of it is deleted until a reviewer lifts the hold",
        )


def put_on(
    folder: Path,
    journal: Journal,
    reason: str,
    *,
    by: UserName,
    now: dt.datetime,
    through: UserName | None = None,
) -> Hold:
    """Sets a hold; on one that stands already, nothing changes. Sealed before it is in force.

    Raises:
        BadRequest: There is no reason, or a very long one.
    """
    if not reason.strip() or len(reason) > _MOST_CHARS:
        raise BadRequest(f"a hold wants a reason of 1 to {_MOST_CHARS:,} characters")
    if (standing := hold_on(folder)) is not None:
        return standing
    hold = Hold(by=by, at=now, reason=" ".join(reason.split()))
    journal.seal("hold.set", by=by, through=through, now=now)
    _write(folder, hold)
    return hold


def renewed(folder: Path, journal: Path) -> Hold | None:
    """The hold on a matter that was unpacked: the one it has, else the one its journal still tells.

    Args:
        folder: The matter's folder.
        journal: Its journal's file, already found whole.
    """
    if (standing := hold_on(folder)) is not None or not journal.exists():
        return standing
    told = [entry for entry in audit.read(journal) if entry.what in ("hold.set", "hold.lifted")]
    if not told or told[-1].what == "hold.lifted":
        return None
    hold = Hold(by=told[-1].by, at=told[-1].at, reason="the journal tells of this hold")
    _write(folder, hold)
    return hold


def _write(folder: Path, hold: Hold) -> None:
    part = folder / f".{_FILE}.part"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(hold))
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / _FILE)
    _sync(folder)


def lift_from(
    folder: Path,
    journal: Journal,
    *,
    by: UserName,
    now: dt.datetime,
    through: UserName | None = None,
) -> None:
    """Lifts a hold; where there is none, nothing happens."""
    if hold_on(folder) is None:
        return
    journal.seal("hold.lifted", by=by, through=through, now=now)
    (folder / _FILE).unlink(missing_ok=True)
    _sync(folder)


def held_matters(folder: Path) -> frozenset[MatterId]:
    """The matters on hold under the folder of all matters."""
    return frozenset(MatterId(one.parent.name) for one in _files(folder))


def _files(folder: Path) -> Iterable[Path]:
    return folder.glob(f"*/{_FILE}")


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
