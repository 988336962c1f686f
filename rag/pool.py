"""The same embedding model in several processes: one torch thread each, as many as free cores.

Two one-thread processes embedded 17.2 passages a second together where one process with two threads
made 9.2, on two shared cores. For a long ingest; a single question needs no pool.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final

import numpy as np

from protocol.errors import Unavailable
from rag.embedding import ModelEmbedder, Vectors

_PIECE: Final = 32
"""Texts handed to a process at once."""

_own: list[ModelEmbedder] = []  # one a child process, set by its initialiser


def _start(folder: Path, options: dict[str, Any]) -> None:
    _own[:] = [ModelEmbedder(folder, **options)]


def _embed(texts: Sequence[str]) -> Vectors:
    return _own[0].embed(texts)


class EmbedderPool:
    """Keeps `rag.embedding.Embedder`; equal to one `ModelEmbedder` in every value it gives."""

    def __init__(self, folder: Path, *, processes: int, **options: Any) -> None:
        """Starts nothing yet; the processes come with the first `embed`.

        Args:
            folder: The model, as for `ModelEmbedder`.
            processes: How many; each holds the model once (about 0.5 GB).
            **options: The same as of `ModelEmbedder`.
        """
        self.one = ModelEmbedder(folder, **options)
        """The model in this process, for what needs no pool."""
        self._folder = folder
        self._options = options
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    @property
    def identity(self) -> str:
        """That of the model."""
        return self.one.identity

    @property
    def dimensions(self) -> int:
        """That of the model."""
        return self.one.dimensions

    @property
    def max_tokens(self) -> int:
        """That of the model."""
        return self.one.max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.one.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) <= _PIECE or self._processes < 2:
            return self.one.embed(texts)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # like lengths together
        pieces = [order[at : at + _PIECE] for at in range(0, len(order), _PIECE)]
        try:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    self._processes,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=_start,
                    initargs=(self._folder, self._options),
                )
            made = self._pool.map(_embed, [[texts[at] for at in piece] for piece in pieces])
            out = np.zeros((len(texts), self.dimensions), dtype=np.float32)
            for piece, vectors in zip(pieces, made, strict=True):
                out[piece] = vectors
        except BrokenProcessPool as error:
            self.close()
            raise Unavailable("an embedding process ended unexpectedly") from error
        return out

    def embed_question(self, text: str) -> Vectors:
        return self.one.embed_question(text)

    def close(self) -> None:
        """Ends the processes; the next `embed` starts them again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
