"""The Korean set is well made, and a model without Hangul does not spoil what words find."""

from __future__ import annotations

import pytest

from bench import rag_korean
from rag.embedding import HashEmbedder, ModelEmbedder, default_model_folder, knows_script


def test_the_set_is_large_and_every_answer_stands_once() -> None:
    asked = rag_korean.questions()  # raises where gold words do not stand exactly once
    assert len(asked) >= 30
    assert len({row["document"] for row in asked}) >= 6
    assert len({row["id"] for row in asked}) == len({row["query"] for row in asked}) == len(asked)


def test_words_find_the_answers(tmp_path) -> None:
    figures = rag_korean.measured(tmp_path, HashEmbedder()).figures
    assert figures["korean_words_hit1"] >= 0.75
    assert figures["korean_words_hit10"] >= 0.97


@pytest.fixture(scope="module")
def model() -> ModelEmbedder:
    folder = default_model_folder()
    if folder is None:
        pytest.skip("the bundled embedding model is not installed")
    return ModelEmbedder(folder)


def test_a_model_without_hangul_only_breaks_ties(tmp_path, model) -> None:
    figures = rag_korean.measured(tmp_path, model).figures
    assert figures["korean_hit1"] >= figures["korean_words_hit1"]
    assert figures["korean_hit10"] >= figures["korean_words_hit10"]


def test_which_questions_a_model_can_read(model) -> None:
    assert knows_script(model, "When did the leak happen?")
    assert knows_script(model, "What does the 임대차계약 say about the deposit and the rent?")
    assert not knows_script(model, "누수는 언제 발생했는가")
    assert not knows_script(model, "월세는 매달 며칠까지 보내야 합니까?")
