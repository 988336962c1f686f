"""`/audit` and `/history` in Discord: counts by kind anywhere; in full channels codes and states.

The words of what was asked stay in the terminal in every mode.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable
from typing import Final

from bot import lookback_lists as lists
from bot.guild import shape
from bot.guild.counter import LISTED, Answering, Counter
from bot.guild.gate import Kind, Tallied, Tally
from bot.guild.rights import Grant
from protocol.jobs import AuditIs, ListAudit

_COUNTED: Final = 200
"""Entries or jobs that are counted; the box gives no more at once."""


async def audit(counter: Counter, grant: Grant) -> Answering:
    """The end of the matter's journal, and whether it is whole."""
    full, matter = counter.desk.full(grant.bound), grant.bound.matter
    request = ListAudit(matter=matter, most=LISTED if full else _COUNTED)
    found = await counter.line.call(request, acting_for=grant.account)
    assert isinstance(found, AuditIs)
    if full:
        blocks = lists.audit(matter, found, counter.look, table=False)
        return Answering(template=shape.private(blocks))
    whole = found.broken_at is None and not found.troubles
    tally = Tally(
        said=Tallied.SEALED if whole else Tallied.SEALED_BROKEN,
        matter=matter,
        total=found.total,
        shown=len(found.entries),
        counts=_counts(entry.what.partition(".")[0] for entry in found.entries),
    )
    return Answering(template=tally)


async def history(counter: Counter, grant: Grant) -> Answering:
    """What was asked in the matter, without its words."""
    jobs = await counter.jobs_of(grant, most=_COUNTED)
    matter = grant.bound.matter
    if counter.desk.full(grant.bound):
        return Answering(template=shape.private(lists.codes(matter, jobs, LISTED, counter.look)))
    tally = Tally(
        said=Tallied.ASKED,
        matter=matter,
        total=len(jobs),
        shown=len(jobs),
        counts=_counts(job.kind for job in jobs),
    )
    return Answering(template=tally)


def _counts(found: Iterable[str]) -> tuple[tuple[Kind, int], ...]:
    """How many of each kind, in the order of the kinds; what is not known here is ``other``."""
    known = set(Kind)
    counts = Counts(Kind(one) if one in known else Kind.OTHER for one in found)
    return tuple((kind, counts[kind]) for kind in Kind if counts[kind])
