"""A number glued to a word, a Korean sentence that the next one takes back, "X라고 한다"."""

from __future__ import annotations

import pytest

from protocol.answers import GREEN, ItemKind, Verdict
from verify import OpenRecord, check
from verify.source import DictSource

ORDER = (
    "ORDER\n\nThe court dismissed the second count.2 The defendant relies on the Trade Act1 of the "
    "state for relief. The rest stands.3 Nothing else was argued before the court that day.\n\n"
    "________________\n1 The Trade Act is codified in title five.\n"
    "2 The second count was pleaded late.\n3 The rest was not briefed.\n"
)
REPORT = (
    "INCIDENT REPORT 7\n\n임차인은 2024년 3월 5일 누수를 신고하였다. "
    "임대인은 계약을 해지할 수 있다. 임차인은 차임을 감액할 수 없다.\n"
    "임대인은 수리비를 부담한다. "
    "다만 임차인의 과실로 인한 경우에는 그러하지 아니하다. "
    "임차인은 보증금을 지급한다. 단, 분할 지급은 제외한다.\n"
)


@pytest.fixture(scope="module")
def record():
    return OpenRecord(
        DictSource({"ord": ("Order of May 3", ORDER), "ir": ("Incident Report 7", REPORT)})
    )


def judged(reply, record):
    (found,) = [f for f in check(reply, record).findings if f.kind is ItemKind.QUOTE]
    return found


@pytest.mark.parametrize(
    "words",
    [
        "The court dismissed the second count. The defendant relies on the Trade Act1 of the state",
        "The defendant relies on the Trade Act of the state for relief.",
    ],
)
def test_a_number_glued_to_what_has_numbers_is_left_to_the_reader(record, words):
    found = judged(f"The Order of May 3 says: “{words}”", record)
    assert found.verdict is Verdict.CHECK
    assert "footnote marker" in found.reason


def test_a_number_glued_to_another_word_is_its_footnotes_marker(record):
    words = "The rest stands. Nothing else was argued before the court that day."
    assert judged(f"The Order of May 3 says: “{words}”", record).verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("임대인은 수리비를 부담한다.", "다만"),
        ("임대인은 수리비를 부담한다", "다만"),
        ("임대인은 수리비를 부담한다 …", "다만"),
        ("임차인은 보증금을 지급한다.", "단"),
        ("임대인은 계약을 해지할 수", "있다"),
        ("임차인은 차임을 감액할 수", "없다"),
    ],
)
def test_what_the_record_takes_back_or_goes_on_with_is_named(record, words, why):
    found = judged(f"Incident Report 7에 따르면 “{words}”라고 한다.", record)
    assert found.verdict is Verdict.CHECK
    assert why in found.reason


@pytest.mark.parametrize(
    "words",
    [
        "임대인은 수리비를 부담한다. 다만 임차인의 과실로 인한 경우에는 그러하지 아니하다.",
        "임대인은 계약을 해지할 수 있다",
        "임차인은 2024년 3월 5일 누수를 신고하였다.",
    ],
)
def test_a_sentence_quoted_with_what_belongs_to_it_is_green(record, words):
    assert judged(f"Incident Report 7에 따르면 “{words}”", record).verdict in GREEN


def test_what_a_document_is_said_to_say_is_never_passed_over(record):
    for ending in ("라고 한다", "이라 한다", "라고 합니다"):
        true = judged(f"Incident Report 7는 “임대인은 계약을 해지할 수 있다”{ending}.", record)
        assert true.verdict is Verdict.VERIFIED
        false = judged(f"Incident Report 7는 “임대인은 보증금을 반환하지 않는다”{ending}.", record)
        assert false.verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize(
    "reply",
    [
        "김철수를 “매수인”이라고 한다.",
        "김철수(이하 “본 건 부동산 매수인”이라 한다)는 서울에 산다.",
    ],
)
def test_a_name_given_to_a_party_quotes_nothing(record, reply):
    assert judged(reply, record).verdict is Verdict.NOT_A_QUOTE
