"""Lays the words of a quotation along the words of the record.

First a plain run: most quotations stand in the record word for word. Otherwise the cheapest
alignment (Needleman-Wunsch with free ends), one numpy row a word. At an ellipsis or a bracket the
record may go on almost for free, so the parts stay in order and in one document by construction.
The costs only choose *which* differences are shown. They never decide a verdict: `edits.py` types
every difference that is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from verify.quotation import INFLECTIONS, Quotation, Word
from verify.tokens import Unit

_OMIT: Final = 1.0  # a word of the record left out
_ADD: Final = 1.0  # a word of the quotation that the record has not
_SWAP: Final = 1.7
_FREE: Final = 0.004  # a word of the record inside a gap
_NOTE: Final = 0.15  # a glued number: most likely a footnote marker

# Korean particles: a noun may be quoted without the one that follows it.
PARTICLES: Final = frozenset(
    "은 는 이 가 을 를 의 에 에서 에게 께 와 과 로 으로 이라고 라고 고 라는 이라는"
    " 이며 며 이고 도 및 인 등 까지 부터".split()
)


@dataclass(frozen=True)
class Alignment:
    """Pairs of (word of the quotation, unit of the record); None stands for nothing."""

    pairs: tuple[tuple[int | None, int | None], ...]
    cost: float


def meets(word: Word, unit: Unit, *, last: bool) -> bool:
    """Whether a word of the quotation and a unit of the record are the same word."""
    if word.bracket == "case":
        return unit.key == word.unit.key
    if word.bracket == "stem":
        if unit.key == word.unit.key:
            return True
        rest = unit.key.removeprefix(word.outside)
        grown = unit.key.startswith(word.outside) and rest in INFLECTIONS
        return grown and word.inside in INFLECTIONS
    if unit.key == word.unit.key:
        return True
    return last and is_particle(word.unit.key, unit.key)


def is_particle(quoted: str, record: str) -> bool:
    """Whether the record has the quoted Korean noun with a particle glued to it."""
    rest = record.removeprefix(quoted)
    return rest != record and rest in PARTICLES and "\uac00" <= quoted[-1:] <= "\ud7a3"


def exact_runs(quotation: Quotation, record: Sequence[Unit], *, most: int = 40) -> list[Alignment]:
    """All places where the words of a quotation without gaps stand in a row."""
    words = quotation.words
    if any(0 < k < len(words) for k in quotation.gaps) or not words:
        return []
    found = []
    size = len(words)
    first = words[0]
    if first.bracket or size == 1:
        starts = [j for j, unit in enumerate(record) if meets(first, unit, last=size == 1)]
    else:
        starts = [j for j, unit in enumerate(record) if unit.key == first.unit.key]
    for start in starts:
        if start + size > len(record):
            break
        if all(meets(words[k], record[start + k], last=k == size - 1) for k in range(1, size)):
            found.append(Alignment(tuple((k, start + k) for k in range(size)), 0.0))
            if len(found) >= most:
                break
    return found


def best_alignment(
    quotation: Quotation, record: Sequence[Unit], *, omit_cost: float = _OMIT
) -> Alignment | None:
    """The cheapest alignment of a quotation; None when there is nothing to align.

    Args:
        quotation: One reading of it.
        record: Units of the record.
        omit_cost: Cost of a word of the record that the quotation has not; lower where the reply
            says that it left something out.
    """
    words = quotation.words
    if not words or not record:
        return None
    same = _same(words, record)
    omit = np.full(len(record) + 1, omit_cost)
    for j, unit in enumerate(record):
        if unit.marker or (unit.glued and unit.key.isdigit() and len(unit.key) <= 3):
            omit[j + 1] = _NOTE
    omit[0] = 0.0
    whole: NDArray[np.float64] = np.cumsum(omit)
    free: NDArray[np.float64] = np.arange(len(record) + 1) * np.float64(_FREE)
    table = np.zeros((len(words) + 1, len(record) + 1))
    gap_rows = {k for k in quotation.gaps if 0 < k < len(words)}
    for i in range(1, len(words) + 1):
        above = table[i - 1]
        row = table[i]
        row[1:] = above[:-1] + np.where(same[i - 1], 0.0, _SWAP)
        row[0] = above[0] + _ADD
        np.minimum(row[1:], above[1:] + _ADD, out=row[1:])
        drift = free if i in gap_rows else whole
        if i < len(words):
            row[:] = np.minimum.accumulate(row - drift) + drift
    return _trace(table, same, whole, free, gap_rows)


def _same(words: Sequence[Word], record: Sequence[Unit]) -> NDArray[np.bool_]:
    keys: dict[str, int] = {}
    first: list[Unit] = []
    theirs = np.empty(len(record), dtype=np.int64)
    for j, unit in enumerate(record):
        number = keys.setdefault(unit.key, len(keys))
        if number == len(first):
            first.append(unit)
        theirs[j] = number
    same = np.zeros((len(words), len(record)), dtype=bool)
    for i, word in enumerate(words):
        last = i == len(words) - 1
        if word.bracket or last:
            fits = np.array([meets(word, unit, last=last) for unit in first])
            same[i] = fits[theirs]
        else:
            number = keys.get(word.unit.key, -1)
            if number >= 0:
                same[i] = theirs == number
    return same


def _trace(
    table: NDArray[np.float64],
    same: NDArray[np.bool_],
    whole: NDArray[np.float64],
    free: NDArray[np.float64],
    gap_rows: set[int],
) -> Alignment:
    i = table.shape[0] - 1
    j = int(np.argmin(table[i]))
    cost = float(table[i, j])
    pairs: list[tuple[int | None, int | None]] = []
    while i > 0:
        here = table[i, j]
        if j > 0:
            step = 0.0 if same[i - 1, j - 1] else _SWAP
            if abs(table[i - 1, j - 1] + step - here) < 1e-7:
                pairs.append((i - 1, j - 1))
                i, j = i - 1, j - 1
                continue
        if abs(table[i - 1, j] + _ADD - here) < 1e-7:
            pairs.append((i - 1, None))
            i -= 1
            continue
        pairs.append((None, j - 1))
        j -= 1
    pairs.reverse()
    return Alignment(tuple(pairs), cost)
