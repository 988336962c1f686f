"""A model's prose before anybody sees it: nothing in it that acts, shines or hides.

A document may talk a model into writing a link that carries words away, a mark that looks like the
checker's, or letters that nobody sees. None of them belongs in a reply, so they are taken out, and
a note says so.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_IMAGE_OR_LINK: Final = re.compile(
    r"!?\[(?P<label>[^\[\]\n]{0,400})\]\([^()\s]{1,2000}(?:\s[^()\n]{0,400})?\)"
)
_REFERENCE: Final = re.compile(r"^[ \t]*\[[^\[\]\n]{1,200}\]:[ \t]*\S.*$", re.MULTILINE)
_TAG: Final = re.compile(r"</?[A-Za-z!][^<>]{0,2000}>")
_ADDRESS: Final = re.compile(
    r"\b(?:[a-z][a-z0-9+.-]{1,20}://|www\.|(?:mailto|data|javascript|file):)\S+", re.IGNORECASE
)
_MARK: Final = re.compile(
    r"(?:[✔✓✅☑≈✘✗❌✖]|\[(?:ok|look|bad)\])\ufe0f?\s{0,3}"
    r"(?:VERIFIED(?:_MARKED| MARKED)?|COMPUTED|CHECK|ALTERED|NOT[_ ]FOUND|MISATTRIBUTED|AMBIGUOUS|"
    r"INCONSISTENT)?",
)
_ROUNDS: Final = 4
_SENTENCES: Final = re.compile(r"(?<=[.!?。])(\s+)")
_PARAGRAPHS: Final = re.compile(r"\n\s*\n")
_SHORT_WORDS: Final = 4
"""A sentence of so few words may come again: "It does not say.\""""
_UNSEEN: Final = frozenset({"Cf", "Cc", "Co", "Cs"})
_KEPT: Final = frozenset("\n\t\u00ad\u200d")


def cleaned(text: str) -> tuple[str, int]:
    """The prose without links, tags, marks and unseen characters, and how many were taken out.

    Repeated until nothing is left to take: what is taken out must not join what is left into
    another link.
    """
    total = 0
    for _ in range(_ROUNDS):
        text, taken = _once(text)
        total += taken
        if not taken:
            break
    return text, total


def without_repeats(text: str) -> tuple[str, int]:
    """The prose with each sentence once, and how many more were left out; small models go round."""
    seen: set[str] = set()
    kept: list[str] = []
    left_out = 0
    for paragraph in _PARAGRAPHS.split(text):
        pieces = _SENTENCES.split(paragraph)
        out = ""
        for sentence, space in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            form = " ".join(sentence.split()).casefold()
            if form in seen and len(form.split()) > _SHORT_WORDS:
                left_out += 1
                continue
            seen.add(form)
            out += sentence + space
        if out.strip():
            kept.append(out.rstrip())
    return (text, 0) if not left_out else ("\n\n".join(kept), left_out)


def _once(text: str) -> tuple[str, int]:
    seen = "".join(
        character
        for character in text
        if character in _KEPT or unicodedata.category(character) not in _UNSEEN
    )
    taken = len(text) - len(seen) > 0
    text, links = _IMAGE_OR_LINK.subn(lambda match: match["label"], seen)
    text, references = _REFERENCE.subn("", text)
    text, tags = _TAG.subn("", text)
    text, addresses = _ADDRESS.subn("[address left out]", text)
    text, marks = _MARK.subn("", text)
    return text, links + references + tags + addresses + marks + taken
