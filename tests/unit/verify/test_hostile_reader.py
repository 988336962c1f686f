"""Replies that twist a record: each holds one thing that must not come out green.

`tests/data/verify/hostile.jsonl` holds the record (lines with an id) and the replies: parties that
change places, bounds and periods, words put into somebody else's mouth, cut denials, numbers in
words, East Asian amounts and calendars, invisible and look-alike characters.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from protocol.answers import GREEN, ItemKind
from verify import OpenRecord, check
from verify.source import DictSource

_ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data/verify/hostile.jsonl")
    .read_text("utf-8")
    .splitlines()
]
_CASES = [(row["reply"], words) for row in _ROWS if "reply" in row for words in row["not_green"]]
_POINTERS = {ItemKind.NAME, ItemKind.RECORD_CITE}


@pytest.fixture(scope="module")
def record():
    return OpenRecord(
        DictSource({row["id"]: (row["title"], row["text"]) for row in _ROWS if "id" in row})
    )


@pytest.mark.parametrize(("reply", "words"), _CASES, ids=range(len(_CASES)))
def test_a_twisted_reply_is_not_green(record, reply, words):
    at = reply.index(words)
    green = [
        (reply[f.start : f.end], f.reason)
        for f in check(reply, record).findings
        if f.start < at + len(words)
        and f.end > at
        and f.verdict in GREEN
        and f.kind not in _POINTERS
    ]
    assert green == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("Buyer shall pay Seller $2,400,000.", "$2,400,000"),
        ("Norwood received $90,000 from Mr. Pike.", "$90,000"),
        ("Norwood paid $15,000 to Ms. Vance.", "$15,000"),
        ("Overdue sums bear interest at 6 percent per annum.", "6 percent"),
        ("지연손해금은 연 6%로 한다.", "6%"),
        ("매수인은 매도인에게 대금 2억 4,000만 원을 지급한다.", "2억"),
        ("L'acheteur paie au vendeur 2 400 000 euros.", "2 400"),
        ("Hal Norwood testified: “I never told Mr. Pike that the pumps were fine.”", "I never"),
        ("**Norwood**: “I received $90,000 from Mr. Pike”", "I received"),
        ("Testimony of Hal Norwood: “I received $90,000 from Mr. Pike”", "I received"),
    ],
)
def test_the_same_things_said_rightly_are_green(record, reply, words):
    at = reply.index(words)
    found = [f for f in check(reply, record).findings if f.start <= at < f.end]
    assert [f.verdict in GREEN for f in found] == [True], [f.reason for f in found]
