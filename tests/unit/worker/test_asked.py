"""What a request asked for, in words, and which words find it."""

from __future__ import annotations

import typing

import pytest

from protocol import jobs as ask
from protocol.ids import DocumentId, MatterId
from worker.asked import SHOWN_CHARS, holds, shown, words_of

M, K = MatterId("M-7F3K"), "key"
LEASE = DocumentId("d2")
TITLES = {LEASE: "Lease"}

SAID = {
    ask.Ask: (ask.Ask(matter=M, conversation="c", question="When?", key=K), "When?"),
    ask.Find: (ask.Find(matter=M, text="the leak", key=K), "the leak"),
    ask.Summarize: (
        ask.Summarize(matter=M, key=K, documents=(LEASE,), only="from:2026"),
        "Lease from:2026",
    ),
    ask.Extract: (
        ask.Extract(matter=M, key=K, what="columns", columns=("tenant", "rent")),
        "columns: tenant, rent",
    ),
    ask.Chronology: (ask.Chronology(matter=M, key=K), ""),
    ask.CiteCheck: (ask.CiteCheck(matter=M, key=K, document=DocumentId("gone")), "gone"),
    ask.WriteDraft: (
        ask.WriteDraft(matter=M, key=K, form="declaration", witness="Reeves"),
        "declaration Reeves",
    ),
    ask.Ingest: (ask.Ingest(matter=M, key=K), ""),
}


def test_every_kind_of_work_has_its_words():
    assert set(SAID) == set(typing.get_args(ask.WorkRequest))
    for request, said in SAID.values():
        assert words_of(request, TITLES) == said


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ("", True),
        ("NORTHGATE leak", True),
        ("leak northgate", True),
        ("northgate fire", False),
        ("누수", False),
    ],
)
def test_all_words_must_stand_in_it_in_any_order(words, fits):
    assert holds("When did Northgate know of the leak?", words) is fits


def test_other_spellings_of_the_same_letters_fit():
    assert holds("누수를 언제 알았나", "누수")
    assert holds("the Ｌｅａｋ", "leak")


def test_a_long_question_is_cut_and_says_so():
    said = shown("x" * (SHOWN_CHARS + 1))
    assert len(said) == SHOWN_CHARS
    assert said.endswith("…")
    assert shown("x" * SHOWN_CHARS) == "x" * SHOWN_CHARS
