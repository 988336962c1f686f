"""The words of one Word paragraph: what shows, what was struck out, what is hidden, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_TINY = 4  # half-points
_OFF = {"0", "false", "off"}


@dataclass(kw_only=True)
class Look:
    """What formatting says about a run; None where it says nothing."""

    vanish: bool | None = None
    color: str | None = None
    size: int | None = None
    shaded: bool | None = None

    def under(self, other: Look) -> Look:
        """This look, with ``other`` where this one says nothing."""
        return Look(
            vanish=other.vanish if self.vanish is None else self.vanish,
            color=other.color if self.color is None else self.color,
            size=other.size if self.size is None else self.size,
            shaded=other.shaded if self.shaded is None else self.shaded,
        )

    def hides(self) -> str:
        """Why a person would not see such a run; empty when one would."""
        if self.vanish:
            return "formatted as hidden text"
        if self.color and self.color.upper() in {"FFFFFF", "FEFEFE", "FDFDFD"} and not self.shaded:
            return "white letters on white"
        if self.size is not None and self.size <= _TINY:
            return "too small to be read"
        return ""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A stretch of one paragraph."""

    text: str
    hidden: str = ""
    """Why it cannot be seen; empty when it can."""
    change: str = ""
    """"insertion" or "deletion" for a tracked change that nobody has accepted."""
    by: str = ""
    """Author and date of the change."""


@dataclass(kw_only=True)
class Paragraph:
    """One paragraph, its pieces in order, and paragraphs inside its text boxes."""

    pieces: list[Piece] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)


class Looks:
    """Formatting as styles define it."""

    def __init__(self, styles: Any | None) -> None:
        """``styles`` is the root element of styles.xml, or None."""
        self._own: dict[str, tuple[Look, str]] = {}
        self.names: dict[str, str] = {}
        self.numbering: dict[str, Any] = {}
        self._default = Look()
        if styles is None:
            return
        for style in styles.iter(W + "style"):
            key = style.get(W + "styleId", "")
            base = style.find(W + "basedOn")
            self._own[key] = (
                look(style.find(W + "rPr")),
                "" if base is None else base.get(W + "val", ""),
            )
            name = style.find(W + "name")
            self.names[key] = "" if name is None else name.get(W + "val", "").lower()
            if (number := style.find(f"{W}pPr/{W}numPr")) is not None:
                self.numbering[key] = number

    def of(self, style: str) -> Look:
        """The look of a style with all it is based on."""
        out, seen = Look(), set()
        while style in self._own and style not in seen:
            seen.add(style)
            own, style = self._own[style]
            out = out.under(own)
        return out


def look(properties: Any | None) -> Look:
    """The look that a w:rPr element states."""
    out = Look()
    if properties is None:
        return out
    for tag in ("vanish", "webHidden"):
        element = properties.find(W + tag)
        if element is not None:
            out.vanish = element.get(W + "val", "true") not in _OFF
    color = properties.find(W + "color")
    if color is not None:
        out.color = color.get(W + "val")
    size = properties.find(W + "sz")
    if size is not None and (size.get(W + "val") or "").isdigit():
        out.size = int(size.get(W + "val"))
    if properties.find(W + "highlight") is not None or _is_dark(properties.find(W + "shd")):
        out.shaded = True
    return out


def _is_dark(shade: Any | None) -> bool:
    fill = "" if shade is None else (shade.get(W + "fill") or "").upper()
    return fill not in {"", "AUTO", "FFFFFF"}


def shaded(element: Any | None) -> bool:
    """Whether a w:pPr or w:tcPr gives its words a background."""
    return element is not None and _is_dark(element.find(W + "shd"))


def read(paragraph: Any, looks: Looks, notes: dict[str, str], *, shade: bool = False) -> Paragraph:
    """The pieces of a w:p element.

    ``notes`` maps the id of a footnote or endnote ("footnote:2") to its printed number.
    """
    out = Paragraph()
    properties = paragraph.find(W + "pPr")
    style = "" if properties is None else _value(properties.find(W + "pStyle"))
    base = looks.of(style)
    if shade or shaded(properties):
        base.shaded = True
    _walk(paragraph, out, looks, notes, base, "", "")
    return out


def _value(element: Any | None) -> str:
    return "" if element is None else element.get(W + "val", "")


def _walk(
    element: Any,
    out: Paragraph,
    looks: Looks,
    notes: dict[str, str],
    base: Look,
    change: str,
    by: str,
) -> None:
    for child in element:
        tag = child.tag
        if not isinstance(tag, str):
            continue
        name = tag.rsplit("}", 1)[-1]
        if name in {"oMath", "oMathPara"}:
            formula = "".join(text.text or "" for text in child.iter(M + "t"))
            if formula:
                out.pieces.append(Piece(text=formula, change=change, by=by))
        elif tag == W + "r":
            _run(child, out, looks, notes, base, change, by)
        elif name in {"ins", "moveTo"}:
            _walk(child, out, looks, notes, base, change or "insertion", _author(child))
        elif name in {"del", "moveFrom"}:
            _walk(child, out, looks, notes, base, "deletion", _author(child))
        elif name in {
            "hyperlink",
            "smartTag",
            "sdt",
            "sdtContent",
            "fldSimple",
            "customXml",
            "dir",
            "bdo",
        }:
            _walk(child, out, looks, notes, base, change, by)


def _author(change: Any) -> str:
    date = (change.get(W + "date") or "")[:10]
    return ", ".join(filter(None, [change.get(W + "author") or "unknown", date]))


def _run(
    run: Any,
    out: Paragraph,
    looks: Looks,
    notes: dict[str, str],
    base: Look,
    change: str,
    by: str,
) -> None:
    properties = run.find(W + "rPr")
    style = "" if properties is None else _value(properties.find(W + "rStyle"))
    own = look(properties).under(looks.of(style)).under(base)
    text = "".join(_characters(run, out, notes))
    if text:
        out.pieces.append(Piece(text=text, hidden=own.hides(), change=change, by=by))


def _characters(run: Any, out: Paragraph, notes: dict[str, str]) -> Iterator[str]:
    for child in run:
        name = child.tag.rsplit("}", 1)[-1] if isinstance(child.tag, str) else ""
        if name in {"t", "delText"}:
            yield child.text or ""
        elif name in {"tab", "ptab"}:
            yield "\t"
        elif name in {"br", "cr"}:
            yield "\n"
        elif name == "noBreakHyphen":
            yield "-"
        elif name in {"footnoteReference", "endnoteReference"}:
            key = f"{name.removesuffix('Reference')}:{child.get(W + 'id')}"
            yield notes.get(key, "").translate(_SUPERSCRIPT)
        elif name == "sym":
            code = child.get(W + "char") or ""
            yield chr(int(code, 16)) if _is_letter_code(code) else "\ufffd"
        elif name in {"drawing", "pict", "object"}:
            out.boxes += child.iter(W + "txbxContent")
        elif child.tag == MC + "AlternateContent":
            choice = child.find(MC + "Choice")
            if choice is not None:
                out.boxes += choice.iter(W + "txbxContent")


def _is_letter_code(code: str) -> bool:
    """Symbols of private fonts (F000 and up) have no meaning as characters."""
    try:
        return 0x20 <= int(code, 16) < 0xE000
    except ValueError:
        return False
