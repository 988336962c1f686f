"""Hashes of words and of four words in a row, by the million: what `index.py` stores and looks up.

A word is a run of letters, folded by case and compatibility form; a character of a script without
spaces is a word. All words of a text are hashed at once: the codes times powers of an odd base are
summed up (modulo 2**64), and a word's hash is the difference of two sums times the inverse power
where it begins, so equal words have equal hashes wherever they stand.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

GRAM: Final = 4
"""Words in a gram."""
_CHUNK: Final = 1 << 17  # characters hashed at a time, so that the working arrays stay in cache
_BASE: Final = 0x9E3779B97F4A7C15  # odd, so it has an inverse modulo 2**64
_INVERSE: Final = pow(_BASE, -1, 1 << 64)
_GRAM_BASE: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_MIX: Final = np.uint64(0xFF51AFD7ED558CCD)  # the 64-bit finaliser of MurmurHash3
_KEPT_BELOW: Final = np.uint64((1 << 64) // 3)  # keeps one gram in three

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]


@cache
def _tables() -> tuple[U64, NDArray[np.bool_], U64, U64]:
    """Letter codes (0 for what is no letter), lone characters, powers, inverse powers."""
    size = 0x30000
    codes = np.zeros(size, dtype=np.uint64)
    lone = np.zeros(size, dtype=bool)
    for code in range(size):
        char = chr(code)
        if char.isalpha():
            folded = unicodedata.normalize("NFKC", char).casefold()
            codes[code] = ord(folded[0]) if folded else code
    # Scripts without spaces: every character is a word.
    for low, high in ((0x3040, 0x3100), (0x31F0, 0x3200), (0x3400, 0xA000), (0xF900, 0xFB00)):
        lone[low:high] = True
    lone[0x20000:] = True
    powers, inverses = np.empty((2, _CHUNK + 1), dtype=np.uint64)
    powers[0] = inverses[0] = 1
    powers[1:] = np.uint64(_BASE)
    inverses[1:] = np.uint64(_INVERSE)
    np.multiply.accumulate(powers, out=powers)
    np.multiply.accumulate(inverses, out=inverses)
    return codes, lone, powers, inverses


def _mixed(values: U64) -> U64:
    mixed = values ^ (values >> np.uint64(33))
    mixed *= _MIX
    mixed ^= mixed >> np.uint64(29)
    return mixed


def hash_words(text: str) -> tuple[U64, U32]:
    """The hash of every word of letters, and the character at which it begins."""
    if text.isascii():
        points: NDArray[Any] = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    else:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    hashes, begins = [], []
    at = 0
    while at < len(points):
        chunk = points[at : at + _CHUNK]
        found, starts, used = _hash_chunk(chunk, last=at + _CHUNK >= len(points))
        hashes.append(found)
        begins.append(starts + np.uint32(at))
        at += used
    if not hashes:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32)
    return np.concatenate(hashes), np.concatenate(begins)


def _hash_chunk(points: NDArray[Any], *, last: bool) -> tuple[U64, U32, int]:
    """Words that end in this chunk, and how many characters were used up."""
    codes, lone, _, _ = _tables()
    if points.dtype == np.uint32:
        points = np.minimum(points, len(codes) - 1)
    values = codes[points]
    inside = values != 0
    edge = np.empty(len(points) + 1, dtype=bool)
    edge[0], edge[-1] = inside[0], inside[-1]
    np.not_equal(inside[1:], inside[:-1], out=edge[1:-1])
    if points.dtype == np.uint32:
        single = lone[points] & inside
        if single.any():
            return _hash_lone(values, inside, single, last=last)
    bounds = np.flatnonzero(edge)
    starts, ends = bounds[0::2], bounds[1::2]
    used = len(points)
    if not last and len(ends) and ends[-1] == len(points) and len(starts) > 1:
        used = int(starts[-1])  # the last word may go on in the next chunk
        starts, ends = starts[:-1], ends[:-1]
    return _span_hashes(values, starts, ends), starts.astype(np.uint32), used


def _span_hashes(values: U64, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> U64:
    _, _, powers, inverses = _tables()
    total = np.empty(len(values) + 1, dtype=np.uint64)
    total[0] = 0
    np.multiply(values, powers[: len(values)], out=total[1:])
    np.add.accumulate(total, out=total)
    return _mixed((total[ends] - total[starts]) * inverses[starts])


def _hash_lone(
    values: U64, inside: NDArray[np.bool_], single: NDArray[np.bool_], *, last: bool
) -> tuple[U64, U32, int]:
    """The same where some characters are words by themselves."""
    before = np.concatenate(([False], inside[:-1]))
    before_single = np.concatenate(([False], single[:-1]))
    begin = inside & (~before | single | before_single)
    starts = np.flatnonzero(begin)
    after = np.concatenate((inside[1:], [False]))
    after_begin = np.concatenate((begin[1:], [True]))
    ends = np.flatnonzero(inside & (~after | after_begin)) + 1
    used = len(values)
    if not last and len(ends) and ends[-1] == len(values) and len(starts) > 1:
        used = int(starts[-1])
        starts, ends = starts[:-1], ends[:-1]
    return _span_hashes(values, starts, ends), starts.astype(np.uint32), used


def grams_of(hashes: U64) -> tuple[U32, NDArray[np.int64]]:
    """The kept grams of a run of words, and the word at which each begins."""
    if len(hashes) < GRAM:
        return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64)
    value = hashes[: len(hashes) - GRAM + 1].copy()
    for k in range(1, GRAM):
        value *= _GRAM_BASE
        value += hashes[k : len(hashes) - GRAM + 1 + k]
    value = _mixed(value)
    kept = np.flatnonzero(value < _KEPT_BELOW)
    return (value[kept] & np.uint64(0xFFFFFFFF)).astype(np.uint32), kept


def clean(passage: str) -> str:
    """A passage of a reply with what is invisible inside words taken out."""
    composed = unicodedata.normalize("NFC", passage)
    return "".join(c for c in composed if unicodedata.category(c) != "Cf")
