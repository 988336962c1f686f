"""Letters that look like Latin ones and are others: found in words, and folded for looking up.

Only words that mix the scripts are meant: a Russian or Greek word is what it is. The folded text
has the same length, so places in it are places in the text.

Source: the single letters of Unicode's confusables (UTS 39) between Cyrillic, Greek and Latin.
"""

from __future__ import annotations

import re
from typing import Final

_CYRILLIC: Final = dict(
    zip(
        "аевгкморстухісѕԁјһԛԝАВЕКМНОРСТУХІЅЈԚԜ",
        "aebrkmopctyxicsdjhqwABEKMHOPCTYXISJQW",
        strict=True,
    )
)
_GREEK: Final = dict(zip("οΑΒΕΖΗΙΚΜΝΟΡΤΥΧν", "oABEZHIKMNOPTYXv", strict=True))
_ALIKE: Final = str.maketrans(_CYRILLIC | _GREEK)
_LETTERS: Final = "".join([*_CYRILLIC, *_GREEK])
_MIXED: Final = re.compile(
    rf"(?=\w*[A-Za-z])\w*[{_LETTERS}]\w*",
)


def mixed_words(text: str) -> list[tuple[int, int]]:
    """Where words stand that hold both Latin letters and letters that look like them."""
    if text.isascii():
        return []
    return [found.span() for found in _MIXED.finditer(text) if len(found.group()) > 2]


def folded(text: str) -> str:
    """The text with such words as they look; as long as before."""
    spans = mixed_words(text)
    if not spans:
        return text
    out, done = [], 0
    for start, end in spans:
        out += [text[done:start], text[start:end].translate(_ALIKE)]
        done = end
    return "".join([*out, text[done:]])
