"""A box from a backup, or one matter of it: checked before, during and after.

Nothing is written over: the state folder must hold no matter, registry or journal yet, and whatever
else a person put there is moved aside. All of it is unpacked beside the state folder and moved in
when every check has passed.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
from pathlib import Path

import msgspec

from protocol.errors import Conflict, Damaged
from protocol.ids import MatterId, UserName
from worker import audit
from worker.audit import Journal
from worker.holds import renewed
from worker.keeping.backup import AUDIT, BOX, SETTINGS
from worker.keeping.copies import extract, file_sha256, sqlite_is_whole
from worker.keeping.manifest import NAME, Manifest, check_parts, read_manifest


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore came to."""

    matters: tuple[str, ...]
    journals: int
    """Those that were whole are whole still and hold the heads that the backup noted."""
    broken: tuple[str, ...]
    """Codes of matters whose journal was broken already when it was copied; kept as they are."""
    host_keys: bool
    aside: str | None
    """The folder of the state folder that holds what stood in the way; None when nothing did."""


def restore(folder: Path, state: Path, *, now: dt.datetime) -> Restored:
    """Makes a state folder from a backup.

    Raises:
        NotFound: The folder is no backup.
        Conflict: There is a box in the state folder already.
        Damaged: Something of the backup is not as it was listed, or not whole; nothing was changed.
        BadRequest: A newer program made the backup.
        Unavailable: The disk is full.
    """
    manifest = read_manifest(folder)
    if wrong := check_parts(folder, manifest):
        raise Damaged(
            f"the backup is damaged: {wrong[0]}",
            next_step="use another backup; nothing was restored",
        )
    taken = [name for name in ("registry", "matters", "audit") if _holds_files(state / name)]
    if taken:
        raise Conflict(
            "there is a box in this state folder already",
            next_step="name an empty folder with --state, or move the old one away",
        )
    fresh = state.with_name(f".{state.name}.restoring")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        _unpack(folder, fresh, manifest)
        _check(fresh, manifest)
        seal = file_sha256(folder / NAME)
        broken = {one.matter for one in manifest.journals if not one.whole}
        for code in sorted(set(manifest.matters) - broken):
            renewed(fresh / "matters" / code, audit.path_of(fresh / "audit", MatterId(code)))
            Journal(fresh / "audit", MatterId(code)).seal(
                "matter.restored", by=UserName("operator"), now=now, details={"backup": seal}
            )
        aside = _move_in(fresh, state, now)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return Restored(
        matters=manifest.matters,
        journals=len(manifest.journals),
        broken=tuple(sorted(broken)),
        host_keys=manifest.host_keys,
        aside=None if aside is None else aside.name,
    )


def _holds_files(folder: Path) -> bool:
    return os.path.lexists(folder) and not _is_empty(folder)


def _unpack(folder: Path, fresh: Path, manifest: Manifest) -> None:
    extract(folder / BOX, fresh, allowed=_of_the_box)
    extract(folder / AUDIT, fresh / "audit", allowed=_of_the_audit)
    (fresh / "matters").mkdir(mode=0o700)
    for code in manifest.matters:
        names = extract(
            folder / "matters" / f"{code}.tar", fresh / "matters" / code, allowed=of_a_matter
        )
        if "matter.json" not in names:
            raise Damaged(f"the archive of {code} holds no matter")


def _of_the_box(name: str) -> bool:
    known = "queue.sqlite version.json boards.toml registry templates gateway engines measurements"
    return Path(name).parts[0] in (*known.split(), SETTINGS)


def _of_the_audit(name: str) -> bool:
    return len(Path(name).parts) == 1 and not name.startswith(".")


def of_a_matter(name: str) -> bool:
    """Whether a member of a matter's archive is one that we write."""
    return not any(part.startswith(".") for part in Path(name).parts)


def _check(fresh: Path, manifest: Manifest) -> None:
    for path in (fresh / "queue.sqlite", *fresh.glob("matters/*/*.sqlite")):
        if path.exists() and not sqlite_is_whole(path):
            raise Damaged(f"{path.name} of the backup is not whole")
    for one in manifest.journals:
        if one.whole:
            check_journal(fresh / "audit" / f"{one.matter}.jsonl", one.head)
    for code in manifest.matters:
        check_originals(fresh / "matters" / code)


def check_journal(path: Path, head: str) -> None:
    """Follows a journal's chain, which must still hold the head that was noted.

    Raises:
        Damaged: It does not.
    """
    report = audit.verify(path, head=head)
    if report.broken_at is not None:
        raise Damaged(f"the journal of {path.stem}: {report.reason}")


def check_originals(folder: Path) -> None:
    """Every original must still hash to its name.

    Raises:
        Damaged: One does not; its hash is named.
    """
    for path in (folder / "originals").glob("*"):
        if path.is_file() and len(path.name) == 64 and file_sha256(path) != path.name:
            raise Damaged(f"the original {path.name[:12]} of {folder.name} was changed")


def _move_in(fresh: Path, state: Path, now: dt.datetime) -> Path | None:
    """Moves the parts into the state folder, the registry last: the worker does not start without
    it, so a cut leaves nothing that looks like a box. What stands in the way goes aside.

    Gives the folder in which that lies now; None when nothing stood in the way.
    """
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = state / f"before-restore-{now:%Y%m%dT%H%M%SZ}"
    for path in sorted(fresh.iterdir(), key=lambda one: (one.name == "registry", one.name)):
        for there in _in_the_way(state, path.name):
            if _is_empty(there):
                shutil.rmtree(there)
                continue
            aside.mkdir(mode=0o700, exist_ok=True)
            there.rename(aside / there.name)
        path.rename(state / path.name)
    return aside if aside.is_dir() else None


def _in_the_way(state: Path, name: str) -> list[Path]:
    """What has the name, and a database's side files, which must not meet another database."""
    names = [name, *(f"{name}-{part}" for part in ("wal", "shm", "journal"))]
    return [state / one for one in names if os.path.lexists(state / one)]


def _is_empty(folder: Path) -> bool:
    """Whether it is a folder with nothing in it but folders; a link is somebody's."""
    return (
        folder.is_dir()
        and not folder.is_symlink()
        and all(path.is_dir() and not path.is_symlink() for path in folder.rglob("*"))
    )
