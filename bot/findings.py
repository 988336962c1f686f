"""The list of marks under a reply: number, sign, verdict in words, then reason and place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bot.annotate import marked
from bot.blocks import Block, Piece, Tone, cells, paragraph
from bot.look import Look, tone
from protocol.answers import GREEN, Answer, Citation, Finding, Verdict

_VERDICT_CELLS: Final = 15
_SHARE: Final = 3
"""Number and verdict take at most one part in so many of a line, as `bot.blocks` lays it out."""
_BELOW_CELLS: Final = 3
"""Cells before reason and place where a narrow screen has them under their verdict."""
_MOST_PLACES: Final = 3
"""Places named in one line of the list; the rest is counted."""


def findings(answer: Answer, look: Look) -> list[Block]:
    """The list of marks: number, sign, verdict in words, then reason and place."""
    items = marked(answer)
    tabled = set(answer.table.items) if answer.table is not None else set()
    shown = [i for i in items if not (i.number in tabled and i.verdict in GREEN)]
    if not shown:
        return []
    digits = max(len(str(item.number)) for item in shown)
    signs = max(cells(look.signs.of(item.verdict)) for item in shown)
    words = {item.verdict: look.words(f"verdict.{item.verdict.value}") for item in shown}
    lead = 1 + digits + 1 + signs + 1
    column = _column(words.values(), look.width // _SHARE - lead)
    blocks = []
    for item in shown:
        sign = look.signs.of(item.verdict)
        sign += " " * (signs - cells(sign))
        word = words[item.verdict]
        pad = " " * (column - cells(word))
        head = Piece(f"{item.number:>{digits}} {sign} {word}{pad}", tone(item.verdict), whole=True)
        said = Piece(finding_line(item, look))
        hang = lead + column if column else _BELOW_CELLS
        if column:
            blocks.append(paragraph(head, said, hang=hang))
        else:
            blocks += [paragraph(head), paragraph(said, indent=hang, hang=hang)]
        if item.diff:
            diff = Piece(look.line(item.diff), Tone.STRONG)
            blocks.append(paragraph(diff, indent=hang, hang=hang))
    return blocks


def _column(words: Iterable[str], room: int) -> int:
    """Cells for the verdicts, so that all reasons begin in one column; 0 where that is too wide."""
    longest = max(cells(word) for word in words)
    for width in (max(_VERDICT_CELLS, longest + 1), longest + 2):
        if width <= room:
            return width
    return 0


def finding_line(item: Finding, look: Look) -> str:
    """Reason and place in one line: the place first where it is green, the reason first if not."""
    words = look.words
    reason = look.line(item.reason)
    places = _places(item.places, look, unless_in=reason)
    parts = [places, reason] if item.verdict in GREEN else [reason, places]
    if item.verdict is Verdict.VERIFIED_MARKED:
        steps = "; ".join(look.line(step) for step in item.steps)
        parts.append(words("reason.disclosed") + (f": {steps}" if steps else ""))
    if item.verdict is Verdict.COMPUTED and item.steps:
        steps = "; ".join(look.line(step) for step in item.steps)
        parts.append(words("reason.steps", steps=steps))
    nearest = _places(item.nearest, look, unless_in=reason)
    if nearest:
        parts.append(words("reason.nearest", place=nearest))
    also = _places(item.also_in, look)
    if also:
        parts.append(words("reason.also", places=also))
    line = ""
    for part in filter(None, parts):
        join = "" if not line else " " if line.endswith(".") else " · "
        line += join + part
    return line or words("reason.none")


def _places(places: tuple[Citation, ...], look: Look, *, unless_in: str = "") -> str:
    cites = [look.line(place.pin_cite) for place in places]
    cites = [cite for cite in dict.fromkeys(cites) if cite and cite not in unless_in]
    named = "; ".join(cites[:_MOST_PLACES])
    more = len(cites) - _MOST_PLACES
    return f"{named} {look.words('reason.more', count=more)}" if more > 0 else named


def reason_question(item: Finding, look: Look) -> str:
    """Asks a reviewer for the reason to accept an item that is not green."""
    return look.words(
        "chat.ask_reason",
        mark=f"{item.number} {look.signs.of(item.verdict)}",
        verdict=look.words(f"verdict.{item.verdict.value}"),
        reason=finding_line(item, look),
    )
