"""The promise of `rag.embedding.Embedder`, over every keeper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from protocol.errors import Unavailable
from rag.chunking import windows
from rag.embedding import Embedder, HashEmbedder, ModelEmbedder, default_model_folder
from rag.reranking import CrossEncoderReranker, LateInteraction
from rag.rewriting import ClauseRewriter, NoRewriter, Rewriter


@pytest.fixture(scope="module")
def model() -> ModelEmbedder:
    folder = default_model_folder()
    if folder is None:
        pytest.skip("the bundled embedding model is not installed")
    return ModelEmbedder(folder)


@pytest.fixture(params=["hash", "model"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hash":
        return HashEmbedder()
    found: ModelEmbedder = request.getfixturevalue("model")
    return found


TEXTS = ["The rent is due each month.", "Water came through the ceiling.", "누수를 발견했다.", ""]


def test_vectors_have_the_promised_shape_and_length(embedder: Embedder) -> None:
    found = embedder.embed(TEXTS)
    assert found.shape == (len(TEXTS), embedder.dimensions)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-4)
    assert embedder.embed_question("rent?").shape == (embedder.dimensions,)
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_the_same_text_gives_the_same_vector_alone_or_among_others(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-4)


def test_what_shares_words_is_nearer(embedder: Embedder) -> None:
    asked = embedder.embed_question("When is the rent due?")
    scores = embedder.embed(TEXTS[:2]) @ asked
    assert scores[0] > scores[1]


def test_a_text_within_the_limit_is_read_to_its_end(embedder: Embedder) -> None:
    filler = "word " * (embedder.max_tokens - embedder.count_tokens(["leak"])[0] - 1)
    (whole,) = windows(
        "", filler + "leak", count=embedder.count_tokens, max_tokens=embedder.max_tokens
    )
    other = embedder.embed([whole, filler + "cake"])
    assert float(other[0] @ other[1]) < 0.99999


def test_identity_names_the_model_and_its_size(embedder: Embedder) -> None:
    assert embedder.identity == embedder.identity
    assert embedder.identity.endswith(f"/{embedder.dimensions}")


def test_prefixes_change_the_identity(model: ModelEmbedder) -> None:
    folder = default_model_folder()
    assert folder is not None
    assert ModelEmbedder(folder, passage_prefix="passage: ").identity != model.identity


def test_a_folder_without_weights_is_refused(tmp_path) -> None:
    with pytest.raises(Unavailable):
        ModelEmbedder(tmp_path)


def test_a_folder_with_broken_weights_is_refused_when_used(tmp_path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(Unavailable):
        ModelEmbedder(tmp_path).embed(["words"])


# --- rewriters and rerankers live from an embedder ---


@pytest.fixture(scope="module")
def clauses(model: ModelEmbedder) -> ClauseRewriter:
    return ClauseRewriter(model)


@pytest.fixture(params=["none", "clauses"])
def rewriter(request: pytest.FixtureRequest, clauses: ClauseRewriter) -> Rewriter:
    return NoRewriter() if request.param == "none" else clauses


@pytest.mark.parametrize(
    "question", ["May a party walk away without cause?", "", "???", "누수는 언제?", "a " * 300]
)
def test_a_rewriter_repeats_itself_and_stays_in_bounds(rewriter: Rewriter, question: str) -> None:
    found = rewriter.searches(question)
    assert found == rewriter.searches(question)
    assert all(0 < search.weight <= 1 and search.texts and search.why for search in found)
    assert sum(search.weight for search in found) <= 1.001


def test_a_question_about_a_clause_is_worded_like_the_clause(clauses: ClauseRewriter) -> None:
    found = clauses.searches("Can a party get out early for no reason at all?")
    assert found[0].why == "worded like termination for convenience"


@pytest.mark.parametrize(
    "question",
    [
        "What was the colour of the car?",
        "Why was Kim fired?",
        "When did Northgate first know of the leak?",
    ],
)
def test_a_question_about_a_fact_is_left_alone(clauses: ClauseRewriter, question: str) -> None:
    assert clauses.searches(question) == ()


def test_an_empty_list_of_clauses_adds_nothing(model: ModelEmbedder) -> None:
    assert ClauseRewriter(model, {}).searches("anything") == ()


def test_late_interaction_prefers_the_passage_that_answers(model: ModelEmbedder) -> None:
    reranker = LateInteraction(model)
    passages = ["The car was blue.", "The tenant shall pay rent each month."]
    scores = reranker.scores("When must rent be paid?", passages)
    assert len(scores) == 2
    assert scores[1] > scores[0]
    assert scores == pytest.approx(reranker.scores("When must rent be paid?", passages), abs=1e-4)
    assert reranker.scores("anything", []) == []


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of a few kilobytes with fixed, untrained weights, in its usual files."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("cross-encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rent", "is", "due", "leak", "when"]
    (folder / "vocab.txt").write_text("\n".join(words), "utf-8")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=1,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_cross_encoder_scores_every_passage_the_same_each_time(cross_encoder: Path) -> None:
    passages = ["rent is due", "leak", "when " * 200]
    scores = CrossEncoderReranker(cross_encoder).scores("when is rent due", passages)
    assert len(scores) == 3
    assert len(set(scores)) == 3
    assert scores == pytest.approx(
        CrossEncoderReranker(cross_encoder).scores("when is rent due", passages), abs=1e-5
    )


def test_a_configured_reranker_and_prefixes_are_opened(cross_encoder: Path) -> None:
    from worker.app import open_embedder, open_reranker
    from worker.config import Settings

    plain = Settings(state=cross_encoder)
    assert open_reranker(plain) is None
    chosen = open_reranker(Settings(state=cross_encoder, reranker=cross_encoder))
    assert chosen is not None
    assert len(chosen.scores("rent", ["rent is due", "leak"])) == 2
    if default_model_folder() is None:
        pytest.skip("the bundled embedding model is not installed")
    other = Settings(state=cross_encoder, embedder_question_prefix="query: ")
    assert open_embedder(plain).identity != open_embedder(other).identity  # mixing is refused


def test_a_reranker_without_its_model_has_nothing_to_say(tmp_path) -> None:
    assert CrossEncoderReranker(tmp_path).scores("q", ["a", "b"]) == []
