"""A second look at the first passages: the Reranker promise and its keepers.

None is needed; retrieval is measured without. A box with room for it runs a cross-encoder from the
operator's model folder, and `LateInteraction` needs no model but the embedder's own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from protocol.errors import Unavailable
from rag.embedding import ModelEmbedder


class Reranker(Protocol):
    """Scores passages for a question.

    One score a passage, higher is better, comparable within one call. The same call gives the same
    scores. An empty list means that the keeper has nothing to say now (its model is away), and the
    order stays as it was; nothing is raised.
    """

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the question."""
        ...


class LateInteraction:
    """Compares the question's word vectors with each passage's, by the embedding model itself.

    For each word of the question the nearest word of the passage counts; about 20 ms a passage on
    one core.

    Source: Khattab and Zaharia, "ColBERT", SIGIR 2020 (the MaxSim score, here without training).
    """

    def __init__(self, embedder: ModelEmbedder) -> None:
        self._embedder = embedder

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        try:
            asked = self._embedder.word_vectors([question])[0]
            return [
                float((asked @ words.T).max(axis=1).mean())
                for words in self._embedder.word_vectors(passages)
            ]
        except Unavailable:
            return []


class CrossEncoderReranker:
    """A cross-encoder from a local folder, as sentence-transformers reads it."""

    def __init__(self, folder: Path, *, device: str = "cpu", batch: int = 16) -> None:
        self._folder = folder
        self._device = device
        self._batch = batch
        self._model: Any = None

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        try:
            if self._model is None:
                os.environ["HF_HUB_OFFLINE"] = "1"
                os.environ["TRANSFORMERS_OFFLINE"] = "1"
                from sentence_transformers import CrossEncoder

                self._model = CrossEncoder(
                    str(self._folder), device=self._device, local_files_only=True
                )
            pairs = [(question, passage) for passage in passages]
            found = self._model.predict(
                pairs, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True
            )
        except (ImportError, OSError, ValueError, RuntimeError):
            return []
        scores = np.asarray(found, dtype=np.float64).reshape(-1)
        return [float(score) for score in scores] if np.isfinite(scores).all() else []
