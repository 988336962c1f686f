"""Whose turn it is: rows in, order out. Pure; turn, place and ETA come from this one order.

The rules, in the order they bind:

1. A matter that had its turn waits until every matter that was waiting then has had one too. So no
   matter gets two turns while another waits.
2. Among the matters that may go, the smallest weight goes first; inside a matter likewise. So a
   short job need not wait behind a long one.
3. A waiting job loses one second of weight for every ten it waits. So nothing waits for ever.
4. Equal weights go in the order they came.

Time is told in *ticks*, a counter of the board that moves with every arrival and every turn, so the
order never hangs on a clock; only rule 3 looks at one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from protocol.ids import JobId, MatterId

AGEING: Final = 0.1
"""Weight points a waiting job loses per second: 60 s of waiting make a 300 s job count as 294 s,
and after 50 minutes it goes ahead of a new job of no weight at all."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A job in line."""

    job: JobId
    matter: MatterId
    weight_s: float
    arrived: int
    """The tick at which it was added; parking does not change it."""
    since_ms: int
    """From when it has been waiting, in ms of Unix time; parking does change it."""


class Ahead(msgspec.Struct, frozen=True, kw_only=True):
    """A job that has a place on the board."""

    expected_ms: int
    """When it should be done, in ms of Unix time."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a waiting job stands."""

    job: JobId
    place: int
    """1 is next."""
    eta_s: float | None
    """Seconds until it should start; None when unknown."""


def turns(
    waiting: Sequence[Waiting], last_turn: Mapping[MatterId, int], now_ms: int
) -> Iterator[Waiting]:
    """The waiting jobs in the order in which they would get the board.

    Args:
        waiting: The jobs in line on one board.
        last_turn: The tick of each matter's last turn on it; one that had none may be missing.
        now_ms: The present, in ms of Unix time.
    """
    lines: dict[MatterId, list[Waiting]] = {}
    for row in waiting:
        lines.setdefault(row.matter, []).append(row)
    for line in lines.values():
        line.sort(key=lambda row: (_weight(row, now_ms), row.arrived))
    had = {matter: last_turn.get(matter, 0) for matter in lines}
    tick = max([*had.values(), *(row.arrived for row in waiting)], default=0)
    while lines:
        longest = min(
            max(had[matter], min(row.arrived for row in line)) for matter, line in lines.items()
        )
        heads = [line[0] for matter, line in lines.items() if had[matter] <= longest]
        chosen = min(heads, key=lambda row: (_weight(row, now_ms), row.arrived))
        yield chosen
        tick += 1
        had[chosen.matter] = tick
        lines[chosen.matter].pop(0)
        if not lines[chosen.matter]:
            del lines[chosen.matter]


def places(
    waiting: Sequence[Waiting],
    last_turn: Mapping[MatterId, int],
    running: Sequence[Ahead],
    *,
    at_once: int,
    paused: bool,
    now_ms: int,
) -> Iterator[Place]:
    """Place and ETA of every waiting job, in order.

    The ETA is the rest of what runs and the weights ahead, divided by how many jobs the board runs
    at once; it is unknown while the board is paused or a running job has outlasted its estimate.
    """
    known = not paused and all(job.expected_ms >= now_ms for job in running)
    free = len(running) < at_once
    ahead_s = 0.0 if free else sum(job.expected_ms - now_ms for job in running) / 1000
    for place, row in enumerate(turns(waiting, last_turn, now_ms), start=1):
        yield Place(job=row.job, place=place, eta_s=ahead_s / at_once if known else None)
        ahead_s += row.weight_s


def gives_way(
    running: Waiting, waiting: Sequence[Waiting], last_turn: Mapping[MatterId, int], now_ms: int
) -> bool:
    """Whether a shorter job would go first if the running one were back in line.

    The same order decides here and at the next claim, so a job that parks does not get the board
    straight back.

    Args:
        running: The running job as it would stand in line, with the weight it has left.
    """
    first = next(turns([*waiting, running], last_turn, now_ms))
    return first.job != running.job and first.weight_s < running.weight_s


def _weight(row: Waiting, now_ms: int) -> float:
    return row.weight_s - AGEING * max(0, now_ms - row.since_ms) / 1000
