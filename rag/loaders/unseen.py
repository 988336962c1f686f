"""Whether a browser would show an element's words, by its style and those above it.

A verdict is a reason in words; a doubt is one too, but leaves the words where they are: the page is
then to be looked at. Lengths are in CSS pixels (96 an inch), of a window 1,200 pixels wide.

Source: CSS 2.2 visual formatting; CSS Color 4; WCAG 2.2 for relative luminance and contrast.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from PIL import ImageColor

from rag.loaders.styles import Style

_PIXELS: Final = {
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 9.6 / 2.54,
    "vw": 12.0,
    "vh": 8.0,
    "": 1.0,
}
_LENGTH: Final = re.compile(
    r"^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(px|pt|pc|in|cm|mm|vw|vh|r?em|ex|ch|%|)$"
)
_SIZES: Final = {
    "xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0,
    "x-large": 24.0, "xx-large": 32.0,
}  # fmt: skip
_LEAST_PX: Final = 2.0
"""Letters up to this high are dots."""
_FAR_PX: Final = -500.0
_LEAST_OPACITY: Final = 0.1
_LEAST_CONTRAST: Final = 1.2
"""Letters and paper nearer than this are one colour to the eye; black on white has 21."""
_WHITE: Final = (255, 255, 255)
_FONT: Final = re.compile(
    r"(?:^|\s)((?:\d+\.?\d*|\.\d+)(?:px|pt|em|rem|%)?|[a-z-]*small|medium|[a-z-]*large)(?:/\S+)?\s"
)
_VARIABLE: Final = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,([^()]*))?\)")
_ZERO: Final = re.compile(r"^[-+]?0*\.?0+(?:[a-z%]*)$|^0$")
_HIDING: Final = frozenset(
    "display visibility opacity font-size font color left top right bottom text-indent margin-left"
    " margin-top transform clip clip-path width height max-width max-height filter mso-hide"
    " content-visibility -webkit-text-fill-color background background-color zoom".split()
)
HIDDEN_TEXT: Final = "an element that is not displayed"
DOUBT: Final = "a style sheet may hide words here: look at the page itself"

Colour = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What an element passes on to those inside it."""

    colour: Colour = (0, 0, 0)
    paper: Colour | None = _WHITE
    """None where a picture lies behind."""
    size_px: float = 16.0
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How an element is shown."""

    hidden: str
    """Why its words are not seen; empty when they are."""
    doubt: bool
    inside: Seen


def judged(element: Any, style: Style, above: Seen, unsure: Sequence[Style] = ()) -> Verdict:
    """Whether an element's words are seen, and what holds inside it.

    Args:
        element: With its attributes.
        style: What is declared of it, the strongest last.
        above: What its parent passes on.
        unsure: Declarations that hold under conditions not known here.
    """
    plain = not style and not unsure
    if plain and element.tag != "dialog" and element.get("hidden") is None:
        return Verdict(hidden="", doubt=False, inside=above)
    variables = dict(above.variables) | {k: v for k, v in style.items() if k.startswith("--")}
    style = _resolved(style, variables)
    size = _size(style, above.size_px)
    colour, alpha = _colour(style.get("color", ""), above.colour)
    fill = style.get("-webkit-text-fill-color")
    if fill:
        colour, alpha = _colour(fill, colour)
    paper = _paper(style, above.paper)
    inside = Seen(
        colour=colour, paper=paper, size_px=size, variables=tuple(sorted(variables.items()))
    )
    hidden = _why(element, style, size, alpha, above)
    doubt = False
    if not hidden and _contrast(colour, paper or _WHITE) < _LEAST_CONTRAST:
        if paper is None:
            doubt = True
        else:
            hidden = "letters in the colour of what lies behind them"
    if not hidden:
        doubt = doubt or any(
            _HIDING.intersection(one) and judged(element, style | one, above).hidden
            for one in unsure
        )
    return Verdict(hidden=hidden, doubt=doubt, inside=inside)


def _why(element: Any, style: Style, size: float, alpha: float, above: Seen) -> str:
    if (element.get("hidden") is not None and style.get("display", "none") == "none") or (
        style.get("display") == "none"
    ):
        return HIDDEN_TEXT
    if element.tag == "dialog" and element.get("open") is None and "display" not in style:
        return HIDDEN_TEXT
    if style.get("mso-hide") in {"all", "screen"} or style.get("content-visibility") == "hidden":
        return HIDDEN_TEXT
    if style.get("visibility") in {"hidden", "collapse"} or _opacity(style) <= _LEAST_OPACITY:
        return "an element that is invisible"
    if size <= _LEAST_PX or _ZERO.match(style.get("zoom", "1")):
        return "letters too small to be read"
    if _away(style, size):
        return "an element outside the page"
    if _clipped(style, size) or _squeezed(style, size):
        return "an element cut off or pressed to nothing"
    return "transparent letters" if alpha <= _LEAST_OPACITY else ""


def _resolved(style: Style, variables: dict[str, str]) -> Style:
    """Declarations with their variables put in; one with an unknown variable does not count."""
    out: Style = {}
    for key, value in style.items():
        for _ in range(8):
            if "var(" not in value:
                break
            value = _VARIABLE.sub(
                lambda found: variables.get(found[1], found[2] or "\0").strip(), value
            )
        if "\0" not in value and "var(" not in value:
            out[key] = value
    return out


def px(value: str, size: float, whole: float = 1200.0) -> float | None:
    """A length in pixels; None when it is none. ``whole`` is what per cent count from."""
    found = _LENGTH.match(value.strip())
    if found is None:
        return None
    number, unit = float(found[1]), found[2]
    if unit == "%":
        return number / 100 * whole
    if unit in {"em", "ex", "ch"}:
        return number * size * (1.0 if unit == "em" else 0.5)
    return number * (16.0 if unit == "rem" else _PIXELS[unit])


def _size(style: Style, above: float) -> float:
    said = style.get("font-size", "")
    if not said and "font" in style and (found := _FONT.search(f"{style['font']} ")):
        said = found[1]
    if said in _SIZES:
        return _SIZES[said]
    if said in {"smaller", "larger"}:
        return above * (0.83 if said == "smaller" else 1.2)
    found_px = px(said, above, above)
    return above if found_px is None else found_px


def _opacity(style: Style) -> float:
    least = 1.0
    for text in (
        style.get("opacity", ""),
        *re.findall(r"opacity\(([^)]*)\)", style.get("filter", "")),
    ):
        found = re.match(r"^\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*(%?)\s*$", text)
        if found:
            least = min(least, float(found[1]) / (100 if found[2] else 1))
    return least


def _away(style: Style, size: float) -> bool:
    for key in ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"):
        length = px(style.get(key, ""), size)
        if length is not None and length <= _FAR_PX:
            return True
    for name, inside in re.findall(
        r"(translate[xy]?|translate3d)\(([^)]*)\)", style.get("transform", "")
    ):
        for part in inside.split(","):
            length = px(part, size)
            if name and length is not None and length <= _FAR_PX:
                return True
    return False


def _clipped(style: Style, size: float) -> bool:
    if found := re.match(r"^rect\(([^)]*)\)$", style.get("clip", "")):
        sides = [px(part, size) for part in re.split(r"[,\s]+", found[1].strip())]
        if len(sides) == 4 and None not in sides:
            top, right, bottom, left = (side or 0.0 for side in sides)
            return right - left <= 1 or bottom - top <= 1
    path = style.get("clip-path", "")
    if found := re.match(r"^inset\(\s*([\d.]+)%", path):
        return float(found[1]) >= 50
    return bool(re.match(r"^(?:circle|ellipse)\(\s*0(?:px|%)?[\s)]", path)) or bool(
        re.match(r"^polygon\((?:\s*0(?:px|%)?\s+0(?:px|%)?\s*,?)+\)$", path)
    )


def _squeezed(style: Style, size: float) -> bool:
    turned = style.get("transform", "")
    if re.search(
        r"scale[xy]?\(\s*(?:0*\.?0+\d?|0)\s*[,)]|matrix\(\s*0\s*,\s*0|rotate[xy]\(\s*90deg", turned
    ):
        return True
    cut = any(
        style.get(key, "") in {"hidden", "clip"} for key in ("overflow", "overflow-x", "overflow-y")
    )
    for key in ("height", "width", "max-height", "max-width"):
        length = px(style.get(key, ""), size)
        if length is not None and length <= 1 and (cut or key == "max-height"):
            return True
    return False


# --- colours ---


def _colour(text: str, above: Colour) -> tuple[Colour, float]:
    """A colour and how much of it covers; the one above where nothing usable is said."""
    said = text.strip()
    if said == "transparent":
        return above, 0.0
    if found := re.match(r"^(rgb|hsl)a?\(([^()]*)\)$", said):
        parts = [one for one in re.split(r"[,\s/]+", found[2].strip()) if one]
        if len(parts) >= 3:
            alpha = _part(parts[3], 1.0) if len(parts) > 3 else 1.0
            return _named(f"{found[1]}({','.join(parts[:3])})") or above, alpha
        return above, 1.0
    if re.match(r"^#(?:[0-9a-f]{4}|[0-9a-f]{8})$", said):
        short = len(said) == 5
        digits = said[4] * 2 if short else said[7:]
        return _named(said[:4] if short else said[:7]) or above, int(digits, 16) / 255
    return (_named(said) if said else None) or above, 1.0


def _part(text: str, whole: float) -> float:
    found = re.match(r"^([-+]?(?:\d+\.?\d*|\.\d+))(%?)$", text)
    return float(found[1]) / (100 if found[2] else 1) if found else whole


def _named(said: str) -> Colour | None:
    try:
        found = ImageColor.getrgb(re.sub(r"(\d)deg\b", r"\1", said))
    except ValueError:
        return None
    red, green, blue = found[:3]
    return red, green, blue


def _paper(style: Style, above: Colour | None) -> Colour | None:
    said = f"{style.get('background', '')} {style.get('background-color', '')}".strip()
    if not said:
        return above
    if re.search(r"url\(|gradient\(|image\(", f"{said} {style.get('background-image', '')}"):
        return None
    for word in re.findall(r"(?:rgb|hsl)a?\([^()]*\)|#[0-9a-f]{3,8}|[a-z]+", said):
        colour, alpha = _colour(word, (-1, -1, -1))
        if colour != (-1, -1, -1) and alpha > 0.5:
            return colour
    return above


def _contrast(one: Colour, two: Colour) -> float:
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [value / 255 for value in colour]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
