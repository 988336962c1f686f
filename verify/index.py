"""Where in the record could these words stand? Answered from word hashes, never from a scan.

Per document one file, made once at ingest and memory-mapped afterwards, keyed by the text's hash:

* *grams*: hashes of four words in a row, one in three kept (the hash itself says which), sorted,
  each with the character where it begins. A quotation's grams vote for a document and a place.
* *postings*: for every word the blocks of 256 words that hold it, for quotations too short to
  hold a kept gram.

Only words of letters are indexed, so printed line numbers, page numbers and footnote markers stand
in nobody's way. The index only proposes places. What it proposes is read again in full by
`quotes.py`; a place it fails to propose can make a verdict worse, never better.

File: tag, SHA-256 of the text, six little-endian uint32 lengths, then the arrays.
"""

from __future__ import annotations

import mmap
import os
import secrets
import struct
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from protocol.errors import Damaged

GRAM: Final = 4
"""Words in a gram."""
BLOCK: Final = 256
"""Words in a block of the postings; doubled for a document of more than 65,535 blocks."""
_TAG: Final = b"SCQIDX04"
_HEAD: Final = struct.Struct("<8s32s6I")
_CHUNK: Final = 1 << 17  # characters hashed at a time, so that the working arrays stay in cache
_BASE: Final = 0x9E3779B97F4A7C15  # odd, so it has an inverse modulo 2**64
_INVERSE: Final = pow(_BASE, -1, 1 << 64)
_GRAM_BASE: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_MIX: Final = np.uint64(0xFF51AFD7ED558CCD)  # the 64-bit finaliser of MurmurHash3

_KEPT_BELOW: Final = np.uint64((1 << 64) // 3)  # keeps one gram in three

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class DocumentIndex:
    """The arrays of one document."""

    grams: U32
    """Sorted gram hashes."""
    gram_at: U32
    """Character offset of each gram."""
    words: U32
    """Sorted hashes of the distinct words."""
    counts: U16
    """In how many blocks each word stands."""
    blocks: U16
    """The blocks of the first word, then of the second, and so on."""
    block_at: U32
    """Character offset of each block's first word."""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order of the file."""
        return (self.grams, self.gram_at, self.words, self.counts, self.blocks, self.block_at)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where each word's blocks end in ``blocks``."""
        return np.cumsum(self.counts, dtype=np.int64)

    @property
    def size_bytes(self) -> int:
        """How large the file is."""
        return _HEAD.size + sum(array.nbytes for array in self.arrays)


@dataclass(frozen=True, order=True)
class Place:
    """A proposed place; the better of two compares greater."""

    votes: float
    document: int
    """Number of the document in the record index."""
    start: int
    """About where the passage begins, in characters."""
    end: int
    """Where the passage has begun at the latest."""


# --- words and grams ------------------------------------------------------------------------------


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
    codes, lone, powers, inverses = _tables()
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


def _grams(hashes: U64) -> tuple[U32, NDArray[np.int64]]:
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


# --- building, writing, opening -------------------------------------------------------------------


def build_index(text: str) -> DocumentIndex:
    """Indexes one canonical text in memory."""
    text, moves = _composed(text)
    hashes, begins = hash_words(text)
    if moves is not None:
        begins = _raw_offsets(begins, moves)
    grams, kept = _grams(hashes)
    packed = np.sort((grams.astype(np.uint64) << np.uint64(32)) | begins[kept])
    size = BLOCK
    while len(hashes) // size >= 0xFFFF:
        size *= 2
    numbers = np.arange(len(hashes), dtype=np.uint64) // np.uint64(size)
    pairs = np.sort(((hashes & np.uint64(0xFFFFFFFF)) << np.uint64(16)) | numbers)
    if len(pairs):
        pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
    words = (pairs >> np.uint64(16)).astype(np.uint32)
    fresh = np.flatnonzero(np.concatenate(([True], words[1:] != words[:-1]))) if len(words) else []
    bounds = np.append(fresh, len(words)).astype(np.int64)
    return DocumentIndex(
        grams=(packed >> np.uint64(32)).astype(np.uint32),
        gram_at=(packed & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        words=words[bounds[:-1]],
        counts=np.diff(bounds).clip(max=0xFFFF).astype(np.uint16),
        blocks=(pairs & np.uint64(0xFFFF)).astype(np.uint16),
        block_at=begins[::size].astype(np.uint32),
    )


def _composed(text: str) -> tuple[str, tuple[U32, U32] | None]:
    """The text with decomposed letters put together, and where its lines came from."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, None
    lines, made, raw = [], [], []
    at_made = at_raw = 0
    for line in text.split("\n"):
        made.append(at_made)
        raw.append(at_raw)
        composed = unicodedata.normalize("NFC", line)
        lines.append(composed)
        at_made += len(composed) + 1
        at_raw += len(line) + 1
    return "\n".join(lines), (np.array(made, dtype=np.uint32), np.array(raw, dtype=np.uint32))


def _raw_offsets(begins: U32, moves: tuple[U32, U32]) -> U32:
    """Offsets in the raw text: exact at line starts, near enough inside a line."""
    made, raw = moves
    line = np.searchsorted(made, begins, side="right") - 1
    return (raw[line] + (begins - made[line])).astype(np.uint32)


def write_index(index: DocumentIndex, path: Path, text_sha256: str) -> None:
    """Stores an index; a reader sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    head = _HEAD.pack(_TAG, bytes.fromhex(text_sha256), *(len(a) for a in index.arrays))
    try:
        with part.open("wb") as file:
            file.write(head)
            for array in index.arrays:
                file.write(array.tobytes())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def open_index(path: Path, text_sha256: str) -> DocumentIndex:
    """Maps a stored index into memory.

    Raises:
        Damaged: It is not an index, was cut short, or is of another text.
        FileNotFoundError: There is none.
    """
    with path.open("rb") as file:
        try:
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as cause:
            raise Damaged("A quotation index is empty.") from cause
    if len(view) < _HEAD.size:
        raise Damaged("A quotation index was cut short.")
    tag, digest, *lengths = _HEAD.unpack_from(view)
    if tag != _TAG or digest.hex() != text_sha256:
        raise Damaged("A quotation index belongs to another text or version.")
    kinds = (np.uint32, np.uint32, np.uint32, np.uint16, np.uint16, np.uint32)
    arrays = []
    at = _HEAD.size
    for kind, length in zip(kinds, lengths, strict=True):
        size = length * np.dtype(kind).itemsize
        if at + size > len(view):
            raise Damaged("A quotation index was cut short.")
        arrays.append(np.frombuffer(view, dtype=kind, count=length, offset=at))
        at += size
    return DocumentIndex(*arrays)


def _clean(passage: str) -> str:
    """A passage of a reply with what is invisible inside words taken out."""
    composed = unicodedata.normalize("NFC", passage)
    return "".join(c for c in composed if unicodedata.category(c) != "Cf")


# --- searching ------------------------------------------------------------------------------------

_BIN: Final = 512
"""Grams whose diagonals lie this close, in characters, vote for the same place."""


class RecordIndex:
    """The indexes of all documents of a record, searched together."""

    def __init__(self, indexes: Sequence[DocumentIndex]) -> None:
        self._indexes = tuple(indexes)

    def locate(self, passages: Sequence[str], *, best: int = 8) -> list[list[Place]]:
        """Proposes places for every passage, the best first.

        Args:
            passages: Parts of quotations, as written.
            best: How many places a passage may have.
        """
        prepared = [hash_words(_clean(passage)) for passage in passages]
        grams = [_grams(hashes) for hashes, _ in prepared]
        found: list[list[Place]] = [[] for _ in passages]
        sizes = [len(values) for values, _ in grams]
        if sum(sizes):
            self._vote(prepared, grams, sizes, found)
        for number, places in enumerate(found):
            places.sort(reverse=True)
            if not places or places[0].votes < 2 and len(prepared[number][0]) < 12:
                places.extend(self._by_words(prepared[number][0], best))
            del places[best:]
        return found

    def _vote(
        self,
        prepared: list[tuple[U64, U32]],
        grams: list[tuple[U32, NDArray[np.int64]]],
        sizes: list[int],
        found: list[list[Place]],
    ) -> None:
        wanted = np.concatenate([values for values, _ in grams])
        owner = np.repeat(np.arange(len(grams)), sizes)
        offset = np.concatenate(
            [begins[at] for (_, begins), (_, at) in zip(prepared, grams, strict=True)]
        )
        order = np.argsort(wanted, kind="stable")
        wanted, owner, offset = wanted[order], owner[order], offset[order]
        for number, index in enumerate(self._indexes):
            if not len(index.grams):
                continue
            left = index.grams.searchsorted(wanted)
            hits = np.flatnonzero(index.grams.take(left, mode="clip") == wanted)
            if len(hits):
                self._collect(number, index, left, hits, wanted, owner, offset, found)

    def _collect(
        self,
        number: int,
        index: DocumentIndex,
        left: NDArray[np.int64],
        hits: NDArray[np.int64],
        wanted: U32,
        owner: NDArray[np.int64],
        offset: U32,
        found: list[list[Place]],
    ) -> None:
        bins: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        starts: dict[tuple[int, int], int] = {}
        right = index.grams.searchsorted(wanted[hits], side="right")
        for hit, end in zip(hits.tolist(), right.tolist(), strict=True):
            begin = int(left[hit])
            for at in index.gram_at[begin : min(end, begin + 64)].tolist():
                diagonal = at - int(offset[hit])
                slot = diagonal // _BIN
                who = int(owner[hit])
                bins[who][slot].add(int(offset[hit]))
                known = starts.get((who, slot))
                starts[who, slot] = diagonal if known is None else min(known, diagonal)
        for who, slots in bins.items():
            for slot, grams in slots.items():
                near = len(grams) + 0.5 * len(slots.get(slot + 1, ())) + 0.5 * len(
                    slots.get(slot - 1, ())
                )
                start = max(0, starts[who, slot])
                found[who].append(Place(near, number, start, start + _BIN))

    def _by_words(self, hashes: U64, best: int) -> list[Place]:
        """Blocks that hold most of the rarer words."""
        wanted = np.unique(hashes & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        if not len(wanted):
            return []
        spots = []
        totals = np.zeros(len(wanted), dtype=np.int64)
        for number, index in enumerate(self._indexes):
            if not len(index.words):
                continue
            at = index.words.searchsorted(wanted)
            held = np.flatnonzero(index.words.take(at, mode="clip") == wanted)
            if len(held):
                totals[held] += index.counts[at[held]]
                spots.append((number, at, held))
        if not spots:
            return []
        weight = 1.0 / (1.0 + totals)
        order = np.argsort(totals, kind="stable")[:12]
        rare = set(order.tolist())
        weight /= weight[order].sum()  # a block that holds them all has one vote
        places: list[Place] = []
        for number, at, held in spots:
            places.extend(self._blocks(number, at, [k for k in held.tolist() if k in rare], weight))
        places.sort(reverse=True)
        return places[: max(best, 8)]

    def _blocks(
        self, number: int, at: NDArray[np.int64], held: list[int], weight: NDArray[np.float64]
    ) -> list[Place]:
        index = self._indexes[number]
        ends = index.ends
        score: dict[int, float] = defaultdict(float)
        for k in held:
            end = int(ends[at[k]])
            for block in index.blocks[end - int(index.counts[at[k]]) : end][:400].tolist():
                score[block] += float(weight[k])
        top = sorted(score.items(), key=lambda item: -item[1])[:4]
        bounds = index.block_at
        return [
            Place(
                value,
                number,
                int(bounds[block]),
                int(bounds[block + 1] if block + 1 < len(bounds) else bounds[block] + 4096),
            )
            for block, value in top
        ]
