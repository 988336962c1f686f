"""Text to index terms: what the keyword index counts as a word.

Used for indexing and for questions alike, so both sides see the same terms. Hangul words also give
their two-syllable pieces, because a particle is glued to its noun: a question for "누수" must find
"누수를". Verification does not use this file: it reads the record by its own rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

TERMS_VERSION: Final = "4"
"""Stored with the index; a change here means the keyword index is built anew."""

_WORD: Final = re.compile(r"제\s?[0-9]+\s?[조항호장절편]|[0-9]+(?:[.,][0-9]+)*|[^\W\d_]+")
"""A numbered article ("제3조") is one word; so is a number with its commas, a run of letters."""
_HANGUL: Final = re.compile(r"[가-힣]+")

_STOP: Final = frozenset(
    "a an and any are as at be been but by can could did do does for from had has have how if in "
    "into is it its may might must of on or other shall should so such than that the their them "
    "then there these they this those to was were what when where which who whom whose will with "
    "would under upon".split()
)

# Endings taken off English words, longest first, with what stays of the stem at the least.
_ENDINGS: Final = (
    ("ization", "iz"), ("isation", "iz"), ("ations", ""), ("ation", ""), ("ments", ""),
    ("ities", ""), ("ative", ""), ("ating", ""), ("ators", ""), ("ated", ""), ("ates", ""),
    ("ator", ""), ("ifies", "ify"), ("ified", "ify"), ("ment", ""), ("ings", ""), ("ible", ""),
    ("able", ""), ("ate", ""), ("ity", ""),
    ("ors", ""), ("ers", ""), ("ies", "y"), ("ing", ""), ("ion", ""), ("ive", ""), ("ise", "iz"),
    ("ize", "iz"), ("ed", ""), ("es", ""), ("or", ""), ("er", ""), ("al", ""), ("ly", ""),
    ("s", ""), ("e", ""),
)  # fmt: skip
_STEM_CHARS: Final = 4

# British spellings that the endings below would not bring together with the American ones.
_SPELLINGS: Final = {
    "licence": "license", "licences": "license", "sublicence": "sublicense",
    "sublicences": "sublicense", "defence": "defense", "offence": "offense", "colour": "color",
    "favour": "favor", "favourable": "favor", "favoured": "favor", "honour": "honor",
    "labour": "labor", "neighbour": "neighbor", "behaviour": "behavior", "centre": "center",
    "programme": "program", "cheque": "check", "judgement": "judgment", "tyre": "tire",
    "acknowledgement": "acknowledgment", "instalment": "installment",
    "instalments": "installment", "fulfil": "fulfill", "storey": "story",
}  # fmt: skip


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A lower-case English word without its ending: "terminated", "termination" give "termin"."""
    word = _SPELLINGS.get(word, word)
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_CHARS:
            word = word[: len(word) - len(ending)] + instead
            break
    return word


def words(text: str) -> Iterator[str]:
    """The words and numbers of a text, folded for comparing, in order; nothing is dropped."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    for found in _WORD.finditer(folded):
        word = found.group()
        yield word if word.isalpha() else re.sub(r"[,\s]", "", word)


def terms(text: str, *, keep_common: bool = False) -> list[str]:
    """The index terms of a text, in order.

    Args:
        text: Any text; NFC and NFD give the same terms.
        keep_common: Whether words such as "the" count.
    """
    out: list[str] = []
    for word in words(text):
        if not word.isascii() and _HANGUL.fullmatch(word):
            # Pieces only: a whole word would not meet the same word with a particle.
            out.extend(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif not keep_common and word in _STOP:
            continue
        else:
            out.append(stem(word) if word.isascii() else word)
    return out


def match_any(found: list[str]) -> str:
    """An FTS5 expression that any of the terms satisfies; empty for no terms."""
    return " OR ".join(f'"{term}"' for term in dict.fromkeys(found) if term)
