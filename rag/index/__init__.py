"""Nearest vectors of a matter: the Index promise.

An index holds ids and vectors and nothing else: no text, no names. It is never the truth. The store
is, and whenever an index does not agree with it (`healthy`), it is removed and filled again.

Rules for every keeper:

- `add` with an id that is already there replaces the vector; the same add twice is harmless.
- What `add` returned from may still be lost in a crash; the caller compares at the next open.
- `search` on an empty index gives nothing. Scores are cosines, higher is nearer.
- One process and one object per index.
- `close` gives back memory and files; a second call does nothing. `remove` also erases the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from rag.embedding import Vectors


class Index(Protocol):
    """Vectors by id."""

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Adds or replaces vectors.

        Raises:
            Unavailable: The index cannot be written.
            ValueError: Lengths differ, or a vector is not finite.
        """
        ...

    def search(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """The ``k`` nearest ids with their cosine, best first.

        Raises:
            Unavailable: The index is damaged: rebuild it.
        """
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Forgets ids; unknown ones are no error. Erasure from disk is only sure after `remove`."""
        ...

    def count(self) -> int:
        """How many ids it holds."""
        ...

    def ids(self) -> set[str]:
        """Every id it holds.

        Raises:
            Unavailable: The index is damaged: rebuild it.
        """
        ...

    def close(self) -> None:
        """Lets everything go."""
        ...

    def remove(self) -> None:
        """Closes and erases it from disk."""
        ...


_ITSELF: Final = 0.999
"""Cosine of a vector with its stored self; rounding to f16 costs less than 0.0001."""

_FOUND_SHARE: Final = 0.9
"""Share of vectors that must find themselves. An approximate index misses a few in a hundred (a
graph over 100,000 random vectors missed 1 to 4); one that lost its files misses nearly all."""


def healthy(index: Index, *, expected: int, sample: Sequence[tuple[str, Vectors]]) -> bool:
    """Whether an index holds what it should: the right count, and sampled vectors find themselves.

    Counting alone is not enough: with its vector files lost, Chroma still counts right and searches
    short.
    """
    from protocol.errors import Unavailable

    try:
        if index.count() != expected:
            return False
        # By score, not by id: equal texts have equal vectors.
        found = [
            any(score > _ITSELF for _, score in index.search(vector, 5)) for _, vector in sample
        ]
    except Unavailable:
        return False
    return sum(found) >= _FOUND_SHARE * len(found)


def open_index(folder: Path | None) -> Index:
    """Chroma in a folder of its own, or the dictionary when there is none."""
    if folder is None:
        from rag.index.memory import MemoryIndex

        return MemoryIndex()
    from rag.index.chroma import ChromaIndex

    return ChromaIndex(folder)
