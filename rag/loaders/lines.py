"""Printed line numbers: which lines of a page carry one, and what the number is.

A transcript prints 1 to 25 on every page, pleading paper 1 to 28. Where a text layer lost some of
the numbers (they were drawn apart), a line between its numbered neighbours is counted when there
are exactly as many lines as numbers are missing; otherwise it has no number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

LINE = re.compile(r"[^\n]*")
NUMBERED = re.compile(r"[ \t\u00a0]{0,8}(\d{1,2})(?=[ \t\u00a0]|$)")
ENOUGH = 8
"""A page with fewer numbers in order does not count as numbered."""
MOST = 40


@dataclass(frozen=True, kw_only=True)
class NumberedLine:
    """One line of a page: where it stands, its printed number, where its words start."""

    start: int
    end: int
    number: int | None
    words: int
    """Offset of the first character after the number; ``start`` when there is none."""


def lines_of(text: str) -> list[tuple[int, int]]:
    """Start and end of every line, without its line end."""
    out = []
    start = 0
    for line in text.split("\n"):
        out.append((start, start + len(line)))
        start += len(line) + 1
    return out


def numbered(text: str, *, short: bool = False) -> list[NumberedLine] | None:
    """The lines of a page with their printed numbers; None when the page prints none.

    ``short`` is for a page of a document whose other pages print them: its lines count from 1
    without a gap, however few they are.
    """
    spans = lines_of(text)
    numbers: dict[int, tuple[int, int]] = {}
    for at, (start, end) in enumerate(spans):
        match = NUMBERED.match(text, start, end)
        if match and 1 <= int(match.group(1)) <= MOST:
            numbers[at] = (int(match.group(1)), match.end())
    chain = _chain([(at, number) for at, (number, _) in numbers.items()])
    if not (
        short and chain and [number for _, number in chain] == list(range(1, len(chain) + 1))
    ) and (len(chain) < ENOUGH or chain[-1][1] - chain[0][1] > 2 * len(chain)):
        return None
    told = dict(chain)
    _fill(told, text, spans)
    return [
        NumberedLine(
            start=start,
            end=end,
            number=told.get(at),
            words=min(numbers[at][1], end) if at in told and at in numbers else start,
        )
        for at, (start, end) in enumerate(spans)
    ]


def _chain(seen: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of rising numbers (they need not be neighbours).

    Where two runs are equally long the one with smaller steps wins: "2, 3, 4" over "2, 3, 28".
    """
    best: list[tuple[int, int, int]] = []  # length, minus last number, index before
    for at, (_, number) in enumerate(seen):
        length, low, back = 1, -number, -1
        for before in range(max(0, at - 60), at):
            if seen[before][1] < number:
                tried = (best[before][0] + 1, -number, before)
                if tried[0] > length or (
                    tried[0] == length and seen[before][1] > seen[back][1] >= 0
                ):
                    length, low, back = tried
        best.append((length, low, back))
    if not best:
        return []
    at = max(range(len(best)), key=lambda index: best[index][:2])
    out = []
    while at >= 0:
        out.append(seen[at])
        at = best[at][2]
    return out[::-1]


def _fill(told: dict[int, int], text: str, spans: list[tuple[int, int]]) -> None:
    """Number the lines between two numbered ones when the count fits exactly."""
    known = sorted(told)
    for one, two in pairwise(known):
        missing = told[two] - told[one] - 1
        if missing < 1:
            continue
        between = [
            at for at in range(one + 1, two) if text[spans[at][0] : spans[at][1]].strip(" \t\u00a0")
        ]
        if len(between) == missing:
            for step, at in enumerate(between, 1):
                told[at] = told[one] + step
