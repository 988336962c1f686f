"""Document classes where nobody has said."""

from __future__ import annotations

import datetime as dt

import pytest

from protocol.ids import MatterId
from protocol.record import DocumentClass, Matter
from rag.classes import by_name, guess, marking, said
from rag.matters import Manifest

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


MANIFEST = Manifest(
    matter=Matter(
        id=MatterId("M-7F3K"), title="A v. B", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    ),
    classes={"mail.eml": DocumentClass.PLEADING, "own.txt": DocumentClass.AUTHORITY},
    exhibits={"mail.eml": "A", "own.txt": "B"},
    custodians={"mail.eml": "Reeves", "own.txt": "Lee"},
    designations={"mail.eml": "CONFIDENTIAL"},
    privileged=("mail.eml",),
)


def test_an_attachment_takes_over_what_is_said_of_its_message_but_not_its_exhibit_label():
    found = said(MANIFEST, "photo.txt", "mail.eml", "Water came in.", own=False)
    assert found.document_class is DocumentClass.PLEADING
    assert (found.exhibit, found.custodian, found.designation) == (None, "Reeves", "CONFIDENTIAL")
    assert found.privileged


def test_what_is_said_of_the_attachment_itself_wins():
    found = said(MANIFEST, "own.txt", "mail.eml", "Water came in.", own=False)
    assert found.document_class is DocumentClass.AUTHORITY
    assert (found.exhibit, found.custodian, found.designation) == ("B", "Lee", "CONFIDENTIAL")
    assert found.privileged


def test_a_paper_of_which_nothing_is_said():
    found = said(MANIFEST, "photo.txt", "photo.txt", "Water came in.", own=False)
    assert found.document_class is DocumentClass.EVIDENCE
    assert (found.exhibit, found.custodian, found.designation) == (None, None, None)
    assert not found.privileged


def test_what_this_product_wrote_is_model_output_whatever_is_said():
    found = said(MANIFEST, "own.txt", "own.txt", "Water came in.", own=True)
    assert found.document_class is DocumentClass.MODEL_OUTPUT


def test_a_marking_is_shown_to_the_end_of_its_line_and_only_near_the_top():
    line = "PRIVILEGED AND CONFIDENTIAL, for counsel only"
    assert marking("memo.txt", f"{line}\nThe pump had failed.") == line
    assert len(marking("memo.txt", line + " x" * 200)) < len(line) + 100
    assert marking("memo.txt", "x\n" * 400 + line) == ""
    assert marking("a_privileged_memo.txt", "The pump had failed.") == "privileged"
