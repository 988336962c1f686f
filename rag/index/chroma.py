"""The index in an embedded Chroma directory, one directory a matter.

Chroma gets ids and vectors, never text: a deleted record stays readable in its files, so only
removing the directory erases, and then there must be nothing of worth in it. It is given vectors
for every question as well: left to embed text itself, it would try to download a model.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from protocol.errors import Unavailable
from rag.embedding import Vectors

_COLLECTION: Final = "passages"
_BREADTH: Final = 200
"""Candidates the graph search keeps in hand; twice Chroma's own, for recall in large matters."""
_BATCH: Final = 2000
"""Below Chroma's own bound of 5,461 records a call."""


class ChromaIndex:
    """Keeps `rag.index.Index` on disk. The caller holds the matter's lock."""

    def __init__(self, folder: Path) -> None:
        """Opens or makes the directory.

        Raises:
            Unavailable: It cannot be opened; remove it and build it again.
        """
        self._folder = folder
        self._client: Any = None
        self._collection: Any = None
        self._open()

    def _open(self) -> None:
        import chromadb  # noqa: TID251
        from chromadb.config import Settings  # noqa: TID251

        home = self._home()
        try:
            self._client = chromadb.PersistentClient(
                path=str(home),
                settings=Settings(
                    anonymized_telemetry=False,
                    allow_reset=False,
                    chroma_otel_collection_endpoint="",
                ),
            )
            self._collection = self._client.get_or_create_collection(
                _COLLECTION,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine", "ef_search": _BREADTH}},
            )
        except Exception as error:  # Chroma's own errors have no common root
            self.close()
            raise Unavailable("the vector index cannot be opened") from error

    def _home(self) -> Path:
        """The directory inside the folder: the one that is there, else a new one.

        Its name is random, because Chroma remembers a directory that it once failed to open and
        then fails for that path until the process ends; a rebuilt index must get a new path.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = sorted(path for path in self._folder.iterdir() if path.is_dir())
        home = held[0] if held else self._folder / secrets.token_hex(4)
        home.mkdir(mode=0o700, exist_ok=True)
        return home

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        if len(ids) != len(vectors):
            raise ValueError("as many ids as vectors")
        if not np.isfinite(vectors).all():
            raise ValueError("a vector is not finite")
        try:
            for at in range(0, len(ids), _BATCH):
                self._collection.upsert(
                    ids=list(ids[at : at + _BATCH]), embeddings=vectors[at : at + _BATCH]
                )
        except Exception as error:
            raise Unavailable("the vector index could not be written") from error

    def search(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        try:
            held = self._collection.count()
            if not held:
                return []
            found = self._collection.query(
                query_embeddings=[vector], n_results=min(k, held), include=["distances"]
            )
        except Exception as error:
            raise Unavailable("the vector index could not be searched") from error
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(name, 1.0 - float(distance)) for name, distance in pairs]

    def delete(self, ids: Sequence[str]) -> None:
        try:
            for at in range(0, len(ids), _BATCH):
                self._collection.delete(ids=list(ids[at : at + _BATCH]))
        except Exception as error:
            raise Unavailable("the vector index could not be written") from error

    def count(self) -> int:
        try:
            return int(self._collection.count())
        except Exception as error:
            raise Unavailable("the vector index could not be counted") from error

    def ids(self) -> set[str]:
        try:
            return set(self._collection.get(include=[])["ids"])
        except Exception as error:
            raise Unavailable("the vector index could not be read") from error

    def close(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            client.close()

    def remove(self) -> None:
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)
