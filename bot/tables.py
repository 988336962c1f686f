"""Tables for a width in cells: columns shrink, cells wrap, every row shows its mark.

Narrow columns keep their width and the wide ones share what is left, so a date or an amount is not
broken to make room for prose. Where a column would be too narrow for its words, each row becomes a
short list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from bot.annotate import mark
from bot.blocks import Block, Piece, Tone, blank, cells, paragraph, wrapped
from bot.look import Look, tone
from bot.told import row_verdicts
from protocol.answers import Finding, Table

_GAP: Final = 2
_VERDICT: Final = ("finding", "mark")
"""The columns that say a verdict in words; in a list it stands beside its sign."""
_NARROWEST: Final = 12
"""Cells under which a column of prose cannot be read."""
_LONGEST: Final = 24
"""Cells of a word that a column must take whole; what is longer may be cut."""


def table_blocks(table: Table, items: Sequence[Finding], look: Look) -> list[Block]:
    """The table with its head, every row after the mark of the finding that proves it."""
    marks = {item.number: mark(item, look.signs) for item in items}
    lead = [marks.get(number, Piece("")) for number in table.items[: len(table.rows)]]
    for at, verdict in enumerate(row_verdicts(table)):  # the finding's sign, not the words' one
        text = f"[{table.items[at]} {look.signs.of(verdict)}]"
        lead[at] = Piece(text, tone(verdict), whole=True)
    lead += [Piece("")] * (len(table.rows) - len(lead))
    lead_cells = max((cells(piece.text) for piece in lead), default=0)
    head = [look.line(name) for name in table.columns]
    rows = [[look.line(cell) for cell in row] for row in table.rows]
    room = look.width - 2 - (lead_cells + _GAP if lead_cells else 0)
    widths = _widths([head, *rows], room)
    if widths is None:
        return _as_lists(head, rows, lead)
    blocks = [_row(head, Piece(""), lead_cells, widths, Tone.STRONG)]
    blocks += [
        _row(row, piece, lead_cells, widths, Tone.PLAIN)
        for row, piece in zip(rows, lead, strict=True)
    ]
    return blocks


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """A width for every column, together at most ``room``; None when they would be too narrow."""
    columns = max((len(row) for row in rows), default=0)
    wanted = [
        max((cells(row[at]) for row in rows if at < len(row)), default=0) for at in range(columns)
    ]
    left = room - _GAP * (columns - 1)
    widths = list(wanted)
    order = sorted(range(columns), key=lambda at: wanted[at])
    for seen, at in enumerate(order):
        share = left // (columns - seen)
        widths[at] = min(wanted[at], share)
        left -= widths[at]
        words = max(
            (cells(word) for row in rows if at < len(row) for word in row[at].split()), default=0
        )
        if widths[at] < min(wanted[at], max(_NARROWEST, min(words, _LONGEST))):
            return None
    return widths


def _row(
    row: Sequence[str], lead: Piece, lead_cells: int, widths: Sequence[int], colour: Tone
) -> Block:
    parts = [wrapped(cell, max(1, width)) for cell, width in zip(row, widths, strict=False)]
    pieces: list[Piece] = []
    for number, line in enumerate(zip_longest(*parts, fillvalue="")):
        if number:
            pieces.append(Piece("\n"))
        if lead_cells:
            first = lead if number == 0 else Piece("")
            pieces += [first, Piece(" " * (lead_cells - cells(first.text) + _GAP))]
        padded = (
            text + " " * (width - cells(text)) for text, width in zip(line, widths, strict=False)
        )
        pieces.append(Piece((" " * _GAP).join(padded).rstrip(), colour))
    return Block(sentences=(tuple(pieces),), as_is=True)


def _as_lists(
    head: Sequence[str], rows: Sequence[Sequence[str]], lead: Sequence[Piece]
) -> list[Block]:
    blocks: list[Block] = []
    for row, piece in zip(rows, lead, strict=True):
        cells_ = list(zip_longest(head, row, fillvalue=""))
        if piece.text:
            word = [cell for name, cell in cells_ if name in _VERDICT][:1]
            blocks.append(paragraph(piece, *(Piece(f" {said}", piece.tone) for said in word)))
            cells_ = [(name, cell) for name, cell in cells_ if cell not in word]
        for name, cell in cells_:
            title = Piece(f"{name}: " if name else "", Tone.STRONG)
            blocks.append(paragraph(title, Piece(cell), indent=2, hang=4))
        blocks.append(blank())
    return blocks[:-1]
