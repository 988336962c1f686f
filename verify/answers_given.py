"""Whether an answer of a transcript was given to the question that the reply puts before it.

Both may be the record's own words, each at its place, and still make up an exchange that never
was. So where a reply quotes a question and then an answer, the question must be the one asked last
before the answer.
"""

from __future__ import annotations

import re
from typing import Final

from verify.layout import TEXT_REGIONS
from verify.quotes import Match
from verify.record import OpenRecord
from verify.speakers import Turn, Voice
from verify.word_forms import fold, words_of

_ASKED: Final = re.compile(
    r"[“\"«„](?P<question>[^“”\"«»\n]{3,400}\?)[”\"»]"
    r"(?P<between>[^“”\"«»„\n]{0,120})[“\"«„]?\Z"
)
"""A quoted question that ends right before the quotation, with what the reply says between them."""
_ANSWERED: Final = re.compile(
    r"(?i)\W*(?:(?:[\w'’-]+\.?\s+){0,5}"
    r"(?:said|says|answer\w*|repl\w+|respon\w+|testif\w+|told|stated)\b"
    r"[^,;]{0,40})?\Z"
)
"""What leads from a question to its answer: nothing, or a few words with a verb of saying."""
_LEFT_OUT: Final = re.compile(r"…|\.\s?\.\s?\.|\[")


def asked_otherwise(reply: str, at: int, match: Match, record: OpenRecord) -> str:
    """Why the quotation at ``at`` is no answer to the question before it; empty if it may be.

    Args:
        reply: The reply.
        at: Where the quotation starts in it.
        match: Where its words stand.
        record: The opened record.
    """
    found = _ASKED.search(reply[max(0, at - 600) : at])
    if found is None or not _ANSWERED.match(found["between"]):
        return ""
    if _LEFT_OUT.search(found["question"]):
        return ""
    turns = record.speakers(match.document).turns
    here = [turn for turn in turns if turn.start <= match.start]
    if not here or here[-1].voice is Voice.QUESTION:
        return ""
    asked = next((turn for turn in reversed(here) if turn.voice is Voice.QUESTION), None)
    if asked is None:
        return ""
    if _says(asked, turns, found["question"], match, record):
        return ""
    return "The record gives this answer to another question than the one quoted before it"


def _says(
    asked: Turn, turns: tuple[Turn, ...], question: str, match: Match, record: OpenRecord
) -> bool:
    """Whether a turn holds the words of a question, line numbers and furniture left out."""
    layout = record.layout(match.document)
    end = next((turn.start for turn in turns if turn.start > asked.start), match.start)
    first, last = layout.line_at(asked.start), layout.line_at(end)
    text = " ".join(
        layout.text[max(line.content, asked.start) : min(line.end, end)]
        for line in layout.lines[first : last + 1]
        if line.region in TEXT_REGIONS
    )
    return f" {' '.join(words_of(fold(question)))} " in f" {' '.join(words_of(fold(text)))} "
