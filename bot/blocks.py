"""What the faces show: blocks of styled text, laid out for a width in cells.

A block is one paragraph made of sentences made of pieces. Wrapping keeps a mark in one piece;
cutting into messages keeps a sentence with its marks. Text in a block is already `visible`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec
from rich.cells import cell_len, split_graphemes

_WORD: Final = re.compile(r"[^ ]+")
_GLUE: Final = "\ue000"
"""Stands for a space that must not break a line; private use, so `visible` text never holds it."""
_BEFORE_MARK: Final = "\ue001"
"""Stands for the space before a mark, where a message is cut only when there is no other place."""


class Tone(StrEnum):
    """How a piece is coloured. Colour only repeats what the words say."""

    PLAIN = "plain"
    STRONG = "strong"
    """Headers and locators."""
    FAINT = "faint"
    """Timings, hints."""
    GREEN = "green"
    AMBER = "amber"
    RED = "red"
    LIT = "lit"
    """The passage a citation points at."""
    LIVE = "live"
    """Text that nobody has checked yet."""


class Piece(NamedTuple):
    """A stretch of text in one tone; a ``whole`` piece is never broken over lines."""

    text: str
    tone: Tone = Tone.PLAIN
    whole: bool = False


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One paragraph."""

    sentences: tuple[tuple[Piece, ...], ...]
    indent: int = 1
    """Cells before the first line."""
    hang: int = 1
    """Cells before the lines after it."""
    as_is: bool = False
    """Laid out already, as a page is: spaces are kept, a line ends only where the width does."""


Line = tuple[Piece, ...]


def paragraph(*pieces: Piece, indent: int = 1, hang: int = 1) -> Block:
    """A block of one sentence."""
    return Block(sentences=(pieces,), indent=indent, hang=hang)


def blank() -> Block:
    """An empty line."""
    return Block(sentences=(), indent=0, hang=0)


def cells(text: str) -> int:
    """How many terminal cells ``text`` takes: two for East Asian wide characters."""
    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Words on lines of at most ``width`` cells; one empty line for no words."""
    return [text[begin:end] for begin, end in _wrap(text, width, width)]


def lay_out(blocks: Iterable[Block], width: int) -> list[Line]:
    """The blocks as lines of at most ``width`` cells.

    Args:
        blocks: What to show, in order.
        width: Cells a line may take; under 20 it is taken as 20.
    """
    lines: list[Line] = []
    for block in blocks:
        lines.extend(_lines(block, max(20, width)))
    return lines


def plain(blocks: Iterable[Block], width: int) -> str:
    """The blocks as text without tones, every line ended by a line feed."""
    lines = lay_out(blocks, width)
    return "".join("".join(piece.text for piece in line).rstrip() + "\n" for line in lines)


def split(blocks: Sequence[Block], limit: int) -> list[str]:
    """The blocks as messages of at most ``limit`` characters, for faces with a message limit.

    A sentence stays with its marks; only one that is longer than a whole message is cut, at a
    space where there is one, and its marks stay with its end. Nothing is lost but the white space
    at the cuts.

    Args:
        blocks: What to show, in order.
        limit: Characters a message may hold, 50 at least.
    """
    messages: list[str] = []
    open_message = ""
    for join, unit in _units(blocks):
        joined = open_message + join + unit if open_message else unit
        if len(joined) <= limit:
            open_message = joined
            continue
        messages.append(open_message)
        *full, open_message = _cut(unit, limit)
        messages.extend(full)
    messages.append(open_message)
    unglued = (text.replace(_GLUE, " ").replace(_BEFORE_MARK, " ") for text in messages)
    return [text.strip("\n") for text in unglued if text.strip()]


def _units(blocks: Sequence[Block]) -> Iterator[tuple[str, str]]:
    """Every sentence with its marks, after what stands between it and the one before."""
    for block in blocks:
        join = "\n"
        if not block.sentences:
            yield join, ""
        for sentence in block.sentences:
            text = ""
            for piece in sentence:
                if piece.whole and text.endswith(" "):
                    text = text[:-1] + _BEFORE_MARK
                text += piece.text.replace(" ", _GLUE) if piece.whole else piece.text
            text = text.rstrip() if block.as_is else text.strip()
            if text:
                yield join, text
                join = " "


def _cut(unit: str, limit: int) -> list[str]:
    parts = []
    while len(unit) > limit:
        at = max(unit.rfind(" ", 1, limit + 1), unit.rfind("\n", 1, limit + 1))
        if at < 1:
            at = unit.rfind(_BEFORE_MARK, 1, limit + 1)
        if at < 1:
            at = limit
        parts.append(unit[:at].rstrip())
        unit = unit[at:].lstrip(f" \n{_BEFORE_MARK}")
    return [*parts, unit]


def _lines(block: Block, width: int) -> Iterator[Line]:
    if not block.sentences:
        yield ()
        return
    pieces = [piece for sentence in block.sentences for piece in sentence]
    flat = "".join(p.text.replace(" ", _GLUE) if p.whole else p.text for p in pieces)
    tones = [piece.tone for piece in pieces for _ in piece.text]
    pad, hang = min(block.indent, width // 3), min(block.hang, width // 3)
    start = 0
    for row in flat.split("\n"):
        cut = _chop if block.as_is else _wrap
        for begin, end in cut(row, width - pad, width - hang):
            yield _styled(flat, tones, start + begin, start + end, pad)
            pad = hang
        start += len(row) + 1


def _styled(flat: str, tones: list[Tone], begin: int, end: int, pad: int) -> Line:
    line = [Piece(" " * pad)] if pad else []
    at = begin
    while at < end:
        to = at
        while to < end and tones[to] is tones[at]:
            to += 1
        line.append(Piece(flat[at:to].replace(_GLUE, " "), tones[at]))
        at = to
    return tuple(line)


def _wrap(row: str, room: int, rest: int) -> Iterator[tuple[int, int]]:
    """``[begin, end)`` of each line of words; the first has ``room`` cells, the others ``rest``."""
    begin = end = used = 0
    for word in _WORD.finditer(row):
        start, stop = word.span()
        width = cell_len(word[0])
        if end > begin and used + (start - end) + width <= room:
            used += start - end + width
            end = stop
            continue
        if end > begin:
            yield begin, end
            room = rest
        begin = start
        while width > room:  # longer than a whole line: cut between characters
            cut = begin + _fitting(row[begin:stop], room)
            yield begin, cut
            begin, room = cut, rest
            width = cell_len(row[begin:stop])
        end, used = stop, width
    yield begin, end


def _chop(row: str, room: int, rest: int) -> Iterator[tuple[int, int]]:
    """``[begin, end)`` of each line, spaces kept, cut where the width ends, before a word there."""
    begin = 0
    while cell_len(row[begin:]) > room:
        cut = begin + _fitting(row[begin:], room)
        if " " not in row[cut - 1 : cut + 1]:  # inside a word: before it, where that is not far
            space = row.rfind(" ", begin + (cut - begin) // 2, cut)
            cut = space + 1 if space >= 0 else cut
        yield begin, cut
        begin, room = cut + (row[cut : cut + 1] == " " and row[cut + 1 : cut + 2] != " "), rest
    yield begin, len(row)


def _fitting(text: str, room: int) -> int:
    """How many characters of ``text`` fit in ``room`` cells, whole graphemes only; one at least."""
    fit = 0
    spans, _ = split_graphemes(text)
    for _, end, width in spans:
        room -= width
        if room < 0:
            break
        fit = end
    return max(fit, 1)
