"""One document as a stream of units: raw offsets, line, region; typography folded, the map kept.

A *unit* is what may not change in a quotation: a word, a number, or a sign that means something
(``$ % §``). Everything between two units (punctuation, dashes, quotation marks) is kept folded in
``before``. Which lines are furniture is `layout.py`'s business; this file only reads the lines.

Worked example, record text ``"The Ten-\\n 4 ant shall"`` (4 is a printed line number):

    units for a quotation that holds "tenant":  the[0:3] tenant[4:17] shall[18:23]

Nothing is ever compared after lower-casing alone: `Unit.raw` keeps what stands in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from typing import Final

from verify.layout import Layout, Region

# Invisible inside a word: combining accents, soft hyphen, zero-width characters, BOM.
_UNSEEN: Final = "\u0300-\u036f\u200b-\u200d\u2060\ufeff"
# Scripts written without spaces: each character is a unit of its own.
_HAN: Final = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-"
    "\U0003ffff"
)
_SUPERSCRIPT: Final = "\u00b2\u00b3\u00b9\u2070-\u2079"
# Characters that NFKC would turn into plain digits or fractions; each stays itself.
_SINGLE: Final = "\u00bc-\u00be\u2080-\u209f\u2150-\u218b\u2460-\u24ff\u2776-\u2793\u3200-\u33ff"
_LETTER: Final = rf"[^\W_{_HAN}{_SUPERSCRIPT}{_SINGLE}]"
_TAIL: Final = rf"(?:{_LETTER}|[{_UNSEEN}]|\u00ad(?={_LETTER}))"
_APOSTROPHE: Final = "['’‘ʼ`´＇]"
_SIGN: Final = "$€£¥₩₤¢%‰§¶&+=<>°±×÷≤≥≠√\u2212＄％＆￦"
UNIT: Final = re.compile(
    rf"(?P<number>\d+(?:[.,:/]\d+)*{_TAIL}*)"
    rf"|(?P<word>{_LETTER}{_TAIL}*(?:{_APOSTROPHE}{_LETTER}{_TAIL}*)*)"
    rf"|(?P<one>[{_HAN}{_SINGLE}{_SIGN}])"
    rf"|(?P<mark>[{_SUPERSCRIPT}]+)"
)
_UNSEEN_RE: Final = re.compile(f"[{_UNSEEN}\u00ad]")
_SOFT: Final = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_FRACTION: Final = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8"}
_SUPER_DIGITS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
# What PDF readers leave for a hyphen at a line end.
HYPHENS: Final = "-\u2010\u2011\u00ad\x02\uf02d\ufffe"
_LINE_END_HYPHEN: Final = re.compile(rf"[{HYPHENS}][ \t\u00a0\r]*$")

_GLYPHS: Final[dict[str, str]] = {
    **dict.fromkeys("\"'“”„‟‘’‚‛«»‹›「」『』〝〞〟＂＇`´ʼ′″", '"'),
    **dict.fromkeys("-‐‑‒–—―−﹣－\x02\uf02d\ufffe⸺⸻", "-"),
    **dict.fromkeys("*_#>|~^\\•·▪●■□◦\uf0b7\uf0a7", ""),
    "…": "...",
    "。": ".",
    "、": ",",
    "，": ",",
    "．": ".",
    "：": ":",
    "；": ";",
    "（": "(",
    "）": ")",
    "！": "!",
    "？": "?",
    "［": "[",
    "］": "]",
    "【": "[",
    "】": "]",
    "〔": "[",
    "〕": "]",
}
_GLYPH_TABLE: Final = str.maketrans(_GLYPHS)
_BLANK: Final = re.compile(r"\s+")
_DASHES: Final = re.compile(r"-{2,}")


@dataclass(slots=True)
class Unit:
    """One word, number or sign, and where it stands in the raw text."""

    key: str
    """Folded for comparison: NFKC, case, apostrophes; digits and signs kept."""
    raw: str
    start: int
    end: int
    before: str
    """Folded punctuation between the unit before and this one."""
    glued: bool = False
    """No white space between the unit before and this one."""
    marker: bool = False
    """Printed as a superscript."""
    line: int = -1
    region: Region = Region.BODY
    parts: tuple[tuple[int, int], ...] = ()
    """Raw ranges, where the word is broken over lines."""


def fold_word(raw: str) -> str:
    """The comparison key of one word: compatibility forms, case and apostrophes folded."""
    if raw.isascii():
        return raw.lower().replace("`", "'")
    if raw in _FRACTION:
        return _FRACTION[raw]
    if len(raw) == 1 and unicodedata.category(raw) == "No":
        return raw.translate(_SUPER_DIGITS)
    folded = unicodedata.normalize("NFKC", _SOFT.sub("", raw)).casefold()
    folded = re.sub(_APOSTROPHE, "'", folded)
    return unicodedata.normalize("NFC", folded) or raw


def fold_between(raw: str) -> str:
    """Punctuation as compared: no white space, one quotation mark, one dash."""
    if raw in {"", " "}:
        return ""
    dashed = re.sub("[\u00ad]{2,}|(?<=\\s)\u00ad|\u00ad(?=\\s)", "-", raw)
    squeezed = _BLANK.sub("", _UNSEEN_RE.sub("", dashed)).translate(_GLYPH_TABLE)
    return _DASHES.sub("-", squeezed)


def scan(text: str, *, start: int = 0) -> Iterator[Unit]:
    """The units of a plain piece of text, offsets counted from ``start``."""
    last = 0
    for match in UNIT.finditer(text):
        gap = text[last : match.start()]
        raw = match.group()
        yield Unit(
            key=fold_word(raw),
            raw=raw,
            start=start + match.start(),
            end=start + match.end(),
            before=fold_between(gap),
            glued=last > 0 and not any(c.isspace() for c in gap),
            marker=match.lastgroup == "mark",
        )
        last = match.end()


def stream(
    layout: Layout,
    lines: Iterable[int],
    *,
    regions: Set[Region],
    vocabulary: Set[str],
    raw: bool = False,
) -> list[Unit]:
    """The units of some lines of a document, in reading order.

    Args:
        layout: The document's lines.
        lines: Numbers of the lines to read, ascending.
        regions: Lines of other regions are left out (their offsets never appear).
        vocabulary: Keys of the quotation. A word broken at a line end is one unit where the joined
            word is among them, and otherwise two units with a dash between.
        raw: Read printed line numbers as text too; their units say so in ``region``.
    """
    units: list[Unit] = []
    pending = ""  # raw text since the last unit
    broken = False  # the last unit ends in a line-end hyphen
    for number in lines:
        if layout.lines[number].region not in regions:
            continue
        row = _row(layout, number, raw=raw)
        if not row.units:
            pending += row.tail
            continue
        first = row.units[0]
        rest = row.units[1:] if len(row.units) > 1 else []
        if not (broken and units and not row.head.strip() and _joins(units, first, vocabulary)):
            if pending.strip() or not pending:
                gap = pending + row.head
                first = replace(
                    first,
                    before=fold_between(gap),
                    glued=bool(units) and not any(c.isspace() for c in gap),
                )
            units.append(first)
        units += rest
        pending = row.tail
        broken = row.broken
    return units


@dataclass(slots=True)
class _Row:
    """The units of one line, the text before the first and after the last."""

    head: str
    units: list[Unit]
    tail: str
    broken: bool
    """The line ends in a hyphen right after its last unit."""


_ROWS_KEPT = 6_000


def _row(layout: Layout, number: int, *, raw: bool) -> _Row:
    """The units of one line, read once and kept with the layout; they are never changed."""
    key = -number - 1 if raw else number
    found = layout.rows.get(key)
    if isinstance(found, _Row):
        return found
    line = layout.lines[number]
    text = layout.text
    start = line.start if raw else line.content
    units: list[Unit] = []
    last = start
    for match in UNIT.finditer(text, start, line.end):
        gap = text[last : match.start()]
        word = match.group()
        units.append(
            Unit(
                key=fold_word(word),
                raw=word,
                start=match.start(),
                end=match.end(),
                before="" if gap == " " else fold_between(gap),
                glued=bool(units) and gap != " " and not any(c.isspace() for c in gap),
                marker=match.lastgroup == "mark",
                line=number,
                region=Region.LINE_NUMBER if match.start() < line.content else line.region,
            )
        )
        last = match.end()
    tail = text[last : line.end]
    made = _Row(
        head=text[start : units[0].start] if units else "",
        units=units,
        tail=tail + "\n",
        broken=bool(units) and bool(_LINE_END_HYPHEN.match(tail)),
    )
    if len(layout.rows) > _ROWS_KEPT:
        layout.rows.clear()
    layout.rows[key] = made
    return made


def _joins(units: list[Unit], right: Unit, vocabulary: Set[str]) -> bool:
    """Joins a broken word onto the last unit, which is replaced, not changed."""
    left = replace(units[-1])
    if not _join(left, right, vocabulary):
        return False
    units[-1] = left
    return True


def _join(left: Unit, right: Unit, vocabulary: Set[str]) -> bool:
    if not left.raw[-1:].isalpha():
        return False
    key = fold_word(left.raw + right.raw)
    if key not in vocabulary:
        return False
    parts = left.parts or ((left.start, left.end),)
    left.parts = (*parts, (right.start, right.end))
    left.key = key
    left.raw += right.raw
    left.end = right.end
    return True
