"""Which folders of the office a matter follows: what is put there is read without being asked for.

The list is one small file in the matter's own folder, so that it ends with the matter. Whoever
ordered it is answerable for what comes in; his rights are looked at again whenever something does.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Damaged, NotFound
from protocol.ids import UserName
from rag.disk import write_durably
from worker.audit import Journal

_FILE: Final = "followed.json"


class Followed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One folder, who ordered it and when."""

    folder: str
    by: UserName
    since: dt.datetime

    @property
    def under(self) -> str:
        """What stands before the names of its files."""
        return Path(self.folder).name


def followed_by(matter: Path) -> tuple[Followed, ...]:
    """The folders that the matter in this folder follows.

    Raises:
        Damaged: The list cannot be read.
    """
    try:
        content = (matter / _FILE).read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Damaged("the list of followed folders cannot be read") from error
    try:
        return msgspec.json.decode(content, type=tuple[Followed, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Damaged("the list of followed folders cannot be read") from error


def folders_of(matter: Path) -> Mapping[str, Path]:
    """The same as an ingest wants them; none where the list cannot be read."""
    try:
        return {one.under: Path(one.folder) for one in followed_by(matter)}
    except Damaged:
        return {}


def follow(matter: Path, journal: Journal, folder: Path, *, by: UserName, now: dt.datetime) -> None:
    """Adds a folder to the list; once more changes nothing. Sealed before it is in force.

    Raises:
        NotFound: There is no such folder.
        BadRequest: It cannot be told from another one, or holds the box's own files.
    """
    whole = folder.resolve()
    if not whole.is_dir():
        raise NotFound("there is no such folder")
    state = matter.resolve().parent.parent
    if whole.is_relative_to(state) or state.is_relative_to(whole):
        raise BadRequest(
            "the box keeps its own files there", next_step="follow a folder outside the box's state"
        )
    held = followed_by(matter)
    if any(Path(one.folder) == whole for one in held):
        return
    if not whole.name or any(one.under == whole.name for one in held):
        raise BadRequest(
            "the matter follows a folder of that name already" if whole.name else "name a folder",
            next_step="the files of two folders of one name could not be told apart: rename one",
        )
    journal.seal("folder.followed", by=by, now=now, details={"folders": str(len(held) + 1)})
    _write(matter, (*held, Followed(folder=str(whole), by=by, since=now)))


def unfollow(
    matter: Path, journal: Journal, folder: Path | None, *, by: UserName, now: dt.datetime
) -> int:
    """Takes a folder, or all, off the list; how many. What came from it stays in the record.

    Raises:
        NotFound: The matter does not follow it.
    """
    held = followed_by(matter)
    whole = None if folder is None else folder.resolve()
    left = tuple(one for one in held if whole is not None and Path(one.folder) != whole)
    if len(left) == len(held):
        raise NotFound("the matter does not follow that folder")
    _write(matter, left)
    journal.seal("folder.left", by=by, now=now, details={"folders": str(len(left))})
    return len(held) - len(left)


def _write(matter: Path, held: tuple[Followed, ...]) -> None:
    if held:
        write_durably(matter / _FILE, msgspec.json.format(msgspec.json.encode(held), indent=1))
    else:
        (matter / _FILE).unlink(missing_ok=True)
