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
import secrets
import struct
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from protocol.errors import Damaged
from verify.hashing import U32, grams_of, hash_words

BLOCK: Final = 256
"""Words in a block of the postings; doubled for a document of more than 65,535 blocks."""
_TAG: Final = b"SCQIDX04"
_HEAD: Final = struct.Struct("<8s32s6I")


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


# --- building, writing, opening -------------------------------------------------------------------


def build_index(text: str) -> DocumentIndex:
    """Indexes one canonical text in memory."""
    text, moves = _composed(text)
    hashes, begins = hash_words(text)
    if moves is not None:
        begins = _raw_offsets(begins, moves)
    grams, kept = grams_of(hashes)
    packed = np.sort((grams.astype(np.uint64) << np.uint64(32)) | begins[kept])
    size = BLOCK
    while len(hashes) // size >= 0xFFFF:
        size *= 2
    numbers = np.arange(len(hashes), dtype=np.uint64) // np.uint64(size)
    pairs = np.sort(((hashes & np.uint64(0xFFFFFFFF)) << np.uint64(16)) | numbers)
    if len(pairs):
        pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
    words = (pairs >> np.uint64(16)).astype(np.uint32)
    fresh: Any = (
        np.flatnonzero(np.concatenate(([True], words[1:] != words[:-1]))) if len(words) else []
    )
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
    """Stores an index; a reader sees a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    head = _HEAD.pack(_TAG, bytes.fromhex(text_sha256), *(len(a) for a in index.arrays))
    try:
        with part.open("wb") as file:
            file.write(head)
            for array in index.arrays:
                file.write(array.tobytes())
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
