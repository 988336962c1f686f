"""Characters that a person cannot see but a machine reads; shared by all loaders.

Tag characters (U+E0000 to U+E007F) spell out whole sentences without showing a dot; long runs of
zero-width characters carry bits; bidi overrides show a text in another order than it is stored in.
All three are taken out of the text and listed. A single joiner or soft hyphen is ordinary
typography and stays.
"""

from __future__ import annotations

import re

from rag.loaders.parts import PageDraft
from rag.paged import FindingKind

_TAGS = "[\U000e0000-\U000e007f]+"
_ZERO = "[\u200b\u200c\u200d\u2060\u2061-\u2064\ufeff\u180e]{4,}"
_ORDER = "[\u202a-\u202e\u2066-\u2069]+"
_CHARS = re.compile(f"(?P<tags>{_TAGS})|(?P<zero>{_ZERO})|(?P<order>{_ORDER})")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,7}\U000e007f")
_REASONS = {
    "tags": "characters that are never shown spell out words",
    "zero": "a run of characters without width",
    "order": "marks that change the order in which the letters are shown",
}


def unseen_runs(text: str) -> list[tuple[int, int, str, str]]:
    """Stretches a person cannot see: start, end, reason, what it spells (if anything)."""
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
        out.append((match.start(), match.end(), _REASONS[kind], spelt))
    return out


def without_unseen(text: str, page: PageDraft, base: int = 0) -> str:
    """``text`` without what cannot be seen, each stretch noted as a finding of ``page``.

    ``base`` is where this text will stand in the page.
    """
    runs = unseen_runs(text)
    if not runs:
        return text
    kept: list[str] = []
    done = length = 0
    for start, end, reason, spelt in runs:
        kept.append(text[done:start])
        length += start - done
        page.find(FindingKind.HIDDEN_TEXT, base + length, reason, spelt)
        done = end
    kept.append(text[done:])
    return "".join(kept)
