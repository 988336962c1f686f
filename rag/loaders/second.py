"""The second reader: another program counts the words of every page.

A page is marked when the two counts lie more than 2 % apart and the letters and digits do too:
readers often differ in where they see a space, and that alone loses nothing.
"""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass

import pypdf

APART = 0.02


@dataclass(frozen=True, kw_only=True)
class Count:
    """Words, and letters and digits, of one page by one reader."""

    words: int
    letters: int


def count(text: str) -> Count:
    """The count of a text."""
    return Count(words=len(text.split()), letters=sum(map(str.isalnum, text)))


def apart(one: Count, two: Count) -> bool:
    """Whether two readers disagree about a page."""
    return _far(one.words, two.words) and _far(one.letters, two.letters)


def _far(one: int, two: int) -> bool:
    most = max(one, two)
    return most > 0 and abs(one - two) > max(APART * most, 1)


def pdf_counts(data: bytes) -> list[Count | None] | None:
    """What pypdf counts on every page; None for a page, or for all, that it cannot read."""
    quiet = logging.getLogger("pypdf")
    before, quiet.level = quiet.level, logging.CRITICAL
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted:
            return None
        return [_page_count(page) for page in reader.pages]
    except Exception:  # pypdf raises what the damage happens to hit
        return None
    finally:
        quiet.level = before


def _page_count(page: pypdf.PageObject) -> Count | None:
    try:
        return count(page.extract_text())
    except Exception:
        return None


def lacks(theirs: Count, ours: Count) -> bool:
    """Whether ours misses more than 2 % of what the other reader found.

    For formats where ours adds words on purpose (automatic numbers, marks around comments).
    """
    return theirs.letters - ours.letters > max(
        APART * theirs.letters, 1
    ) and theirs.words - ours.words > max(APART * theirs.words, 1)
