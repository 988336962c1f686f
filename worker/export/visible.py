"""Text as it leaves: nothing in it that a reader cannot see, nothing that a file format forbids.

A character without a shape (zero width, order marks, tags, private use) is printed as its code
point in angle marks, so that what was approved and what is read are the same.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cf", "Cc", "Co", "Cs", "Cn"})
_KEPT: Final = frozenset("\n\t\u00ad\u200d")
"""Line ends, tabs, and the joiners of ordinary typography."""


def visible(text: str) -> str:
    """The text with every unseen character shown as its code point; idempotent."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"⟨U+{ord(character):04X}⟩"
