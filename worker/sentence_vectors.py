"""Vectors of sentences, kept while their matter is open.

An answer weighs the sentences of the passages found, and the next question of the same talk finds
many of them again. Giving a model about 100 sentences costs a CPU core some 400 ms; looking them up
costs nothing.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np

from rag.embedding import Embedder, Vectors

MOST_KEPT: Final = 4_000
"""Of one matter: 6 MB at 384 dimensions."""


class SentenceVectors:
    """An LRU of one matter, by the hash of model and words; holds no words itself."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()

    def of(self, embedder: Embedder, texts: Sequence[str]) -> Vectors:
        """One vector a text, shape ``(len(texts), dimensions)``; only the new ones are computed.

        Called by one thread at a time, as the embedder is.

        Raises:
            Unavailable: The model cannot be used.
        """
        if not texts:
            return np.zeros((0, embedder.dimensions), dtype=np.float32)
        model = embedder.identity.encode() + b"\0"
        keys = [hashlib.blake2b(model + text.encode(), digest_size=16).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        if new:
            self._kept |= zip(new, embedder.embed(list(new.values())), strict=True)
        out = np.stack([self._kept[key] for key in keys])
        for key in keys:
            self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return out
