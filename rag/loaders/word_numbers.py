"""Automatic paragraph numbers of a Word document, as Word shows them.

The numbers are not in the text of the file: a paragraph names a list and a level, and
``numbering.xml`` says how each level counts and looks (ECMA-376 part 1, 17.9).
"""

from __future__ import annotations

from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
Level = dict[str, Any]


class Numbers:
    """Counts the lists of one document; ask it for every paragraph, in order."""

    def __init__(self, numbering: Any | None) -> None:
        """``numbering`` is the root element of numbering.xml, or None."""
        self._levels: dict[str, dict[int, Level]] = {}
        self._list_of: dict[str, str] = {}
        self._counts: dict[str, dict[int, int]] = {}
        if numbering is None:
            return
        for abstract in numbering.iter(W + "abstractNum"):
            key = abstract.get(W + "abstractNumId", "")
            self._levels[key] = {
                _number(level.get(W + "ilvl")): _level(level) for level in abstract.iter(W + "lvl")
            }
        for num in numbering.iter(W + "num"):
            link = num.find(W + "abstractNumId")
            if link is not None:
                self._list_of[num.get(W + "numId", "")] = link.get(W + "val", "")

    def next(self, number_id: str, depth: int) -> str:
        """The number of the next paragraph of that list and level; empty for bullets and none."""
        abstract = self._list_of.get(number_id)
        levels = self._levels.get(abstract or "", {})
        if abstract is None or depth not in levels:
            return ""
        counts = self._counts.setdefault(abstract, {})
        counts[depth] = counts.get(depth, levels[depth]["start"] - 1) + 1
        for deeper in [level for level in counts if level > depth]:
            del counts[deeper]
        if levels[depth]["format"] in {"bullet", "none"}:
            return ""
        text: str = levels[depth]["text"]
        for level, rule in levels.items():
            mark = f"%{level + 1}"
            if mark in text:
                value: int = counts.get(level) or rule["start"]
                legal = levels[depth]["legal"]
                text = text.replace(mark, shown(value, "decimal" if legal else rule["format"]))
        return text


def _level(element: Any) -> Level:
    def value(tag: str, default: str) -> str:
        child = element.find(W + tag)
        return default if child is None else child.get(W + "val", default)

    return {
        "start": _number(value("start", "1")),
        "format": value("numFmt", "decimal"),
        "text": value("lvlText", ""),
        "legal": element.find(W + "isLgl") is not None,
    }


def _number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


def shown(value: int, form: str) -> str:
    """A number in one of Word's formats; an unknown format shows digits."""
    if form in {"lowerLetter", "upperLetter"} and value > 0:
        letter = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letter.upper() if form == "upperLetter" else letter
    if form in {"lowerRoman", "upperRoman"} and 0 < value < 4000:
        roman = _roman(value)
        return roman if form == "lowerRoman" else roman.upper()
    if form == "decimalZero":
        return f"{value:02d}"
    if form == "ganada" and 0 < value <= 14:
        return "가나다라마바사아자차카타파하"[value - 1]
    return str(value)


def _roman(value: int) -> str:
    out = ""
    for size, form in (
        (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
        (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
    ):  # fmt: skip
        out += form * (value // size)
        value %= size
    return out
