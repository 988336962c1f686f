"""Neighbours become one hit, whose text is still the text at its place."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import DocumentId, passage_id
from protocol.record import Hit, Passage
from protocol.spans import SourceSpan
from rag.chunking import MAX_CHARS
from rag.joining import join_neighbours

A = DocumentId("A")


def make_hit(text: str, start: int, end: int, heading: str = "Rent", score: float = 1.0) -> Hit:
    return Hit(
        passage=Passage(
            id=passage_id(A, start, end),
            span=SourceSpan(document=A, start=start, end=end, page=1),
            text=text[start:end],
            heading=heading,
        ),
        score=score,
        why=(f"from {start}",),
    )


def test_neighbours_of_one_section_become_one_at_the_better_place() -> None:
    text = "first part.\n\nsecond part. elsewhere"
    hits = [
        make_hit(text, 13, 25, score=3),
        make_hit(text, 26, 35, "Law", 2),
        make_hit(text, 0, 11),
    ]
    joined = join_neighbours(hits, lambda _: text)
    assert [hit.passage.text for hit in joined] == ["first part.\n\nsecond part.", "elsewhere"]
    assert joined[0].score == 3
    assert joined[0].why == ("from 13", "from 0")
    assert joined[0].passage.id == passage_id(A, 0, 25)


def test_words_between_keep_two_apart() -> None:
    text = "first part. WORDS second part."
    hits = [make_hit(text, 0, 11), make_hit(text, 18, 30)]
    assert join_neighbours(hits, lambda _: text) == hits


def test_only_the_first_are_joined() -> None:
    text = "a b c d"
    hits = [make_hit(text, 0, 1), make_hit(text, 4, 5), make_hit(text, 2, 3)]
    assert join_neighbours(hits, lambda _: text, first=2) == hits
    assert len(join_neighbours(hits, lambda _: text, first=3)) == 1


@given(
    st.lists(st.integers(min_value=1, max_value=700), min_size=1, max_size=9),
    st.randoms(use_true_random=False),
)
def test_joining_loses_nothing_and_stays_short(sizes: list[int], chance: random.Random) -> None:
    text, hits, at = "", [], 0
    for size in sizes:
        text += "x" * size + "\n"
        hits.append((at, at + size))
        at += size + 1
    made = [make_hit(text, *place, heading=chance.choice("RL")) for place in hits]
    chance.shuffle(made)
    joined = join_neighbours(made, lambda _: text, first=len(made))
    covered = sorted((hit.passage.span.start, hit.passage.span.end) for hit in joined)
    assert all(first[1] <= second[0] for first, second in pairwise(covered))
    assert sum(hit.passage.text.count("x") for hit in joined) == sum(sizes)
    for hit in joined:
        span = hit.passage.span
        assert hit.passage.text == text[span.start : span.end]
        assert span.end - span.start <= MAX_CHARS
