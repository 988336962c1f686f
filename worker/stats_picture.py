"""The success ledger as a picture: a bar a kind, its parts by what became of the jobs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from worker.stats import Tally

OUTCOMES: Final = {
    "approved": "#2e7d32",
    "edited": "#c9a227",
    "rejected": "#b3261e",
    "undecided": "#b8b8b8",
}
"""Each outcome with its colour; the numbers beside the bars say the same without colour."""
_WIDE, _LEFT, _RIGHT = 900, 130, 240
_TOP, _ROW, _BAR, _FOOT = 70, 36, 22, 50
_INK, _WHITE = "#222222", "#ffffff"
_SIZE: Final = 15


def picture(rows: Sequence[Tally], said: str) -> bytes:
    """The picture as PNG; the same ledger gives the same bytes.

    Args:
        rows: By kind, the sum of all last, as `worker.stats.tallies` gives them.
        said: What the picture is of: the time it covers.
    """
    font = ImageFont.load_default(_SIZE)
    image = Image.new("RGB", (_WIDE, _TOP + _ROW * max(1, len(rows)) + _FOOT), _WHITE)
    pen = ImageDraw.Draw(image)
    pen.text((20, 18), f"What became of the work: {said}", fill=_INK, font=font)
    most = max((row.jobs for row in rows), default=0) or 1
    for number, row in enumerate(rows):
        _bar(pen, font, row, _TOP + number * _ROW, (_WIDE - _LEFT - _RIGHT) / most)
    at = float(_LEFT)
    foot = _TOP + _ROW * max(1, len(rows)) + 12
    for name, colour in OUTCOMES.items():
        pen.rectangle((at, foot, at + 14, foot + 14), fill=colour)
        pen.text((at + 20, foot - 2), name, fill=_INK, font=font)
        at += 130
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _bar(
    pen: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    row: Tally,
    top: float,
    a_job: float,
) -> None:
    pen.text((20, top + 2), row.kind, fill=_INK, font=font)
    at = float(_LEFT)
    for name, colour in OUTCOMES.items():
        wide = getattr(row, name) * a_job
        if wide:
            pen.rectangle((at, top, at + wide - 1, top + _BAR), fill=colour)
        at += wide
    counts = " / ".join(str(getattr(row, name)) for name in OUTCOMES)
    share = "" if row.share is None else f"   {row.share:.0%} of use"
    pen.text((at + 10, top + 2), f"{counts}{share}", fill=_INK, font=font)
