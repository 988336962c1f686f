"""The index in a dictionary: for tests, and the exact answer that others are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.embedding import Vectors


class MemoryIndex:
    """Keeps `rag.index.Index`; nothing is on disk."""

    def __init__(self) -> None:
        self._held: dict[str, Vectors] = {}

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        if len(ids) != len(vectors):
            raise ValueError("as many ids as vectors")
        if not np.isfinite(vectors).all():
            raise ValueError("a vector is not finite")
        for name, vector in zip(ids, vectors, strict=True):
            self._held[name] = np.asarray(vector, dtype=np.float32)

    def search(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        if not self._held:
            return []
        names = list(self._held)
        scores = np.stack([self._held[name] for name in names]) @ vector
        best = np.argsort(-scores, kind="stable")[:k]
        return [(names[at], float(scores[at])) for at in best]

    def delete(self, ids: Sequence[str]) -> None:
        for name in ids:
            self._held.pop(name, None)

    def count(self) -> int:
        return len(self._held)

    def ids(self) -> set[str]:
        return set(self._held)

    def close(self) -> None:
        """Nothing to let go."""

    def remove(self) -> None:
        self._held.clear()
