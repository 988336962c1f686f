"""The success ledger: how much of the work given to the box was approved, edited or rejected.

Counted from the audit journals alone: they hold no words, and they stay when a matter is closed or
its old jobs are swept away. A job counts once, by where it stands now.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from protocol.ids import JobId
from worker import audit

_OUTCOMES: Final = {
    "review.approved": "approved",
    "review.filed": "approved",
    "review.returned": "rejected",
    "review.withdrawn": "rejected",
    "review.edited": "undecided",
}
NO_REVIEW: Final = frozenset({"ingest"})
"""Kinds that give nothing to review; they are not counted."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of work."""

    kind: str
    approved: int = 0
    """Approved as it was made."""
    edited: int = 0
    """Approved after a person had changed its words."""
    rejected: int = 0
    """Returned or withdrawn."""
    undecided: int = 0
    """Nobody has decided; jobs that ended without a reply are here, too."""

    @property
    def jobs(self) -> int:
        """All of them."""
        return self.approved + self.edited + self.rejected + self.undecided

    @property
    def share(self) -> float | None:
        """Approved and edited of those decided, 0 to 1; None before the first decision."""
        decided = self.jobs - self.undecided
        return (self.approved + self.edited) / decided if decided else None


def tallies(folder: Path, since: dt.datetime | None = None) -> tuple[Tally, ...]:
    """The ledger by kind, then ``all``.

    Args:
        folder: The folder of the sealed journals.
        since: Only jobs accepted at this time or later.

    Raises:
        Damaged: A line of a journal is no entry.
    """
    kinds: dict[str, dict[str, int]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for kind, outcome in _jobs(audit.read(path), since):
            counts = kinds.setdefault(kind, {})
            counts[outcome] = counts.get(outcome, 0) + 1
    rows = [Tally(kind=kind, **counts) for kind, counts in sorted(kinds.items())]
    total = Tally(
        kind="all",
        **{name: sum(getattr(row, name) for row in rows) for name in Tally.__struct_fields__[1:]},
    )
    return (*rows, total)


def _jobs(entries: Iterable[audit.Entry], since: dt.datetime | None) -> Iterable[tuple[str, str]]:
    """Kind and outcome of every job of one journal."""
    kinds: dict[JobId, str] = {}
    outcomes: dict[JobId, str] = {}
    edited: set[JobId] = set()
    for entry in entries:
        if entry.job is None:
            continue
        if entry.what == "job.accepted":
            kind = entry.details.get("kind", "unknown")
            if kind not in NO_REVIEW and (since is None or entry.at >= since):
                kinds.setdefault(entry.job, kind)
        elif entry.what in _OUTCOMES:
            outcomes[entry.job] = _OUTCOMES[entry.what]
            if entry.what == "review.edited":
                edited.add(entry.job)
    for job, kind in kinds.items():
        outcome = outcomes.get(job, "undecided")
        yield kind, "edited" if outcome == "approved" and job in edited else outcome
