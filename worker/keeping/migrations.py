"""Numbered changes of the state folder, each with its way back.

A migration may be cut off at any point and is then run again from its start, so each is harmless to
repeat. The version file says which one is under way; the worker does not start on such a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Conflict
from worker.keeping.version import (
    CURRENT,
    StateVersion,
    read_version,
    refuse_newer,
    write_version,
)
from worker.sharing import DOORS, is_shared, share_matter


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One step from the version before it to its own."""

    number: int
    """The version the folder has afterwards."""
    title: str
    up: Callable[[Path], None]
    down: Callable[[Path], None]
    needed: bool = True
    """Whether the worker must not run on the version before; False for a mere tidying."""


def upgrade(state: Path, chain: Sequence[Migration] | None = None) -> Iterator[Migration]:
    """Runs what is pending, one after another; yields each when it is on disk.

    Raises:
        Conflict: The folder is newer than this program.
    """
    chain = CHAIN if chain is None else chain
    for migration in pending(state, chain):
        before = read_version(state).version
        write_version(state, StateVersion(version=before, under_way=migration.number))
        migration.up(state)
        write_version(state, StateVersion(version=migration.number))
        yield migration


def rollback(state: Path, to: int, chain: Sequence[Migration] | None = None) -> Iterator[Migration]:
    """Goes back to an earlier version, the newest change first.

    Raises:
        BadRequest: The folder is not newer than ``to``, or there is no way back to it.
    """
    chain = CHAIN if chain is None else chain
    found = read_version(state)
    steps = [one for one in reversed(chain) if to < one.number <= _reached(found)]
    if not steps or steps[0].number < _reached(found) or to < 0:
        raise BadRequest(
            f"there is no way from version {found.version} back to {to}",
            next_step="restore a backup from before the upgrade",
        )
    for migration in steps:
        write_version(state, StateVersion(version=migration.number, under_way=migration.number - 1))
        migration.down(state)
        write_version(state, StateVersion(version=migration.number - 1))
        yield migration


def pending(state: Path, chain: Sequence[Migration] | None = None) -> list[Migration]:
    """What an upgrade would run; a migration that was cut off comes first."""
    chain = CHAIN if chain is None else chain
    found = read_version(state)
    least = found.version
    if found.under_way is not None:  # cut off on the way up or down: the step is run again
        least = min(least, found.under_way)
    return [one for one in chain if one.number > least]


def refuse_unfit(state: Path) -> None:
    """Returns when the worker may run on the folder as it is.

    Raises:
        Conflict: It is newer than this program, half changed, or must be changed first.
    """
    refuse_newer(state)
    if any(one.needed for one in pending(state)):
        raise Conflict(
            "this state folder is of an older version", next_step="secondchair-worker upgrade"
        )


def mark_new(state: Path) -> None:
    """Gives a folder that is being made its version; one that is there keeps its own."""
    if not (state / "version.json").exists():
        write_version(state, StateVersion(version=CURRENT))


def _reached(found: StateVersion) -> int:
    return max(found.version, found.under_way or 0)


# --- version 1: doors and tight rights ------------------------------------------------------------


def _tighten(state: Path) -> None:
    """What a box of before may lack: the doors of every matter, and rights that let nobody in."""
    for name in ("models", "templates", "audit"):
        (state / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    matters = state / "matters"
    for manifest in sorted(matters.glob("*/matter.json")):
        folder = manifest.parent
        for name in DOORS:
            (folder / name).mkdir(mode=0o700, exist_ok=True)
        for path in folder.rglob("*"):
            inside = path.relative_to(folder).parts[0]
            if inside not in DOORS and not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o700)
        share_matter(folder)
    if not is_shared(matters):
        for journal in (state / "audit").glob("*.jsonl"):
            journal.chmod(0o600)


def _leave(_: Path) -> None:
    """The version before reads all of it as it is; rights are not loosened again."""


CHAIN: Final = (
    Migration(
        number=1,
        title="the doors of every matter, and rights that let nobody else in",
        up=_tighten,
        down=_leave,
        needed=False,
    ),
)
"""Every migration, in order; the last one's number is `CURRENT`."""
