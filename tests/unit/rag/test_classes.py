"""Document classes where nobody has said."""

from __future__ import annotations

import pytest

from protocol.record import DocumentClass
from rag.classes import by_name, guess

CAPTION = "IN THE SUPERIOR COURT OF ALDER COUNTY\nHARTWELL, Plaintiff, v. NORTHGATE, Defendant.\n"


@pytest.mark.parametrize(
    ("name", "opening", "expected"),
    [
        ("Complaint.pdf", CAPTION, DocumentClass.PLEADING),
        ("02_Answer of Northgate.pdf", CAPTION, DocumentClass.PLEADING),
        ("Re answer to your question.eml", "Dear Sam, the answer is no.", DocumentClass.EVIDENCE),
        ("motion sensor invoice.pdf", "Invoice 12", DocumentClass.EVIDENCE),
        ("brief1.txt", CAPTION, DocumentClass.PLEADING),
        ("ours.txt", "MEMORANDUM IN SUPPORT\n\nThe lease says", DocumentClass.PLEADING),
        ("a.pdf", "\nPLAINTIFF'S MOTION TO COMPEL\n", DocumentClass.PLEADING),
        ("b.eml", "We filed a motion to compel today.", DocumentClass.EVIDENCE),
        ("Lease.pdf", "LEASE between A and B", DocumentClass.EVIDENCE),
        ("Reeves Dep.pdf", CAPTION, DocumentClass.EVIDENCE),
        ("notes/privileged memo.docx", "Our view", DocumentClass.WORK_PRODUCT),
        ("authorities/statute 12.txt", "Section 12", DocumentClass.AUTHORITY),
        ("expert opinion.pdf", "In my opinion the pipe broke.", DocumentClass.EVIDENCE),
        ("준비서면_2024.pdf", "원고 김철수 피고 노스게이트", DocumentClass.PLEADING),
        ("임대차계약서.pdf", "임대차계약서", DocumentClass.EVIDENCE),
    ],
)
def test_the_guess(name: str, opening: str, expected: DocumentClass) -> None:
    assert guess(name, opening) is expected


def test_the_exact_name_wins_then_the_longest_pattern() -> None:
    rules = {"*": 1, "mail/*": 2, "mail/a*.txt": 3, "mail/abc.txt": 4}
    assert by_name(rules, "mail/abc.txt") == 4
    assert by_name(rules, "mail/ab.txt") == 3
    assert by_name(rules, "mail/x.txt") == 2
    assert by_name(rules, "x") == 1
    assert by_name({}, "x") is None
