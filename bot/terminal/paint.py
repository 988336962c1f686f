"""Tones as terminal styles, and laid-out lines as the strips that the toolkit paints."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip  # noqa: TID251 - the terminal's door

from bot.blocks import Line, Tone

STYLES: Final = {
    Tone.PLAIN: Style(),
    Tone.STRONG: Style(bold=True),
    Tone.FAINT: Style(color="#8b949e"),
    Tone.GREEN: Style(color="#7ccf8a"),
    Tone.AMBER: Style(color="#e3b341"),
    Tone.RED: Style(color="#ff7b72", bold=True),
    Tone.LIT: Style(color="#10131a", bgcolor="#e3c878", bold=True),
    Tone.LIVE: Style(color="#8b949e", italic=True),
}
"""Colour only repeats what signs and words say; each stands out on a dark ground."""

CHOSEN: Final = Style(bgcolor="#1d2a3d")
"""The ground of the row on which the cursor stands."""
BAR: Final = Style(color="#6cb6ff")


def strip(line: Line, width: int, *, gutter: str, chosen: bool) -> Strip:
    """One line of a pane.

    Args:
        line: Pieces, `visible` already.
        width: Cells of the pane, gutter included.
        gutter: One cell that says whether the cursor is here.
        chosen: Whether to lay the cursor's ground under it.
    """
    segments = [Segment(gutter, BAR)]
    segments += [Segment(piece.text, STYLES[piece.tone]) for piece in line]
    made = Strip(segments).adjust_cell_length(width)
    return made.apply_style(CHOSEN) if chosen else made
