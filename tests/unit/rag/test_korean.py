"""Korean and mixed text: a small labelled set, found by words alone."""

from __future__ import annotations

import unicodedata

import pytest

from rag.lookup import find
from rag.retrieve import retrieve

# One paragraph a fact; the questions use other particles and endings than the papers do.
FILES = {
    "임대차계약서.txt": "임대차계약서\n\n"
    "제1조 (목적물) 임대인은 서울특별시 중구 소재 건물 4층 400호를 임차인에게 임대한다.\n\n"
    "제2조 (임대차기간) 임대차기간은 2022년 3월 1일부터 2025년 2월 28일까지로 한다.\n\n"
    "제3조 (보증금) 임차인은 보증금 금 50,000,000원을 계약 체결일에 지급한다.\n\n"
    "제4조 (수선의무) 임대인은 건물의 지붕과 배관을 수선하여야 한다.\n\n"
    "제5조 (해지) 일방이 의무를 위반한 때에는 상대방은 서면으로 최고한 후 계약을 해지할 수 있다.\n",
    "내용증명.txt": "내용증명\n\n수신: 노스게이트 관리 주식회사\n\n"
    "2024. 1. 9. 발생한 누수로 인하여 사무실 천장이 무너졌습니다.\n\n"
    "귀사는 이 서면을 받은 날부터 7일 안에 손해를 배상하여 주시기 바랍니다.\n",
    "진술서.txt": "진술서\n\n"
    "저는 2024년 1월 8일 아침에 물이 떨어지는 것을 처음 보았고 관리사무소에 전화하였습니다.\n\n"
    "전화를 받은 직원은 곧 사람을 보내겠다고 말했으나 아무도 오지 않았습니다.\n",
}
QUESTIONS = [
    ("누수는 언제 발생했는가", "2024. 1. 9. 발생한 누수로"),
    ("보증금이 얼마인가", "보증금 금 50,000,000원"),
    ("배관의 수선은 누가 하는가", "임대인은 건물의 지붕과 배관을"),
    ("계약의 해지는 어떻게 하는가", "계약을 해지할 수 있다"),
    ("천장은 왜 무너졌나", "사무실 천장이 무너졌습니다"),
    ("임대차기간이 언제까지인가", "임대차기간은 2022년"),
    ("손해의 배상 기한", "7일 안에 손해를 배상하여"),
    ("관리사무소에 누가 전화했나", "관리사무소에 전화하였습니다"),
]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_questions_find_their_passages_by_words(fill, form: str) -> None:
    given = {name: unicodedata.normalize(form, text) for name, text in FILES.items()}
    matter = fill(given)
    first = top3 = 0
    for question, gold in QUESTIONS:
        hits = retrieve(matter, question, embedder=None, top_k=3)
        texts = [unicodedata.normalize("NFC", hit.passage.text) for hit in hits]
        first += bool(texts) and gold in texts[0]
        top3 += any(gold in text for text in texts)
    assert first >= 6
    assert top3 == len(QUESTIONS)


def test_a_named_paper_is_found_in_korean(fill) -> None:
    hits = retrieve(fill(FILES), "임대차계약서 제3조", embedder=None, top_k=1)
    assert "보증금" in hits[0].passage.text


@pytest.mark.parametrize(
    ("text", "total"),
    [("누수", 1), ("2024-01-09", 1), ("50,000,000원", 1), ("5000만원", 1), ("해지할 수", 1)],
)
def test_exact_look_ups(fill, text: str, total: int) -> None:
    assert find(fill(FILES), text).total == total


def test_sections_are_cut_at_articles(fill) -> None:
    matter = fill(FILES)
    lease = next(info.id for info in matter.documents() if info.name == "임대차계약서.txt")
    starts = [p.text[:3] for p in matter.store.passages(matter.store.numbers_of(lease)).values()]
    assert starts[1:] == ["제1조", "제2조", "제3조", "제4조", "제5조"]
