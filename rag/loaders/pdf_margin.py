"""Line numbers printed in the margin of a PDF page, put back beside the lines they number.

A text layer often holds pleading paper's numbers 1 to 28 as a block of its own before the words.
By their place on the page each number is put in front of the line it stands beside, so the text
reads as the page does and every line can be cited.
"""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import median

from rag.loaders.page_runs import Row, Run
from rag.loaders.pdf_values import Grid

_ALONE = re.compile(r"\s*(\d{1,2})\s*$")
_FIRST = re.compile(r"\s*(\d{1,2})(?=\s|$)")
_FEWEST = 18
"""Fewer numbers than this in one column are no margin."""
_COLUMN = 9.0
"""Points by which the left or right edges of the numbers of one column may differ."""


def put_back(rows: list[Row], boxes: Grid) -> list[Row]:
    """The rows in reading order, each margin number before its line; unchanged without a margin."""
    alone = {at: int(m.group(1)) for at, row in enumerate(rows) if (m := _ALONE.match(row.text))}
    if len(alone) < 3:
        return rows
    column = _column(rows, alone, boxes)
    if column is None:
        return rows
    numbers = {at: alone[at] for at in column if at in alone}
    if len(numbers) < 3:
        return rows
    heights = {at: _middle(rows[at], boxes) for at in numbers}
    pitch = _pitch(sorted(heights.values(), reverse=True))
    beside: dict[int, int] = {}  # row of words -> row of its number
    taken: set[int] = set()
    for at, row in enumerate(rows):
        if at in numbers or at in column or not row.chars():
            continue
        middle = _middle(row, boxes)
        near = min(numbers, key=lambda other: abs(heights[other] - middle))
        if abs(heights[near] - middle) <= pitch * 0.55 and near not in taken:
            beside[at] = near
            taken.add(near)
    return _ordered(rows, numbers, beside)


def _column(rows: list[Row], alone: dict[int, int], boxes: Grid) -> set[int] | None:
    """Rows whose first word is a number of the margin; None when there is no such column."""
    first = {at: int(m.group(1)) for at, row in enumerate(rows) if (m := _FIRST.match(row.text))}
    if not alone:
        return None
    edges = {at: _edges(rows[at], boxes) for at in first}
    left = median(edges[at][0] for at in alone)
    right = median(edges[at][1] for at in alone)
    inside = {
        at
        for at in first
        if abs(edges[at][0] - left) <= _COLUMN or abs(edges[at][1] - right) <= _COLUMN
    }
    values = {first[at] for at in inside}
    if len(values) < _FEWEST or max(values) > 40 or min(values) > 3:
        return None
    return inside


def _edges(row: Row, boxes: Grid) -> tuple[float, float]:
    """Left and right edge of the row's first word."""
    match = _FIRST.match(row.text)
    chars = row.chars()[: len(match.group(1)) if match else 1]
    if not chars:
        return -1e6, -1e6
    return float(boxes[chars, 0].min()), float(boxes[chars, 2].max())


def _middle(row: Row, boxes: Grid) -> float:
    chars = row.chars()[:40]
    return float((boxes[chars, 1] + boxes[chars, 3]).mean() / 2)


def _pitch(heights: list[float]) -> float:
    steps = [one - two for one, two in pairwise(heights) if one - two > 1]
    return median(steps) if steps else 12.0


def _ordered(rows: list[Row], numbers: dict[int, int], beside: dict[int, int]) -> list[Row]:
    used = set(beside.values())
    waiting = sorted((value, at) for at, value in numbers.items() if at not in used)
    out: list[Row] = []
    for at, row in enumerate(rows):
        if at in numbers:
            continue
        number = beside.get(at)
        if number is not None:
            while waiting and waiting[0][0] < numbers[number]:
                out.append(_bare(rows[waiting.pop(0)[1]]))
            row = Row((*_bare(rows[number]).runs, Run(" ", -1), *row.runs))
        out.append(row)
    last = max((at for at, row in enumerate(out) if _FIRST.match(row.text)), default=len(out) - 1)
    rest = [_bare(rows[at]) for _, at in waiting]
    return [*out[: last + 1], *rest, *out[last + 1 :]]


def _bare(row: Row) -> Row:
    """The row's number without white space."""
    runs = []
    for run in row.runs:
        text = run.text.strip()
        if text:
            runs.append(Run(text, run.at + run.text.index(text) if run.at >= 0 else -1))
    return Row(tuple(runs))
