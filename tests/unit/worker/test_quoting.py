"""Sentences that can be quoted: no furniture in the words, exact offsets, answers paired."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.source import pages_of
from worker.quoting import _ABBREVIATION, _LONGEST_ABBREVIATION, _STOP, sentences

TRANSCRIPT = (
    " 1 EXAMINATION BY MS. LINDQVIST\n"
    " 2 Q. When did you report the leak?\n"
    " 3 A. I reported it on January 9,\n"
    "NG-000212\f"
    " 1 2024, and again on January 23, 2024.\n"
    " 2 Q. In writing?\n"
    " 3 MR. ABARA: Objection, form.\n"
    " 4 THE WITNESS: The second time, yes.\n"
    " 5 BY MS. LINDQVIST:\n"
    " 6 Q. And the first?\n"
    " 7 A. I told Mr. Osei in person.\n"
    "NG-000213"
)


def found(text):
    return sentences("d", text, pages_of(text))


def words(text):
    return [one.words for one in found(text)]


def test_an_answer_runs_over_a_page_end_without_stamp_and_line_numbers():
    answer = found(TRANSCRIPT)[2]
    assert answer.words == "I reported it on January 9, 2024, and again on January 23, 2024."
    assert answer.turn == "answer"
    assert TRANSCRIPT[slice(*answer.question)] == "When did you report the leak?"


def test_counsel_is_not_the_witness():
    turns = {one.words: one.turn for one in found(TRANSCRIPT)}
    assert turns["Objection, form."] == "MR. ABARA"
    assert turns["The second time, yes."] == "answer"
    assert turns["BY MS. LINDQVIST:"] == ""
    assert turns["In writing?"] == "question"


def test_the_witness_answers_the_question_before_the_objection():
    answer = next(one for one in found(TRANSCRIPT) if one.words == "The second time, yes.")
    assert TRANSCRIPT[slice(*answer.question)] == "In writing?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # An abbreviation ends no sentence.
        ("Mr. Osei met Dr. Raman at Tidewell Inc. on Monday.",
         ["Mr. Osei met Dr. Raman at Tidewell Inc. on Monday."]),
        # A wrapped number in brackets is no numbered item.
        ("Repairs begin within ten\n(10) days after notice.",
         ["Repairs begin within ten (10) days after notice."]),
        # Numbered paragraphs stand alone.
        ("1. The rent is $5.\n2. The term is one year.",
         ["The rent is $5.", "The term is one year."]),
        # A blank line ends a paragraph that has no full stop.
        ("Heading of sorts\n\nThe body begins here.",
         ["Heading of sorts", "The body begins here."]),
        # Rows of a table are not glued to one another.
        ("Pumping 12 May $18,250.00\nDrying 13 May $412,500.00",
         ["Pumping 12 May $18,250.00", "Drying 13 May $412,500.00"]),
        ("No\tWork\n1\tPumping\nDone.", ["No\tWork", "1\tPumping", "Done."]),
        ("No,Place,Cost\n1,Roof,paid\nThe sum of $1,250,000.00, as\nagreed, is due.",
         ["No,Place,Cost", "1,Roof,paid", "The sum of $1,250,000.00, as agreed, is due."]),
        # Korean sentences end with their particle and stop.
        ("계약은 유효하다. 임차인은 통지하였다.", ["계약은 유효하다.", "임차인은 통지하였다."]),
        # A dotted date is one word, wherever it stands.
        ("당사는 2024. 1. 19. 귀사에 알렸다. 답은 없었다.",
         ["당사는 2024. 1. 19. 귀사에 알렸다.", "답은 없었다."]),
        ("수신: 귀하\n일자: 2024. 2. 1.\n제목: 누수 통지\n1. 당사는 맡겼다.",
         ["수신: 귀하", "일자: 2024. 2. 1.", "제목: 누수 통지", "당사는 맡겼다."]),
        # "PRAYER: ..." is no speaker where nobody answers.
        ("PRAYER: judgment for plaintiff.", ["PRAYER: judgment for plaintiff."]),
    ],
)  # fmt: skip
def test_where_sentences_end(text, expected):
    assert words(text) == expected


def test_running_heads_are_left_out():
    bodies = ["The roof was dry.", "Water came from the riser.", "Nobody called a plumber."]
    pages = [f"Case 24-CV-1 Page {n} of 3\n{body}\n{n}" for n, body in enumerate(bodies, start=1)]
    assert words("\f".join(pages)) == bodies


def test_sentences_that_differ_by_a_number_alone_are_no_running_head():
    pages = [
        f"Report, page {n}.\n\nThe rent paid for month {n} was ${n}00.\n\nPage {n} of 2"
        for n in (1, 2)
    ]
    assert words("\f".join(pages)) == [
        "The rent paid for month 1 was $100.",
        "The rent paid for month 2 was $200.",
    ]


def test_a_running_foot_that_is_a_sentence_is_left_out():
    foot = "This paper is subject to the protective order."
    pages = [f"{body}\n\n{foot}" for body in ("The roof was dry.", "Water came in.", "It rained.")]
    assert words("\f".join(pages)) == ["The roof was dry.", "Water came in.", "It rained."]


def test_message_headers_are_told_apart():
    text = "From: A <a@x.example>\nDate: Tue, 16 Jan 2024\n\nThe roof is dry."
    assert [(one.turn, one.words) for one in found(text)][-1] == ("", "The roof is dry.")
    assert all(one.turn == "header" for one in found(text)[:-1])


@given(st.text(alphabet=st.sampled_from('AQ.1 \n\f"ab?:한가–$0'), max_size=200))
def test_a_sentence_begins_and_ends_with_its_own_characters(text):
    for one in found(text):
        assert one.words[0] == text[one.start]
        assert one.words[-1] == text[one.end - 1]


@given(st.text(max_size=300))
def test_nothing_is_raised_for_any_text(text):
    found(text)


ABBREVIATED = (
    "Mr Prof Hon Inc Corp L.L.C vs e.g etc Decl Compl Sept p pp a.m U.S U.S.C approx dept X".split()
)


@given(
    words=st.lists(st.sampled_from([*ABBREVIATED, "leak", "approximately", "Roof"]), max_size=12),
    start=st.integers(0, 40),
)
def test_an_abbreviation_is_known_by_its_last_characters(words: list[str], start: int):
    text = " ".join(f"{word}." for word in words)
    for stop in _STOP.finditer(text, start):
        near = max(start, stop.start() - _LONGEST_ABBREVIATION)
        whole = _ABBREVIATION.search(text, start, stop.start() + 1)
        assert (_ABBREVIATION.search(text, near, stop.start() + 1) is None) == (whole is None)
