"""Drafts and final papers: which version of a paper a reply says it quotes.

"In the draft of March 2022, "..."" names no title, yet it says that the words are a draft's. Green
needs a document that calls itself one; and a draft's words are not those of the signed paper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from verify.word_forms import sentence_start

_DRAFT: Final = re.compile(
    r"\b(?:drafts?|redlined?|unsigned|superseded|preliminary|proposed form|entwurf|brouillon"
    r"|(?:earlier|prior|previous|original|first|older) (?:version|form|text|wording))\b|초안|草案",
    re.IGNORECASE,
)
_FINAL: Final = re.compile(
    r"\b(?:final|signed|executed|as[- ]filed|definitive) (?:\w+ ){0,2}"
    r"(?:version|form|text|agreement|contract|lease|copy|paper|document|letter|report)\b|최종본",
    re.IGNORECASE,
)
_REACH: Final = 240
"""How far before a quotation its own sentence is read, in characters."""
_HEAD: Final = 400
"""In how many characters from its start a document may call itself a draft."""


def other_version(
    reply: str, at: int, titles: Sequence[tuple[int, int]], title: str, text: str
) -> str:
    """The words by which a reply says that it quotes another version; empty where it does not.

    Args:
        reply: The reply.
        at: Where the quotation begins in it.
        titles: Stretches of it that name documents: a draft that is named is compared elsewhere.
        title: Of the document that holds the words.
        text: That document's text.
    """
    masked = reply
    for a, b in titles:
        masked = masked[:a] + " " * (b - a) + masked[b:]
    frame = masked[sentence_start(masked, at, max(0, at - _REACH)) : at]
    drafted = _DRAFT.search(f"{title}\n{text[:_HEAD]}") is not None
    found = _FINAL.search(frame) if drafted else _DRAFT.search(frame)
    return found.group() if found else ""
