"""Anchors: one line a day over all journals, to be printed or kept elsewhere.

A journal's chain shows every change but one: that its end was cut off, or that the whole of it was
sealed anew. A line that left the box shows that, too. Each anchor is the SHA-256 over the anchor
before it and the length and head of every journal; the list of lengths and heads is kept beside the
journals, so a line of years ago can be checked offline against what lies there today.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Damaged
from protocol.ids import MatterId
from worker import audit

_FILE: Final = "anchors.txt"
_LINE: Final = re.compile(
    r"secondchair-anchor (?P<day>\d{4}-\d\d-\d\d) (?P<seal>sha256-1:[0-9a-f]{64})"
)


class Anchor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How all journals stood on one day."""

    day: str
    """Of the year, in UTC: ``2026-11-30``."""
    heads: dict[str, tuple[int, str]]
    """Matter to its number of entries and the seal of the last."""
    seal: str = ""

    @property
    def line(self) -> str:
        """What is printed."""
        return f"secondchair-anchor {self.day} {self.seal}"


def anchored(folder: Path, now: dt.datetime) -> Anchor:
    """The day's anchor, made when the day has none yet; on disk, synced, when this returns.

    Args:
        folder: The folder of the sealed journals.
        now: The time, aware.

    Raises:
        Damaged: The anchors kept are not as they were made.
    """
    day = now.astimezone(dt.UTC).date().isoformat()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(folder / _FILE, flags, 0o600)
    with os.fdopen(handle, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _mend(file.fileno())
        kept = list(_read(folder))
        if kept and kept[-1].day >= day:
            return kept[-1]
        heads = {}
        for path in sorted(folder.glob("*.jsonl")):
            report = audit.verify(path)
            if report.entries:
                heads[path.stem] = (report.entries, report.head)
        bare = Anchor(day=day, heads=heads)
        made = msgspec.structs.replace(bare, seal=_seal(kept[-1].seal if kept else "", bare))
        file.seek(0, os.SEEK_END)
        file.write(msgspec.json.encode(made) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return made


def newest(folder: Path) -> Anchor | None:
    """The last anchor that is kept; None when there is none.

    Raises:
        Damaged: The anchors kept are not as they were made.
    """
    kept = list(_read(folder))
    return kept[-1] if kept else None


def troubles(
    folder: Path, line: str | None = None, *, only: MatterId | None = None
) -> tuple[str, ...]:
    """What does not fit between the anchors and the journals as they lie there now.

    Args:
        folder: The folder of the sealed journals.
        line: An anchor's line that was kept elsewhere; None checks the kept anchors alone.
        only: The one matter that is looked at; None means all.

    Raises:
        BadRequest: The line is no anchor's line.
    """
    wanted = None
    if line is not None:
        wanted = _LINE.fullmatch(line.strip())
        if wanted is None:
            raise BadRequest("this is no anchor line", next_step="secondchair-worker audit anchor")
    try:
        kept = list(_read(folder))
    except Damaged as error:
        return (error.message,)
    found = []
    if wanted is not None and not any(
        one.day == wanted["day"] and one.seal == wanted["seal"] for one in kept
    ):
        found.append(f"no anchor of {wanted['day']} with this seal is kept: anchors were changed")
    wanted_heads: dict[str, dict[int, str]] = {}
    for one in kept:  # every day's: a journal sealed anew is anchored anew the next day
        for matter, (entries, seal) in one.heads.items():
            if only not in (None, matter):
                continue
            wanted_heads.setdefault(matter, {})[entries] = seal
    for matter, heads in sorted(wanted_heads.items()):
        found += _missing(folder / f"{matter}.jsonl", matter, heads)
    return tuple(found)


def _missing(path: Path, matter: str, heads: dict[int, str]) -> Iterator[str]:
    if not path.exists():
        yield f"{matter}: its journal is gone; {max(heads)} entries were anchored"
        return
    whole = audit.verify(path).entries
    if whole < max(heads):
        yield f"{matter}: {whole} whole entries where {max(heads)} were anchored"
        return
    for entry in audit.read(path):
        if entry.n > max(heads):
            return
        if heads.get(entry.n, entry.seal) != entry.seal:
            yield f"{matter}: entry {entry.n} is another one than was anchored"
            return


def _seal(before: str, anchor: Anchor) -> str:
    bare = {"day": anchor.day, "heads": anchor.heads}
    form = msgspec.json.encode(bare, order="sorted")
    return audit.SEAL_TAG + hashlib.sha256(before.encode() + b"\n" + form).hexdigest()


def _read(folder: Path) -> Iterator[Anchor]:
    """The anchors kept, each checked against the one before.

    Raises:
        Damaged: One is not as it was made.
    """
    try:
        lines = (folder / _FILE).read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    before = ""
    for number, line in enumerate(lines, start=1):
        try:
            one = msgspec.json.decode(line, type=Anchor)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise Damaged(f"anchor {number} is no anchor") from None
        if one.seal != _seal(before, one) or msgspec.json.encode(one) + b"\n" != line:
            raise Damaged(f"anchor {number} is not as it was made")
        before = one.seal
        yield one


def _mend(handle: int) -> None:
    """Cuts off a last line that a crash left unfinished: nobody was told of it."""
    size = os.fstat(handle).st_size
    content = os.pread(handle, size, 0)
    whole = content.rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(handle, whole)
