"""Index terms: the same for the record and for a question."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.terms import match_any, stem, terms, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("terminated", "termination"),
        ("notice", "notices"),
        ("licence", "license"),
        ("sublicences", "sublicense"),
        ("indemnify", "indemnifies"),
        ("favour", "favor"),
        ("payment", "payments"),
    ],
)
def test_forms_of_one_word_meet(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("shall", "shale"), ("party", "part"), ("lease", "leash"), ("rent", "rental car")],
)
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert terms(one) != terms(other)


def test_a_noun_is_found_with_its_particle() -> None:
    assert set(terms("누수")) <= set(terms("누수를 발견했다"))
    assert set(terms("계약서")) <= set(terms("계약서에는"))


def test_composed_and_decomposed_hangul_are_the_same() -> None:
    text = "임대차 계약서의 누수"
    assert terms(unicodedata.normalize("NFD", text)) == terms(text)


def test_numbers_lose_their_commas_and_keep_their_point() -> None:
    assert terms("$1,200,000 and 3.5") == ["1200000", "3.5"]


def test_full_width_and_curly_forms_fold() -> None:
    assert terms("２０２４") == ["2024"]
    assert list(words("Lessee’s")) == ["lessee", "s"]


def test_common_words_go_unless_kept() -> None:
    assert terms("of the lease") == ["leas"]
    assert terms("of the lease", keep_common=True)[:2] == ["of", "the"]


def test_an_expression_cannot_be_broken_out_of() -> None:
    assert match_any(terms('notice" OR NEAR(a b) *')) == '"notic" OR "near" OR "b"'
    assert match_any([]) == ""


@given(st.text())
def test_terms_are_plain_and_repeatable(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert all(term and '"' not in term and not term.isspace() for term in found)
