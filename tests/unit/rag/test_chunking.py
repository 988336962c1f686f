"""Passages: exact spans, nothing lost, nothing too long for reader or encoder."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.chunking import MAX_CHARS, Cut, chunk, windows
from rag.embedding import HashEmbedder


@pytest.fixture
def cuts_of(paged):
    return lambda text: chunk(paged(text))


def texts(text: str, cuts: Sequence[Cut]) -> list[str]:
    return [text[cut.start : cut.end] for cut in cuts]


_PIECES = st.sampled_from(
    [
        "1. Term. The term is five years. ",
        "2.1 Rent\n",
        "ARTICLE IV\n\n",
        "THE LEAK\n",
        "\f",
        "\n\n",
        " ",
        "Water stood in the room. ",
        "누수를 발견했다. ",
        "x" * 700,
        "제 3 조 (해지) ",
        " 4 Q. Who called?\n 5 A. I did.\n",
        "(a) first; (b) second;\n",
    ]
)
_TEXTS = st.one_of(st.text(max_size=400), st.lists(_PIECES, max_size=60).map("".join))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_TEXTS)
def test_passages_hold_every_character_once_and_in_order(paged, text: str) -> None:
    _check(text, chunk(paged(text)))


def _check(text: str, cuts: Sequence[Cut]) -> None:
    last = 0
    held = []
    for cut in cuts:
        assert last <= cut.start < cut.end <= len(text)
        assert cut.end - cut.start <= MAX_CHARS
        assert not text[last : cut.start].strip()
        inner = text[cut.start : cut.end]
        assert inner == inner.strip()
        held.append(inner)
        last = cut.end
    assert not text[last:].strip()


def test_a_section_is_not_mixed_with_the_next(cuts_of) -> None:
    text = "1. Term. Five years.\n\n2. Rent. The rent is $1,000 a month.\n"
    cuts = cuts_of(text)
    assert texts(text, cuts) == ["1. Term. Five years.", "2. Rent. The rent is $1,000 a month."]
    assert [cut.heading for cut in cuts] == ["1. Term", "2. Rent"]


def test_a_heading_at_the_top_of_a_page_opens_its_section_and_a_bates_number_none(cuts_of) -> None:
    cuts = cuts_of(
        "1. SCOPE\nWe looked at the roof of the north building on one day.\nNG-000301\f"
        "2. CAUSE\nThe coupling on the fourth floor had failed before that day.\nABC-000302\f"
        "THE DAMAGE\nThree rooms were wet and one ceiling had fallen by then."
    )
    assert [cut.heading for cut in cuts] == ["1. SCOPE", "2. CAUSE", "THE DAMAGE"]


def test_a_bates_number_is_no_heading_of_what_follows(cuts_of) -> None:
    (cut,) = cuts_of("We looked at the roof.\nNG-000301\fThe coupling had failed.\nNG-000302")
    assert cut.heading == ""


def test_a_heading_alone_opens_what_follows_and_names_it(cuts_of) -> None:
    text = "THE LEAK\n\n11. Water entered in January.\n\n12. Northgate had notice by then.\n"
    cuts = cuts_of(text)
    assert texts(text, cuts)[0].startswith("THE LEAK")
    assert [cut.heading for cut in cuts] == ["THE LEAK", "THE LEAK"]


def test_a_sentence_is_not_taken_for_a_title(cuts_of) -> None:
    (cut,) = cuts_of("12. Northgate had notice of the leak no later than January 9, 2024.\n")
    assert cut.heading == ""


def test_a_question_stays_with_its_answer(cuts_of) -> None:
    lines = "".join(
        f"{n:2} Q. Was it wet on day {n}?\n{n + 1:2} A. It was.\n" for n in range(1, 80)
    )
    for passage in texts(lines, cuts_of(lines)):
        assert passage.lstrip("0123456789 ").startswith("Q.")
        assert passage.endswith("It was.")


def test_one_endless_word_is_cut(cuts_of) -> None:
    text = "y" * 5000
    assert "".join(texts(text, cuts_of(text))) == text


@given(st.text(max_size=600), st.integers(min_value=1, max_value=40))
def test_windows_fit_the_encoder_and_lose_nothing(text: str, most: int) -> None:
    def count(found: Sequence[str]) -> list[int]:
        return [len(each.replace("\n", "")) for each in found]  # a character is a token

    made = windows("", text, count=count, max_tokens=most)
    assert all(size <= most for size in count(made))
    assert "".join("".join(made).split()) == "".join(text.split())


def test_every_window_carries_the_heading_while_it_fits() -> None:
    def count(found: Sequence[str]) -> list[int]:
        return [len(each.split()) for each in found]

    made = windows("Rent", "one two three four five six", count=count, max_tokens=4)
    assert made == ["Rent\none two three", "Rent\n four five six"]
    assert all(
        "Rent" not in each for each in windows("a b c d e", "x y", count=count, max_tokens=2)
    )


def test_a_short_passage_is_one_window() -> None:
    embedder = HashEmbedder()
    made = windows("Rent", "The rent.", count=embedder.count_tokens, max_tokens=254)
    assert made == ["Rent\nThe rent."]
