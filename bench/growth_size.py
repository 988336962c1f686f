"""How many boards an office needs: days simulated with ever more boards, waiting by percentile."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.growth_line import Arrival, Board, Outcome, simulate
from bench.growth_office import DRAFT, QUESTION, REFERENCE, SUMMARY, Office, Speeds, day

LIMIT_S = 15.0
"""A question's 95th percentile from accepted to begun that we call good, in seconds: about as long
as the reply itself takes."""

LAWYERS = (5, 50, 500)
MORE = 2
"""Boards tried beyond those that are enough, for the picture."""


@dataclass(frozen=True)
class Sizing:
    """What was found for one size of office."""

    lawyers: int
    boards: int
    """Fewest boards that keep a question's 95th percentile within the limit."""
    load: float
    """Share of the boards' time that is work over the ten hours, at that number."""
    waits: dict[int, dict[str, float]]
    """Boards to a question's p50, p95, p99 wait and the p95 of the others, in seconds."""
    questions: int
    """In all the days simulated."""
    worst_day_s: float
    """The p95 of the worst of the days, at that number of boards."""


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank; 0 where there are no values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def days(office: Office, speeds: Speeds, number: int, seed: int) -> list[list[Arrival]]:
    """Independent working days, each from a seed of its own."""
    return [
        day(office, speeds, random.Random(f"{seed}/{office.lawyers}/{at}")) for at in range(number)
    ]


def run(many: Sequence[Sequence[Arrival]], boards: int) -> tuple[list[list[Outcome]], float]:
    """Every day with this many boards; and the share of ten hours in which they worked."""
    outcomes, busy_s = [], 0.0
    for arrivals in many:
        used = [Board() for _ in range(boards)]
        outcomes.append(list(simulate(arrivals, used).values()))
        busy_s += sum(board.busy_s for board in used)
    return outcomes, busy_s / (36_000 * boards * len(many))


def waits(outcomes: Sequence[Sequence[Outcome]]) -> dict[str, float]:
    """Percentiles over all days."""
    everything = [outcome for one in outcomes for outcome in one]
    of = {
        kind: [outcome.wait_s for outcome in everything if outcome.kind == kind]
        for kind in (QUESTION, SUMMARY, DRAFT)
    }
    replies = [outcome.end_s for outcome in everything if outcome.kind == QUESTION]
    ends = [outcome.end_s for outcome in everything if outcome.kind == SUMMARY]
    return {
        "p50": percentile(of[QUESTION], 0.5),
        "p95": percentile(of[QUESTION], 0.95),
        "p99": percentile(of[QUESTION], 0.99),
        "draft_p95": percentile(of[DRAFT], 0.95),
        "summary_p95": percentile(of[SUMMARY], 0.95),
        "reply_p95": percentile(replies, 0.95),
        "summary_done_p95": percentile(ends, 0.95),
    }


def size(
    office: Office, speeds: Speeds = REFERENCE, *, days_each: int, seed: int, more: int = MORE
) -> Sizing:
    """The fewest boards that are enough, and what waiting is with some fewer and some more."""
    many = days(office, speeds, days_each, seed)
    work_s = sum(step.cold_s for one in many for arrival in one for step in arrival.steps)
    fewest = max(1, math.ceil(1.1 * work_s / (36_000 * len(many))))
    found: dict[int, dict[str, float]] = {}
    enough, load, worst_s = 0, 0.0, 0.0
    boards = fewest
    while not enough or boards <= enough + more:
        outcomes, share = run(many, boards)
        found[boards] = waits(outcomes)
        if not enough and found[boards]["p95"] <= LIMIT_S:
            enough, load = boards, share
            worst_s = max(waits([one])["p95"] for one in outcomes)
        boards += 1
    questions = sum(arrival.kind == QUESTION for one in many for arrival in one)
    return Sizing(office.lawyers, enough, load, found, questions, worst_s)


def sized(seed: int = 7, *, days_each: int = 3) -> list[Sizing]:
    """The three sizes of office."""
    return [
        # A small office's day holds few questions: more days, so that the figure stands.
        size(Office(lawyers=lawyers), days_each=days_each * max(1, 100 // lawyers), seed=seed)
        for lawyers in LAWYERS
    ]
