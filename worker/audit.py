"""The audit journal: one append-only file per matter, each entry sealed over the one before.

An entry holds who, what, when, ids and hashes of texts, never texts. Canonical form: the entry
without its seal as JSON with sorted keys, no spaces, UTF-8; the seal is ``sha256-1:`` and the
SHA-256, in hex, of the seal before (empty for the first entry), a newline, and that form. Changing,
removing or inserting an entry breaks every seal after it; cutting off the end shows only against a
head that was noted elsewhere, so `head` is printed in review reports and can be given to `verify`.
"""

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import Damaged
from protocol.ids import JobId, MatterId, UserName, matter_id

SEAL_TAG: Final = "sha256-1:"
"""Algorithm and version of the canonical form."""

BOX: Final = MatterId("box")
"""Stands for the matter in the journal of the box itself; no matter has this code."""

_WHAT: Final = re.compile(r"[a-z][a-z0-9_.]{0,39}")
_DETAIL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+-]{0,127}")
_LINE_BYTES: Final = 16 * 1024
"""Of an entry that is shown; ours have a few hundred."""
_BLOCK_BYTES: Final = 64 * 1024


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sealed line of the journal."""

    n: int
    """From 1, without gaps."""
    at: dt.datetime
    matter: MatterId
    what: str
    """A code: ``job.accepted``, ``review.approved``, ``export.written``, ``file.put``."""
    by: UserName
    through: UserName | None
    """The bot that acted for ``by``; None when he acted himself."""
    job: JobId | None
    details: dict[str, str]
    """Ids, hashes, codes and counts by name."""
    seal: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What verifying a journal found."""

    entries: int
    """How many stand unbroken from the start."""
    head: str
    """The seal of the last unbroken entry; empty when there is none."""
    broken_at: int | None
    """The line, from 1, at which the chain breaks; None when it holds."""
    reason: str


class Journal:
    """The journal of one matter; safe for several processes on one box."""

    def __init__(self, folder: Path, matter: MatterId) -> None:
        """Names the file; nothing is opened until the first entry.

        Raises:
            ValueError: ``matter`` is not a matter code.
        """
        self._path = path_of(folder, matter)
        self._matter = matter

    def seal(
        self,
        what: str,
        *,
        by: UserName,
        now: dt.datetime,
        through: UserName | None = None,
        job: JobId | None = None,
        details: Mapping[str, str] | None = None,
    ) -> Entry:
        """Appends one entry; it is on disk, synced, when this returns.

        A second identical call appends a second entry. A last line that was cut off by a crash was
        never acknowledged: it is removed, and an entry says so.

        Raises:
            Damaged: The end of the journal is not as it was sealed; nothing was appended.
            ValueError: A code or detail is not of the shape that keeps texts out.
        """
        details = dict(details or {})
        if not _WHAT.fullmatch(what):
            raise ValueError("an audit code is lower-case words and dots")
        if not _wordless(what, details):
            raise ValueError("an audit detail is an id, a hash, a code or a count")
        with self._locked() as handle:
            last, torn = _last_entry(handle)
            if torn:
                last = self._append(
                    handle, last, "journal.repaired", UserName("worker"), now, None, None,
                    {"torn_bytes": str(torn)},
                )  # fmt: skip
            return self._append(handle, last, what, by, now, through, job, details)

    def head(self) -> str:
        """The seal of the last entry; empty when there is none."""
        return verify(self._path).head

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _open_for_adding(self._path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)

    def _append(
        self,
        handle: int,
        last: Entry | None,
        what: str,
        by: UserName,
        now: dt.datetime,
        through: UserName | None,
        job: JobId | None,
        details: dict[str, str],
    ) -> Entry:
        bare = Entry(
            n=1 if last is None else last.n + 1,
            at=now,
            matter=self._matter,
            what=what,
            by=by,
            through=through,
            job=job,
            details=details,
        )
        entry = msgspec.structs.replace(
            bare, seal=seal_over("" if last is None else last.seal, bare)
        )
        _write_all(handle, msgspec.json.encode(entry) + b"\n")
        os.fsync(handle)
        return entry


def _open_for_adding(path: Path) -> int:
    """The journal, made when it is not there: for our user alone, or for its folder's group.

    A journal that is there is opened without the wish to make it: in a folder where only owners may
    remove files, the kernel refuses that wish for a file of somebody else (fs.protected_regular).
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    for _ in range(2):
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):  # another process made it meanwhile
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            if path.parent.stat().st_mode & 0o020:
                os.fchmod(handle, 0o660)
            return handle
    return os.open(path, flags)


def path_of(folder: Path, matter: MatterId) -> Path:
    """Where a matter's journal lies in the audit folder; `BOX` has one, too.

    Raises:
        ValueError: ``matter`` is not a matter code.
    """
    return folder / f"{matter if matter == BOX else matter_id(matter)}.jsonl"


def seal_over(before: str, entry: Entry) -> str:
    """The seal of an entry that follows the one sealed ``before``."""
    bare = msgspec.structs.replace(entry, seal="")
    fields = {k: v for k, v in msgspec.to_builtins(bare).items() if k != "seal"}
    form = msgspec.json.encode(fields, order="sorted")
    return SEAL_TAG + hashlib.sha256(before.encode() + b"\n" + form).hexdigest()


def read(path: Path) -> Iterator[Entry]:
    """The entries of a journal, unverified; none when there is no file.

    Raises:
        Damaged: A line is no entry.
    """
    for line in _lines(path):
        yield _parse(line)


def bytes_now(path: Path) -> int:
    """How long a journal is at a moment when nobody is adding to it; 0 when there is no file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        return os.fstat(handle).st_size
    finally:
        os.close(handle)


def last(path: Path, most: int, within: int) -> tuple[int, list[tuple[int, Entry | None]]]:
    """How many lines a journal has, and its last ones with their numbers from 1, unverified.

    Args:
        path: The journal; an absent file is an empty journal.
        most: How many lines are wanted.
        within: Bytes of the journal to be read, from `bytes_now`.

    Returns:
        The number of lines; the last ones, oldest first, None for a line that is no entry or holds
        what `Journal.seal` would not have written: words that somebody put there are not shown.
    """
    number, kept = 0, collections.deque[tuple[int, bytes]](maxlen=most)
    for number, line in enumerate(_lines(path, within), start=1):
        kept.append((number, line))
    found: list[tuple[int, Entry | None]] = []
    for at, line in kept:
        try:
            entry = _parse(line) if len(line) <= _LINE_BYTES else None
        except Damaged:
            entry = None
        fits = entry is not None and _wordless(entry.what, entry.details)
        found.append((at, entry if fits else None))
    return number, found


def verify(path: Path, *, head: str | None = None, within: int | None = None) -> Report:
    """Follows the chain from the start.

    Args:
        path: The journal; an absent file is an empty journal.
        head: A seal noted earlier that must stand somewhere in the chain.
        within: Bytes of the journal to be read, from `bytes_now`; None reads to its end.
    """
    before, count, met = "", 0, head in (None, "")
    for number, line in enumerate(_lines(path, within), start=1):
        reason = ""
        try:
            entry = _parse(line)
        except Damaged as error:
            return Report(entries=count, head=before, broken_at=number, reason=error.message)
        if entry.n != number:
            reason = "an entry is missing, doubled or out of order"
        elif f"{entry.matter}.jsonl" != path.name:
            reason = "an entry belongs to another matter"
        elif entry.seal != seal_over(before, entry):
            reason = "an entry does not match its seal"
        if reason:
            return Report(entries=count, head=before, broken_at=number, reason=reason)
        before, count = entry.seal, number
        met = met or before == head
    if not met:
        reason = "the journal no longer holds the head that was noted"
        return Report(entries=count, head=before, broken_at=count + 1, reason=reason)
    return Report(entries=count, head=before, broken_at=None, reason="")


def _wordless(what: str, details: Mapping[str, str]) -> bool:
    """Whether code and details are of the shape that keeps texts out."""
    fit = (_WHAT.fullmatch(k) and _DETAIL.fullmatch(v) for k, v in details.items())
    return bool(_WHAT.fullmatch(what)) and all(fit)


def _lines(path: Path, within: int | None = None) -> Iterator[bytes]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            if within is not None:
                line, within = line[:within], max(0, within - len(line))
            if not line:
                return
            yield line


def _parse(line: bytes) -> Entry:
    if not line.endswith(b"\n"):
        raise Damaged("the last line was cut off")
    try:
        entry = msgspec.json.decode(line, type=Entry)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Damaged("a line of the audit journal is no entry") from None
    if msgspec.json.encode(entry) + b"\n" != line:  # doubled keys, other spellings of one value
        raise Damaged("a line of the audit journal is not as it was written")
    return entry


def _last_entry(handle: int) -> tuple[Entry | None, int]:
    """The last whole entry and how many torn bytes after it were removed."""
    size = os.fstat(handle).st_size
    tail, start = b"", size
    while start > 0 and tail.rstrip(b"\n").count(b"\n") < 3:
        start = max(0, start - _BLOCK_BYTES)
        tail = os.pread(handle, size - start, start)
    torn = len(tail) - (tail.rfind(b"\n") + 1)
    if torn:
        os.ftruncate(handle, size - torn)
        tail = tail[: len(tail) - torn]
    if not tail:
        return None, torn
    lines = tail.rstrip(b"\n").split(b"\n")
    last = _parse(lines[-1] + b"\n")
    before = _parse(lines[-2] + b"\n").seal if len(lines) > 1 else ""
    if last.seal != seal_over(before, last):
        raise Damaged("the end of the audit journal does not match its seal")
    return last, torn


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
