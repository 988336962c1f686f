"""Vectors kept between questions: equal to fresh ones, computed once, never of another model."""

import numpy as np
import pytest

from rag.embedding import HashEmbedder
from worker.sentence_vectors import SentenceVectors


class Counting(HashEmbedder):
    """Remembers what it was given."""

    def __init__(self, **more) -> None:
        super().__init__(**more)
        self.given: list[str] = []

    def embed(self, texts):
        self.given += texts
        return super().embed(texts)


def test_what_is_kept_equals_what_is_computed_and_is_computed_once():
    embedder, vectors = Counting(), SentenceVectors()
    texts = ["The roof leaked.", "The rent is due.", "The roof leaked."]
    first = vectors.of(embedder, texts)
    again = vectors.of(embedder, ["The rent is due.", "A third.", "The roof leaked."])
    assert np.array_equal(first, HashEmbedder().embed(texts))
    assert np.array_equal(again[[0, 2]], first[[1, 0]])
    assert embedder.given == ["The roof leaked.", "The rent is due.", "A third."]


def test_another_model_gets_vectors_of_its_own():
    small, large, vectors = Counting(dimensions=64), Counting(dimensions=128), SentenceVectors()
    assert vectors.of(small, ["one"]).shape == (1, 64)
    assert vectors.of(large, ["one"]).shape == (1, 128)


@pytest.mark.parametrize("most", [1, 3])
def test_more_texts_at_once_than_are_kept_all_come_and_the_last_used_stay(most):
    embedder, vectors = Counting(), SentenceVectors(most)
    texts = [f"number {n}" for n in range(5)]
    assert np.array_equal(vectors.of(embedder, texts), HashEmbedder().embed(texts))
    embedder.given.clear()
    vectors.of(embedder, texts[-most:])
    assert embedder.given == []
    vectors.of(embedder, texts[:1])
    assert embedder.given == texts[:1]


def test_no_text_has_no_vector():
    assert SentenceVectors().of(HashEmbedder(), []).shape == (0, 256)
