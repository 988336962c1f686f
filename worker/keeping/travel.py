"""One matter on its way to another box: its folder, its journal, its ended jobs, in one file.

The file is for its owner alone and holds everything of the matter in clear: carry it on an
encrypted disk. The journal comes with it, so its chain goes on at the other box; both boxes seal
that the matter left and came.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Conflict, Damaged, NotFound
from protocol.ids import MatterId, UserName, matter_id
from rag.disk import sync_folder
from rag.matters import matters_in
from worker import audit
from worker.audit import Journal
from worker.holds import renewed
from worker.keeping.copies import (
    add_bytes,
    add_file,
    add_journal,
    add_matter,
    extract,
    file_sha256,
    new_tar,
    sqlite_is_whole,
)
from worker.keeping.jobs_of_matter import put_jobs, take_jobs
from worker.keeping.restore import check_journal, check_originals, of_a_matter
from worker.keeping.version import CURRENT, refuse_newer, worker_stopped
from worker.sharing import share_matter

FORMAT: Final = 1
_LABEL: Final = "label.json"
_JOURNAL: Final = "journal.jsonl"
_JOBS: Final = "jobs.sqlite"
_CAME: Final = "matter.imported"
_OURS: Final = frozenset({_LABEL, _JOURNAL, _JOBS})


class Label(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an exported matter says of itself."""

    format: int
    program: str
    state_version: int
    matter: str
    made_at: dt.datetime
    head: str
    """The seal of the journal's last entry when it left."""


class Travelled(msgspec.Struct, frozen=True, kw_only=True):
    """A matter that left or came."""

    matter: MatterId
    title: str
    sha256: str
    """Of the file: tell it to who receives it, by another way."""
    size_bytes: int
    jobs: int


def export_matter(state: Path, matter: MatterId, target: Path, *, now: dt.datetime) -> Travelled:
    """Writes a matter into a file; the worker may run, and the matter stays where it is.

    Raises:
        NotFound: There is no such matter.
        Conflict: There is a file of that name.
        Damaged: Its journal or a database is broken.
        Unavailable: The disk is full.
    """
    version = refuse_newer(state).version
    folder = state / "matters" / matter_id(matter)
    if not (folder / "matter.json").is_file():
        raise NotFound("no such matter")
    if target.exists():
        raise Conflict("there is a file of that name already")
    journal = Journal(state / "audit", matter)
    entry = journal.seal("matter.exported", by=UserName("operator"), now=now)
    path = audit.path_of(state / "audit", matter)
    if audit.verify(path).broken_at is not None:
        raise Damaged("the matter's journal is broken", next_step="secondchair-worker audit verify")
    label = Label(
        format=FORMAT,
        program=metadata.version("secondchair"),
        state_version=version,
        matter=matter,
        made_at=now,
        head=entry.seal,
    )
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    count = 0
    with _scratch(target.parent) as scratch, new_tar(part) as (tar, sealed):
        add_bytes(tar, _LABEL, msgspec.json.encode(label))
        if (state / "queue.sqlite").exists():
            count = take_jobs(state / "queue.sqlite", matter, scratch / _JOBS)
            add_file(tar, _JOBS, scratch / _JOBS)
        add_matter(tar, folder, scratch)
        add_journal(tar, _JOURNAL, path)
    part.rename(target)
    return Travelled(
        matter=matter,
        title=_title(state, matter),
        sha256=sealed.sha256,
        size_bytes=sealed.size_bytes,
        jobs=count,
    )


def import_matter(source: Path, state: Path, *, now: dt.datetime, sha256: str = "") -> Travelled:
    """Takes a matter in; the worker must not run meanwhile.

    Args:
        source: The file.
        state: The state folder of this box.
        now: The time, for the journal.
        sha256: What the file must hash to, where it was told.

    Raises:
        Conflict: The matter is here already, or a journal of it that says otherwise.
        Damaged: The file is not as it was written.
        BadRequest: A newer program wrote it.
        Unavailable: The worker is running, or the disk is full.
    """
    refuse_newer(state)
    found = file_sha256(source)
    if sha256 and found != sha256:
        raise Damaged("the file does not match the hash that was told")
    with worker_stopped(state), _scratch(state) as scratch:
        fresh = scratch / "matter"
        extract(source, fresh, allowed=lambda name: name in _OURS or of_a_matter(name))
        label = _label(fresh)
        code = _code(label)
        _refuse_taken(state, code, fresh / _JOURNAL, found)
        _check(fresh, label, code)
        jobs = fresh / _JOBS
        count = put_jobs(jobs, code, state / "queue.sqlite") if jobs.exists() else 0
        brought = _sealed_in(fresh / _JOURNAL, scratch / "audit", code, found, now)
        journal = audit.path_of(state / "audit", code)
        journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        brought.replace(journal)
        if journal.parent.stat().st_mode & 0o020:
            journal.chmod(0o660)
        for name in (_LABEL, _JOBS):
            (fresh / name).unlink(missing_ok=True)
        renewed(fresh, journal)
        (state / "matters").mkdir(mode=0o700, exist_ok=True)
        share_matter(fresh, state / "matters")
        fresh.rename(state / "matters" / code)  # the last act: before it there is no such matter
        sync_folder(state / "matters")
    return Travelled(
        matter=code,
        title=_title(state, code),
        sha256=found,
        size_bytes=source.stat().st_size,
        jobs=count,
    )


def _label(fresh: Path) -> Label:
    try:
        label = msgspec.json.decode((fresh / _LABEL).read_bytes(), type=Label)
    except (OSError, msgspec.MsgspecError):
        raise Damaged("this file holds no exported matter") from None
    if label.format > FORMAT or label.state_version > CURRENT:
        raise BadRequest(
            "a newer version exported this matter", next_step="install the newer secondchair"
        )
    return label


def _code(label: Label) -> MatterId:
    try:
        return matter_id(label.matter)
    except ValueError:
        raise Damaged("the exported matter has no code") from None


def _refuse_taken(state: Path, code: MatterId, brought: Path, sha256: str) -> None:
    """A matter is never written over; a journal that stayed here must be the beginning of it.

    What a killed call left is no obstacle: the journal of this very file, sealed as taken in, and
    no matter.
    """
    if (state / "matters" / code).exists():
        raise Conflict(f"matter {code} is on this box already")
    held = audit.path_of(state / "audit", code)
    if not held.exists():
        return
    here, there = held.read_bytes(), brought.read_bytes()
    entries = list(audit.read(held))[len(there.splitlines()) :]
    cut_off = here.startswith(there) and all(
        one.what == _CAME and one.details.get("file") == sha256 for one in entries
    )
    if not there.startswith(here) and not cut_off:
        raise Conflict(
            f"this box has a journal of {code} that the file does not continue",
            next_step="keep both, and find out which box worked on the matter since",
        )


def _sealed_in(journal: Path, folder: Path, code: MatterId, sha256: str, now: dt.datetime) -> Path:
    """The brought journal with the entry that it came to this box, in a folder of its own."""
    folder.mkdir(mode=0o700)
    path = audit.path_of(folder, code)
    journal.rename(path)
    Journal(folder, code).seal(_CAME, by=UserName("operator"), now=now, details={"file": sha256})
    return path


def _check(fresh: Path, label: Label, code: MatterId) -> None:
    for path in fresh.glob("*.sqlite"):
        if not sqlite_is_whole(path):
            raise Damaged(f"{path.name} of the exported matter is not whole")
    check_originals(fresh)
    named = fresh / f"{code}.jsonl"  # a journal says whose it is by the name of its file
    (fresh / _JOURNAL).rename(named)
    check_journal(named, label.head)
    named.rename(fresh / _JOURNAL)
    held = next((one for one in matters_in(fresh.parent) if one.id == code), None)
    if held is None:
        raise Damaged("the folder of the exported matter is of another matter")


def _title(state: Path, matter: MatterId) -> str:
    return next((one.title for one in matters_in(state / "matters") if one.id == matter), "")


@contextmanager
def _scratch(place: Path) -> Iterator[Path]:
    """A folder of our own that is gone afterwards, on the disk of the target.

    What a killed call left there is removed first; a folder whose lock is held is another call's.
    """
    for stray in place.glob(".travelling-*"):
        with suppress(BlockingIOError), _held(stray):
            shutil.rmtree(stray, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=".travelling-", dir=place))
    with _held(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
