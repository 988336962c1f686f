"""The people named around a quotation, however the reply gives them the words.

"**Vance**: ...", "Testimony of Ms. Vance: ...", a table's cell: no list of verbs ends. Where the
document prints who speaks and the reply names people there, one of them must be that speaker.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from verify.namelists import COMMON_CAPITALS
from verify.word_forms import sentence_end, sentence_start

_TITLE: Final = r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Justice|Judge|Herr|Frau|Mme)\.?\s+"
_CAPITALISED: Final = re.compile(
    rf"(?P<title>{_TITLE})?(?<![\w.'’-])(?P<who>[A-Z][a-zà-ÿ]+(?:-[A-Z][a-z]+)?)(?:['’]s)?(?![\w.])"
)
_TITLED: Final = re.compile(rf"(?i:{_TITLE})(?=(?P<who>\w+(?:-\w+)*))")
_LABEL: Final = re.compile(
    rf"(?:{_TITLE})?(?P<who>[A-Z][a-zà-ÿ]+)[*_]*\s*(?:\([^()]*\))?[*_]*\s*[:–—|-]+[\s*_>]*"
    r"[\"“„«「『'‘]?\Z"
)
_OTHER_WORDS: Final = re.compile(
    r"\basked (?:“[^“”\n]*”|\"[^\"\n]*\"|«[^«»\n]*»|„[^„“”\n]*[“”])"
    r"|“[^“”\n]{12,}[.?!…]”|\"[^\"\n]{12,}[.?!…]\"|«[^«»\n]{12,}[.?!…]\s?»"
)
"""Other whole sentences that the same line or row quotes, and the question an answer follows: whom
the record's own words name there does not speak here."""
_BEFORE: Final = 240
_AFTER: Final = 80


def people_around(
    reply: str, span: tuple[int, int], titles: Sequence[tuple[int, int]], titled: Collection[str]
) -> tuple[str, ...]:
    """The people of the quotation's own sentence or row, a label right before it alone.

    Args:
        reply: The reply.
        span: The quotation in it; ``titles`` are stretches that name documents.
        titled: What `titled_words` gives for the document; a bare capitalised word is a person
            where the document gives it a title.
    """
    masked = reply
    for a, b in titles:
        masked = masked[:a] + " " * (b - a) + masked[b:]
    line = masked.rfind("\n", 0, span[0]) + 1
    stop = masked.find("\n", span[1])
    stop = len(masked) if stop < 0 else stop
    masked = _without_others(masked, line, max(line, span[0] - 1))
    masked = _without_others(masked, min(span[1] + 1, stop), stop)
    start = max(line, sentence_start(masked, span[0], max(line, span[0] - _BEFORE)))
    before = masked[start : span[0]]
    label = _LABEL.search(before)
    if label and _is_person(label["who"], titled):
        return (label["who"],)
    limit = min(stop, span[1] + _AFTER)
    after = masked[span[1] : sentence_end(masked, span[1], limit)]
    found = [
        match["who"]
        for piece in (before, re.split(r"[“\"„«「]", after)[0])
        for match in _CAPITALISED.finditer(piece)
        if match["title"] or _is_person(match["who"], titled)
    ]
    return tuple(dict.fromkeys(found))


def titled_words(text: str) -> frozenset[str]:
    """The words that a text gives a title ("Mr. Osei", "MS. VANCE"), as they stand there; of a
    name with a hyphen also what stands before it."""
    found: set[str] = set()
    for match in _TITLED.finditer(text):
        parts = match["who"].split("-")
        found.update("-".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(found)


def _without_others(text: str, low: int, high: int) -> str:
    """The text with the other quoted sentences between two of its characters blanked."""
    return (
        text[:low]
        + _OTHER_WORDS.sub(lambda match: " " * len(match.group()), text[low:high])
        + text[high:]
    )


def _is_person(word: str, titled: Collection[str]) -> bool:
    if word.casefold() in COMMON_CAPITALS:
        return False
    return word in titled or word.upper() in titled
