"""A measurement as a picture: tokens a second, and seconds to the first word, over prompt size.

Both axes are logarithmic: sizes and rates span factors of hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from worker.measuring import Cell, Measurement
from worker.measuring.report import REFERENCE_DECODE, REFERENCE_TTFT_S

_WIDE, _HIGH = 960, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 230, 50, 50
_WHITE, _INK, _GRID = "#ffffff", "#222222", "#dddddd"
_COLOURS: Final = {"code": "#1f6fb4", "legal": "#c2571a"}
_REFERENCE: Final = "#999999"

Point = tuple[float, float]
Line = tuple[str, str, Sequence[Point]]


def draw(measurement: Measurement, path: Path) -> None:
    """Write the picture as PNG."""
    image = Image.new("RGB", (_WIDE, 2 * _HIGH), _WHITE)
    pen = ImageDraw.Draw(image)
    rates = _lines(measurement, lambda cell: cell.decode_tokens_per_s.mean)
    rates += [
        (f"reference, {kind}", _REFERENCE, tuple(points.items()))
        for kind, points in REFERENCE_DECODE.items()
    ]
    _panel(pen, 0, f"{measurement.model} on {measurement.board}: writes, tokens a second", rates)
    waits = _lines(measurement, lambda cell: cell.ttft_ms.mean / 1000)
    waits.append(("reference", _REFERENCE, tuple(REFERENCE_TTFT_S.items())))
    _panel(pen, _HIGH, "seconds to the first word", waits)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    image.save(path, "PNG")


def _lines(measurement: Measurement, value: Callable[[Cell], float]) -> list[Line]:
    kinds = dict.fromkeys(cell.kind for cell in measurement.cells)
    return [
        (
            kind,
            _COLOURS.get(kind, _INK),
            tuple((cell.size, value(cell)) for cell in measurement.cells if cell.kind == kind),
        )
        for kind in kinds
    ]


def _panel(pen: ImageDraw.ImageDraw, top: int, title: str, lines: Sequence[Line]) -> None:
    font = ImageFont.load_default(14)
    points = [point for _, _, line in lines for point in line if point[1] > 0]
    xs, ys = _range([x for x, _ in points]), _range([y for _, y in points])

    def place(point: Point) -> Point:
        across = _WIDE - _LEFT - _RIGHT
        up = _HIGH - _TOP - _BOTTOM
        return (
            _LEFT + across * _share(point[0], xs),
            top + _HIGH - _BOTTOM - up * _share(point[1], ys),
        )

    pen.text((_LEFT, top + 14), title, fill=_INK, font=font)
    for x in _doublings(xs, 4):
        at, low = place((x, ys[0]))
        pen.line([(at, top + _TOP), (at, low)], fill=_GRID)
        label = f"{x / 1024:g}K" if x >= 1024 else f"{x:g}"
        pen.text((at - 12, low + 8), label, fill=_INK, font=font)
    for y in _doublings(ys, 2):
        left, at = place((xs[0], y))
        pen.line([(left, at), (_WIDE - _RIGHT, at)], fill=_GRID)
        pen.text((left - 60, at - 8), f"{y:g}", fill=_INK, font=font)
    for number, (name, colour, line) in enumerate(lines):
        spots = [place(point) for point in line if point[1] > 0]
        if len(spots) > 1:
            pen.line(spots, fill=colour, width=2)
        for x, y in spots:
            pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=colour)
        spot = (_WIDE - _RIGHT + 20, top + _TOP + 22 * number)
        pen.text(spot, name, fill=colour, font=font)


def _range(values: Sequence[float]) -> Point:
    low, high = min(values), max(values)
    return low / 1.2, high * 1.2


def _share(value: float, ends: Point) -> float:
    return math.log(value / ends[0]) / math.log(ends[1] / ends[0])


def _doublings(ends: Point, factor: int) -> list[float]:
    """Powers of the factor between the ends."""
    first = math.ceil(math.log(ends[0], factor))
    last = math.floor(math.log(ends[1], factor))
    return [float(factor**power) for power in range(first, last + 1)]
