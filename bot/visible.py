"""Makes text from a case safe to print: what a terminal would obey is shown instead.

Control characters can move the cursor, bidi overrides can turn "shall not" around, invisible
characters can hide words. Each becomes a sign with its code point, such as ``⟨U+202E⟩``, so a
reader sees that it stands there. Printable text passes through unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_OBEYED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories whose characters print nothing of their own or have no agreed look."""

_SPACES: Final = re.compile(r"[ \n]+")
_JOINER: Final = "\u200d"
_MOST_MARKS: Final = 6
"""Combining marks on one letter; no script stacks more, and a tower paints over other lines."""

TAB: Final = "    "


def visible(text: str, *, ascii_only: bool = False) -> str:
    """``text`` with every character that a terminal would obey shown by its code point.

    Line feeds stay, since the caller lays out lines; a tab becomes four spaces and a carriage
    return before a line feed goes. Characters that join an emoji stay.

    Args:
        text: Words of the record, of a model or of a user.
        ascii_only: Show code points in ``<U+202E>`` instead, for terminals without the signs.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\t", TAB)
    shown: list[str] = []
    marks = 0
    for at, character in enumerate(text):
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if character == "\n":
            shown.append(character)
        elif marks > _MOST_MARKS or (category in _OBEYED and not _joins_an_emoji(text, at)):
            shown.append(_code(character, ascii_only=ascii_only))
        else:
            shown.append(character)
    return "".join(shown)


def one_line(text: str, *, ascii_only: bool = False) -> str:
    """``text`` made visible and on one line: runs of spaces and line ends become one space."""
    return _SPACES.sub(" ", visible(text, ascii_only=ascii_only)).strip()


def _code(character: str, *, ascii_only: bool) -> str:
    code = f"U+{ord(character):04X}"
    return f"<{code}>" if ascii_only else f"⟨{code}⟩"


def _joins_an_emoji(text: str, at: int) -> bool:
    if text[at] != _JOINER or not 0 < at < len(text) - 1:
        return False
    before = at - 1
    while before > 0 and (text[before] == "\ufe0f" or "\U0001f3fb" <= text[before] <= "\U0001f3ff"):
        before -= 1
    return unicodedata.category(text[before]) == unicodedata.category(text[at + 1]) == "So"
