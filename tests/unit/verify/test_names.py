"""People and parties: found by form, known to the record or not."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.answers import Verdict
from verify.judged import Judged
from verify.names import find_names, judge_name
from verify.source import DictSource

RECORD = (
    "DEPOSITION OF DANA REEVES. MR. KOFI OSEI wrote the e-mail. From: Osei, K. Ms. Reeves spoke to "
    "J. van der Berg, to John Smith and to Mary Smith of Northgate Logistics, Inc. "
    "José Núñez left. "
    "김도윤은 주식회사 한빛물류와 계약하였다.\n"
)


def judge(reply: str, marked: str, record: str = RECORD) -> Judged:
    start = reply.index(marked)
    return judge_name(reply, (start, start + len(marked)), DictSource({"a": ("A", record)}))


KNOWN = [
    "Ms. Reeves",
    "Dana Reeves",
    "D. Reeves",
    "Kofi Osei",
    "K. Osei",
    "Mr. Osei",
    "J. van der Berg",
    "John Smith",
    "Northgate Logistics, Inc.",
    "José Núñez",
    unicodedata.normalize("NFD", "José Núñez"),
    "김도윤",
    unicodedata.normalize("NFD", "김도윤"),
    "한빛물류",
]


@pytest.mark.parametrize("name", KNOWN)
def test_a_name_of_the_record_is_known(name: str) -> None:
    judged = judge(f"It was {name}, they say.", name)
    assert judged.verdict is Verdict.VERIFIED, judged.reason
    assert judged.places


UNKNOWN = [
    ("Peter Quill", Verdict.NOT_FOUND),
    ("Mary Jones", Verdict.NOT_FOUND),
    ("Southgate Logistics, LLC", Verdict.NOT_FOUND),
    ("박철수", Verdict.NOT_FOUND),
    # both words stand there, never together
    ("Dana Smith", Verdict.CHECK),
    ("John Reeves", Verdict.CHECK),
    # two people share the surname
    ("Mr. Smith", Verdict.CHECK),
    ("Smith", Verdict.CHECK),
    # the record calls her Ms.
    ("Mr. Reeves", Verdict.CHECK),
]


@pytest.mark.parametrize(("name", "verdict"), UNKNOWN)
def test_any_other_name_is_not_green(name: str, verdict: Verdict) -> None:
    assert judge(f"It was {name}, they say.", name).verdict is verdict


def test_a_decomposed_record_knows_a_composed_name() -> None:
    record = unicodedata.normalize("NFD", RECORD)
    assert judge("김도윤은 왔다.", "김도윤", record).verdict is Verdict.VERIFIED
    assert judge("It was José Núñez.", "José Núñez", record).verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ms. Reeves met Kofi A. Osei.", ["Ms. Reeves", "Kofi A. Osei"]),
        (
            "Osei wrote to Northgate Logistics, Inc. in March.",
            ["Osei", "Northgate Logistics, Inc."],
        ),
        ("The tenant told Wilkinson so.", ["Wilkinson"]),
        ("Judge Alvarez's order", ["Judge Alvarez"]),
        ("김도윤은 주식회사 한빛물류에 지급", ["김도윤", "한빛물류"]),
        ("The Court granted the Motion in March. Repairs were made.", []),
        ("THE LEASE AGREEMENT", []),
        ("It is due on Monday, January 5, 2024, under Section 4.", []),
    ],
)
def test_names_are_found_by_their_form(text: str, names: list[str]) -> None:
    assert [text[name.start : name.end] for name in find_names(text)] == names


def test_stretches_to_skip_hold_no_names() -> None:
    text = "Kofi Osei read Smith Dep."
    assert [n.words for n in find_names(text, skip=[(15, 25)])] == [("kofi", "osei")]


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_reply_over_any_record_is_judged(reply: str, record: str) -> None:
    source = DictSource({"a": ("A", record)})
    for name in find_names(reply):
        assert 0 <= name.start < name.end <= len(reply)
        judge_name(reply, (name.start, name.end), source)


@pytest.mark.parametrize(
    "text", ["Having said so, he left.", "Asked whether in writing, she said “yes”.", "Told so."]
)
def test_a_participle_that_opens_a_sentence_is_no_name(text):
    assert find_names(text) == ()
