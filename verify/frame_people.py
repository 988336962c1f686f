"""The people named around a quotation, however the reply gives them the words.

"**Vance**: ...", "Testimony of Ms. Vance: ...", a table's cell: no list of verbs ends. Where the
document prints who speaks and the reply names people there, one of them must be that speaker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
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
    r"“(?P<curly>[^“”\n]{12,}[.?!…])”|\"(?P<straight>[^\"\n]{12,}[.?!…])\""
    r"|«(?P<angled>[^«»\n]{12,}[.?!…])\s?»"
)
"""Other whole sentences quoted in the same line or row, such as the question an answer follows.
Where they are the document's own words, whom they name does not speak here."""
_BEFORE: Final = 240
_AFTER: Final = 80


def people_around(
    reply: str,
    span: tuple[int, int],
    titles: Sequence[tuple[int, int]],
    titled: Collection[str],
    holds: Callable[[str], bool],
) -> tuple[str, ...]:
    """The people of the quotation's own sentence or row, a label right before it alone.

    Args:
        reply: The reply.
        span: The quotation in it; ``titles`` are stretches that name documents.
        titled: What `titled_words` gives for the document; a bare capitalised word is a person
            where the document gives it a title.
        holds: Whether words stand in the document; other quotations that do not are read as the
            reply's own words.
    """
    masked = reply
    for a, b in titles:
        masked = masked[:a] + " " * (b - a) + masked[b:]
    line = masked.rfind("\n", 0, span[0]) + 1
    stop = masked.find("\n", span[1])
    stop = len(masked) if stop < 0 else stop
    masked = _without_others(masked, line, max(line, span[0] - 1), holds)
    masked = _without_others(masked, min(span[1] + 1, stop), stop, holds)
    start = max(line, sentence_start(masked, span[0], max(line, span[0] - _BEFORE)))
    before = masked[start : span[0]]
    label = _LABEL.search(before)
    if label and _is_person(label["who"], titled):
        return (label["who"],)
    limit = min(stop, span[1] + _AFTER)
    end = sentence_end(masked, span[1], limit)
    after = masked[span[1] : end]
    own = reply[start : span[0]] + reply[span[1] : end]
    if not re.search(r"\w", own) and not reply[end:].lstrip().startswith(("(", "[")):
        # Marks alone: the sentence before them says whose words they are.
        low = max(line, start - _BEFORE)
        low = sentence_start(masked, len(masked[:start].rstrip('"”» ')) - 1, low)
        before = masked[low : span[0]]
        if not re.search(r"\w", before):
            before = _heading_above(masked, line)
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


def _heading_above(text: str, line: int) -> str:
    """The line above one that holds marks alone, where it is a heading or leads to it."""
    above = text[max(0, line - _BEFORE) : line].rstrip()
    last = above[above.rfind("\n") + 1 :].strip()
    heads = last.startswith(("#", "*", "_", "|")) or last.rstrip("*_").endswith(":")
    return last if heads else ""


def _without_others(text: str, low: int, high: int, holds: Callable[[str], bool]) -> str:
    """The text with the document's other quoted sentences between two of its characters blanked."""

    def blank(match: re.Match[str]) -> str:
        words = match["curly"] or match["straight"] or match["angled"]
        return " " * len(match.group()) if holds(words) else match.group()

    return text[:low] + _OTHER_WORDS.sub(blank, text[low:high]) + text[high:]


def _is_person(word: str, titled: Collection[str]) -> bool:
    if word.casefold() in COMMON_CAPITALS:
        return False
    return word in titled or word.upper() in titled
