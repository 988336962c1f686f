"""The second reader: another program counts the words of every page.

A page is marked when the two counts lie more than 2 % apart and the letters and digits do too:
readers often differ in where they see a space, and that alone loses nothing.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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


class PdfCounter:
    """pypdf over one file; a page it cannot read, or a file, has no count."""

    def __init__(self, data: bytes) -> None:
        self._reader: pypdf.PdfReader | None = None
        with _quiet():
            try:
                reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
                if not reader.is_encrypted:
                    self._pages = len(reader.pages)
                    self._reader = reader
            except Exception:  # pypdf raises what the damage happens to hit
                self._reader = None

    @property
    def opened(self) -> bool:
        """Whether the second reader could open the file at all."""
        return self._reader is not None

    def count(self, index: int) -> Count | None:
        """What it counts on page ``index`` (from 0)."""
        if self._reader is None or index >= self._pages:
            return None
        with _quiet():
            try:
                return count(self._reader.pages[index].extract_text())
            except Exception:
                return None


@contextmanager
def _quiet() -> Iterator[None]:
    """pypdf logs what it finds odd, with pieces of the file; that must reach no log."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def lacks(theirs: Count, ours: Count) -> bool:
    """Whether ours misses more than 2 % of what the other reader found.

    For formats where ours adds words on purpose (automatic numbers, marks around comments).
    """
    return theirs.letters - ours.letters > max(
        APART * theirs.letters, 1
    ) and theirs.words - ours.words > max(APART * theirs.words, 1)
