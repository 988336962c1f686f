"""The people named around a quotation, however the reply gives them the words.

"**Vance**: ...", "Testimony of Ms. Vance: ...", a table's cell: no list of verbs ends. Where the
document prints who speaks and the reply names people there, one of them must be that speaker.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from verify.namelists import COMMON_CAPITALS
from verify.word_forms import sentence_end, sentence_start

_TITLE: Final = r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Justice|Judge|Herr|Frau|Mme)\.?\s+"
_CAPITALISED: Final = re.compile(
    rf"(?P<title>{_TITLE})?(?<![\w.'’-])(?P<who>[A-Z][a-zà-ÿ]+(?:-[A-Z][a-z]+)?)(?:['’]s)?(?![\w.])"
)
_LABEL: Final = re.compile(
    rf"(?:{_TITLE})?(?P<who>[A-Z][a-zà-ÿ]+)[*_]*\s*(?:\([^()]*\))?[*_]*\s*[:–—|-]+[\s*_>]*"
    r"[\"“„«「『'‘]?\Z"
)
_ASKED: Final = re.compile(r"\basked “[^“”\n]*”")
"""The question an answer follows: whom counsel names in it does not speak."""
_BEFORE: Final = 240
_AFTER: Final = 80


def people_around(
    reply: str, span: tuple[int, int], titles: Sequence[tuple[int, int]], text: str
) -> tuple[str, ...]:
    """The people of the quotation's own sentence or row, a label right before it alone.

    Args:
        reply: The reply.
        span: The quotation in it; ``titles`` are stretches that name documents.
        text: The document; a bare capitalised word is a person where the document gives it a title.
    """
    masked = reply
    for a, b in titles:
        masked = masked[:a] + " " * (b - a) + masked[b:]
    masked = _ASKED.sub(lambda match: " " * len(match.group()), masked)
    line = masked.rfind("\n", 0, span[0]) + 1
    start = max(line, sentence_start(masked, span[0], max(line, span[0] - _BEFORE)))
    before = masked[start : span[0]]
    label = _LABEL.search(before)
    if label and _is_person(label["who"], text):
        return (label["who"],)
    stop = masked.find("\n", span[1])
    limit = min(len(masked) if stop < 0 else stop, span[1] + _AFTER)
    after = masked[span[1] : sentence_end(masked, span[1], limit)]
    found = [
        match["who"]
        for piece in (before, re.split(r"[“\"„«「]", after)[0])
        for match in _CAPITALISED.finditer(piece)
        if match["title"] or _is_person(match["who"], text)
    ]
    return tuple(dict.fromkeys(found))


def _is_person(word: str, text: str) -> bool:
    if word.casefold() in COMMON_CAPITALS:
        return False
    return re.search(rf"(?i:{_TITLE}){re.escape(word)}\b", text) is not None or (
        re.search(rf"(?i:{_TITLE}){re.escape(word.upper())}\b", text) is not None
    )
