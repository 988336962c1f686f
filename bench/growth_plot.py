"""Draws the growth picture as SVG: ``python -m bench.growth_plot`` writes docs/pictures/growth.svg.

Plain shapes and text, no library: the same figures give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from bench.growth_size import Sizing, sized
from bench.harness import HERE

PICTURE = HERE.parent / "docs" / "pictures" / "growth.svg"
_WIDTH, _HEIGHT, _LEFT, _TOP, _PLOT = 300, 250, 56, 56, 190
_COLOURS = {"p50": "#7a9cc6", "p95": "#1f4e8c", "p99": "#b5532a"}
_FLOOR_S, _CEILING_S = 0.1, 10_000.0


def draw(sizings: Sequence[Sizing], limit_s: float) -> str:
    """One panel a size of firm: boards to the right, waiting time upwards, in powers of ten."""
    width = _LEFT + len(sizings) * (_WIDTH + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_TOP + _HEIGHT}" '
        f'viewBox="0 0 {width} {_TOP + _HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{_TOP + _HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 20, "How long a question waits for a board", size=15),
        _text(
            _LEFT,
            38,
            f"seconds from accepted to begun, simulated days; dashed: {limit_s:g} s; "
            "dot: fewest boards that keep the 95th percentile under it",
        ),
    ]
    for power in range(-1, 5):
        parts.append(_text(_LEFT - 8, _y(10.0**power) + 4, f"{10.0**power:g}", anchor="end"))
    for number, sizing in enumerate(sizings):
        parts += _panel(sizing, _LEFT + number * (_WIDTH + 20), limit_s)
    for at, (name, colour) in enumerate(_COLOURS.items()):
        parts.append(_text(width - 190 + 60 * at, 20, name, colour=colour, size=13))
    return "\n".join([*parts, "</svg>", ""])


def _panel(sizing: Sizing, left: float, limit_s: float) -> list[str]:
    rows: Mapping[int, Mapping[str, float]] = sizing.waits
    boards = sorted(rows)
    step = (_WIDTH - 40) / max(1, len(boards) - 1)
    x = {number: left + 20 + at * step for at, number in enumerate(boards)}
    parts = [
        f'<rect x="{left}" y="{_TOP}" width="{_WIDTH}" height="{_PLOT}" fill="#f7f8fa"/>',
        _text(left + 8, _TOP + 16, f"{sizing.lawyers} lawyers", size=13),
    ]
    for power in range(4):
        parts.append(_line(left, _y(10.0**power), left + _WIDTH, _y(10.0**power), "#dde1e7"))
    parts.append(_line(left, _y(limit_s), left + _WIDTH, _y(limit_s), "#555555", dash="5 4"))
    for name, colour in _COLOURS.items():
        points = " ".join(f"{x[number]:.1f},{_y(rows[number][name]):.1f}" for number in boards)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
    if sizing.boards in x:
        at_y = _y(rows[sizing.boards]["p95"])
        parts.append(
            f'<circle cx="{x[sizing.boards]:.1f}" cy="{at_y:.1f}" r="5" fill="{_COLOURS["p95"]}"/>'
        )
    for number in boards:
        parts.append(_text(x[number], _TOP + _PLOT + 18, str(number), anchor="middle"))
    parts.append(_text(left + _WIDTH / 2, _TOP + _PLOT + 36, "boards", anchor="middle"))
    return parts


def _y(seconds: float) -> float:
    clipped = min(_CEILING_S, max(_FLOOR_S, seconds))
    share = math.log10(clipped / _FLOOR_S) / math.log10(_CEILING_S / _FLOOR_S)
    return _TOP + _PLOT * (1 - share)


def _line(x0: float, y0: float, x1: float, y1: float, colour: str, *, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}"{dashed}/>'
    )


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222222", size: int = 12
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-size="{size}">{escape(text)}</text>'
    )


def main() -> None:
    """Simulates with the seed of the bench and writes the picture."""
    from bench.growth_size import LIMIT_S

    PICTURE.write_text(draw(sized(), LIMIT_S), "utf-8")


if __name__ == "__main__":
    main()
