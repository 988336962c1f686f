"""What the words around an item say of it: section, paper, version, speaker, period, time, count.

`tests/data/verify/frames.jsonl` holds a record (lines with an id) and replies by kind. Each reply
says one thing that the record does not bear out; those with ``green`` are their true counterparts.
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
    for line in (Path(__file__).parents[2] / "data/verify/frames.jsonl")
    .read_text("utf-8")
    .splitlines()
]
_REPLIES = [row for row in _ROWS if "reply" in row]
_POINTERS = {ItemKind.NAME, ItemKind.RECORD_CITE}


@pytest.fixture(scope="module")
def record():
    return OpenRecord(
        DictSource({row["id"]: (row["title"], row["text"]) for row in _ROWS if "id" in row})
    )


def _at(record, reply, words):
    at = reply.index(words)
    return [
        (reply[f.start : f.end], f.verdict, f.reason)
        for f in check(reply, record).findings
        if f.start < at + len(words) and f.end > at and f.kind not in _POINTERS
    ]


@pytest.mark.parametrize(
    ("reply", "words"),
    [(row["reply"], words) for row in _REPLIES for words in row["not_green"]],
    ids=[f"{row['kind']}-{n}" for n, row in enumerate(_REPLIES) for _ in row["not_green"]],
)
def test_what_a_frame_says_wrongly_is_not_green(record, reply, words):
    found = _at(record, reply, words)
    assert [one for one in found if one[1] in GREEN] == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [(row["reply"], words) for row in _REPLIES for words in row["green"]],
    ids=[f"{row['kind']}-{n}" for n, row in enumerate(_REPLIES) for _ in row["green"]],
)
def test_the_true_counterpart_stays_green(record, reply, words):
    found = _at(record, reply, words)
    assert found, "no item was found"
    assert all(one[1] in GREEN for one in found), found


def test_every_kind_holds_several_replies():
    kinds = {row["kind"] for row in _REPLIES}
    assert len(kinds) >= 12
    assert sum(bool(row["not_green"]) for row in _REPLIES) >= 200
