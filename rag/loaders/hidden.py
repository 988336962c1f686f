"""Characters that a person cannot see but a machine reads; shared by all loaders.

Tag characters (U+E0000 to U+E007F) spell out whole sentences without showing a dot; runs of
variation selectors and of zero-width characters carry bits; bidi overrides show a text in another
order than it is stored in. All are taken out of the text and listed. A single zero-width space or
byte order mark shows nothing and would split a word for every search: it is taken out, too, and is
no finding; so is a joiner between two Latin letters. Elsewhere a joiner is typography and stays, as
does a soft hyphen. Words that mix Latin letters with their likes are listed and stay.
"""

from __future__ import annotations

import re

from rag.loaders.parts import PageDraft
from rag.lookalikes import mixed_words
from rag.paged import FindingKind

_TAGS = "[\U000e0000-\U000e007f]+"
_ZERO = "[\u200b\u200c\u200d\u2060\u2061-\u2064\ufeff\u180e]{4,}"
_ORDER = "[\u202a-\u202e\u2066-\u2069]+"
_SELECTORS = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"
_SINGLE = "[\u200b\u2060\ufeff\u180e]+|(?<=[A-Za-z0-9])[\u200c\u200d]+(?=[A-Za-z0-9])"
_CHARS = re.compile(
    f"(?P<tags>{_TAGS})|(?P<zero>{_ZERO})|(?P<order>{_ORDER})|(?P<selectors>{_SELECTORS})"
    f"|(?P<single>{_SINGLE})"
)
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,7}\U000e007f")
_REASONS = {
    "tags": "characters that are never shown spell out words",
    "zero": "a run of characters without width",
    "order": "marks that change the order in which the letters are shown",
    "selectors": "a run of characters without width",
    "single": "",
}
_ALIKE = "letters of another script that look like Latin ones stand inside a word"
_MOST_WORDS = 200
"""Words with strange letters that are listed of one text."""


def unseen_runs(text: str) -> list[tuple[int, int, str, str]]:
    """Stretches a person cannot see: start, end, reason, what it spells (if anything).

    Without a reason it is ordinary typography that is taken out all the same.
    """
    if text.isascii():
        return []
    flags = [match.span() for match in _FLAG.finditer(text)]
    out = []
    for match in _CHARS.finditer(text):
        if any(start <= match.start() < end for start, end in flags):
            continue
        kind = match.lastgroup or ""
        spelt = ""
        if kind == "tags":
            spelt = "".join(chr(ord(char) - 0xE0000) for char in match.group()).strip("\x00\x01")
        if kind == "selectors":
            spelt = bytes(map(_byte, match.group())).decode("utf-8", "replace")
            spelt = spelt if spelt.isprintable() else ""
        out.append((match.start(), match.end(), _REASONS[kind], spelt))
    return out


def without_unseen(text: str, page: PageDraft, base: int = 0) -> str:
    """``text`` without what cannot be seen, each stretch noted as a finding of ``page``.

    ``base`` is where this text will stand in the page.
    """
    runs = unseen_runs(text)
    if not runs:
        _note_alike(text, page, base)
        return text
    kept: list[str] = []
    done = length = 0
    for start, end, reason, spelt in runs:
        kept.append(text[done:start])
        length += start - done
        if reason:
            page.find(FindingKind.HIDDEN_TEXT, base + length, reason, spelt)
        done = end
    kept.append(text[done:])
    left = "".join(kept)
    _note_alike(left, page, base)
    return left


def _byte(char: str) -> int:
    """The byte that a variation selector stands for: 1 to 16, then 17 to 256."""
    return ord(char) - 0xFE00 if char <= "\ufe0f" else ord(char) - 0xE0100 + 16 & 0xFF


def _note_alike(text: str, page: PageDraft, base: int) -> None:
    for start, end in mixed_words(text)[:_MOST_WORDS]:
        page.find(FindingKind.LOOKALIKE, base + start, _ALIKE, text[start:end])
