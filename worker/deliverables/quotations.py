"""Quotations by reference: the model points at a sentence, code puts in the record's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from worker.deliverables.prose import cleaned
from worker.deliverables.wording import quoted
from worker.quoting import Sentence

_MARKER: Final = re.compile(r"\[\[\s*(\d{1,4})\s*\]\]")
_ANY_MARKER: Final = re.compile(r"\s*\[\[[^\[\]]{0,40}\]\]")


def put_in_quotations(text: str, held: Sequence[Sentence]) -> tuple[str, int, int]:
    """The model's prose with each ``[[n]]`` replaced by the record's words.

    A marker that names no sentence, or is malformed, is taken out: it is never shown as a source.
    The prose is cleaned first, so that what is put in stays as the record has it.

    Returns:
        The text, how many markers named nothing, and how many links, tags or marks were taken out.
    """
    text, taken = cleaned(text)
    unknown = 0

    def words(match: re.Match[str]) -> str:
        nonlocal unknown
        number = int(match[1])
        if 1 <= number <= len(held):
            return quoted(held[number - 1].words)
        unknown += 1
        return match.group()

    text = _MARKER.sub(words, text)
    text, malformed = _ANY_MARKER.subn("", text)
    return text, max(unknown, malformed), taken
