"""What is kept between looks gives what a fresh look gives: titles' words, foldings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.second import FoldedText
from verify.titles import _beginning

WORDS = st.lists(st.text(alphabet="ab계é", max_size=4), max_size=12, unique=True)


@given(words=WORDS, start=st.text(alphabet="ab계é", min_size=1, max_size=3))
def test_the_words_that_begin_so_are_all_found(words: list[str], start: str) -> None:
    found = list(_beginning(sorted(words), start))
    assert sorted(found) == sorted(w for w in words if w != start and w.startswith(start))


@pytest.mark.parametrize(
    ("quoted", "agrees"),
    [
        ("The pump was old", True),
        ("was old. It leaked1 at night", True),  # with its marker, past the line's number
        ("was old. 4 It leaked at night", True),  # without its marker
        ("was old. It leaked at night", True),  # without either: the last folding of four
        ("The pump was new", False),
    ],
)
def test_every_folding_is_looked_at(quoted: str, agrees: bool) -> None:
    text = FoldedText("The pump was old.\n 4 It leaked1 at night.")
    assert text.agrees(quoted, share=0.5, jumps=0) is agrees
    assert text.agrees(quoted, share=0.5, jumps=0) is agrees
