"""The list of clauses, with the hash embedder."""

from __future__ import annotations

from rag.embedding import HashEmbedder
from rag.rewriting import Clause, ClauseRewriter, bundled, bundled_clauses
from rag.terms import terms

CLAUSES = {
    "rent": Clause(asks=("What rent is owed?",), says=("Tenant shall pay monthly rent",)),
    "notice": Clause(asks=("How is notice given?",), says=("Notices shall be in writing",)),
}


def test_the_nearest_kind_adds_its_wordings() -> None:
    (first, *rest) = ClauseRewriter(HashEmbedder(), CLAUSES).searches("What rent is owed?")
    assert first.texts == ("Tenant shall pay monthly rent",)
    assert first.why == "worded like rent"
    assert all(search.weight < first.weight for search in rest)


def test_a_question_about_something_else_adds_nothing() -> None:
    assert ClauseRewriter(HashEmbedder(), CLAUSES).searches("Who drove the blue car?") == ()
    assert ClauseRewriter(HashEmbedder(), CLAUSES).searches("") == ()


def test_the_list_is_made_once_an_embedder() -> None:
    one, other = HashEmbedder(), HashEmbedder()
    assert bundled(one) is bundled(one)
    assert bundled(one) is not bundled(other)


def test_the_bundled_list_is_whole() -> None:
    clauses = bundled_clauses()
    assert len(clauses) >= 60
    for name, clause in clauses.items():
        assert clause.asks, name
        assert clause.says, name
        assert all(terms(text) for text in (*clause.asks, *clause.says))
    asks = [ask for clause in clauses.values() for ask in clause.asks]
    assert len(asks) == len(set(asks))
