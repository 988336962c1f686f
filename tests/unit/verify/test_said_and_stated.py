"""Pronouns as speakers, sums in brackets, shares, European grouping, and what a sentence says
beyond its quotation."""

from __future__ import annotations

import pytest

from protocol.answers import SentenceClass
from verify import OpenRecord, check
from verify.source import DictSource

DEPOSITION = (
    "DEPOSITION OF RUTH CALLOWAY\nNovember 18, 2024\n\n"
    " 1 BY MR. HOLT:\n 2 Q. Did you approve the March invoice?\n"
    " 3 A. I did not approve it. Mr. Brandt approved it on\n 4 March 29, 2024.\n"
    " 5 Q. So the payment of $52,250 was made without review?\n"
    " 6 A. I would not say that. Someone in finance looked at it.\n"
    " 7 Q. Is it true that you deleted the log files?\n"
    " 8 A. That is false. I kept every log file.\n"
)
MAIL = (
    "From: T. Brandt <t.brandt@example.com>\nTo: R. Calloway\n"
    "Date: Tue, 2 Apr 2024 09:12:00 +0200\nSubject: invoice\n\n"
    "Ruth - I signed off the March invoice. We owe them 3 x $17,400 for the spring.\n\n"
    "> On Mar 30, 2024, R. Calloway wrote:\n> Please hold the invoice until I am back.\n"
)
AGREEMENT = (
    "MASTER SERVICES AGREEMENT\n\n2. Fees. Client shall pay Provider $48,500 per quarter.\n\n"
    "4. Notice. Either party may terminate on sixty (60) days' written notice."
    " Section 5 is deleted.\n"
)
AMENDMENT = "FIRST AMENDMENT\n\nClient shall pay Provider $52,250 per quarter from July 1, 2023.\n"
REPORT = "INCIDENT REPORT 7\n\nIn all, 41 of 60 servers were affected.\n"
LEASE = "MIETVERTRAG\n\n§ 2 Die Miete beträgt monatlich 1.850,00 EUR.\n"


@pytest.fixture(scope="module")
def record():
    return OpenRecord(
        DictSource(
            {
                "dep": ("Deposition of Ruth Calloway", DEPOSITION),
                "mail": ("E-mail of T. Brandt, 2 April 2024", MAIL),
                "msa": ("Master Services Agreement", AGREEMENT),
                "am": ("First Amendment", AMENDMENT),
                "inc": ("Incident Report 7", REPORT),
                "de": ("Mietvertrag", LEASE),
            }
        )
    )


def verdict_of(record, reply, words):
    at = reply.index(words)
    hits = [f for f in check(reply, record).findings if f.start < at + len(words) and f.end > at]
    return hits[0].verdict.value if hits else "NONE"


@pytest.mark.parametrize(
    ("reply", "words", "expected"),
    [
        # the reply spoke of two people: whom "she" means is not string work
        (
            "Brandt told Calloway “I signed off the March invoice.” She answered: "
            "“We owe them 3 x $17,400 for the spring.”",
            "We owe them",
            "CHECK",
        ),
        (
            "Mr. Brandt and Ms. Calloway met. “I kept every log file,” he said.",
            "I kept every",
            "CHECK",
        ),
        # two people write in this document, and the reply named none
        ("She wrote: “We owe them 3 x $17,400 for the spring.”", "We owe them", "CHECK"),
        # one witness answers, nobody else was named
        ("She said: “I kept every log file.”", "I kept every", "VERIFIED"),
        ("Ms. Calloway was asked. She said: “I kept every log file.”", "I kept every", "VERIFIED"),
    ],
)
def test_a_pronoun_speaks_for_one_who_cannot_be_anybody_else(record, reply, words, expected):
    assert verdict_of(record, reply, words) == expected


@pytest.mark.parametrize(
    ("reply", "words", "green"),
    [
        ("The increase was $3,750 ($52,250 − $48,500).", "$3,750", None),
        ("The increase was $4,750 ($52,250 − $48,500).", "$4,750", "INCONSISTENT"),
        ("Fees total $194,000 a year (4 × $48,500).", "$194,000", None),
        ("Fees total $195,000 a year (4 × $48,500).", "$195,000", "INCONSISTENT"),
    ],
)
def test_a_sum_whose_terms_stand_in_brackets_is_recomputed(record, reply, words, green):
    report = check(reply, record)
    at = reply.index(words)
    item = next(f for f in report.findings if f.start == at)
    assert item.steps, "the formula is shown"
    assert item.verdict.value == (green or item.verdict.value)
    assert item.verdict.value in {green} if green else item.verdict.value in {"COMPUTED", "CHECK"}


def test_points_group_thousands_of_euros(record):
    assert verdict_of(record, "Die Miete beträgt monatlich 1.850 EUR.", "1.850") == "VERIFIED"
    assert verdict_of(record, "Die Miete beträgt monatlich 18.500 EUR.", "18.500") != "VERIFIED"


@pytest.mark.parametrize(
    ("reply", "words", "expected"),
    [
        ("41 of 60 servers were affected.", "60", {"VERIFIED"}),
        ("60 of 41 servers were affected.", "60", {"CHECK", "NOT_FOUND", "MISATTRIBUTED"}),
        ("41 of 41 servers were affected.", "41", {"CHECK", "NOT_FOUND", "MISATTRIBUTED"}),
    ],
)
def test_a_share_is_of_the_same_whole(record, reply, words, expected):
    assert verdict_of(record, reply, words) in expected


def test_a_sentence_in_brackets_after_a_title_is_a_quotation(record):
    reply = "The Master Services Agreement (“Section 5 is deleted”) is plain."
    assert verdict_of(record, reply, "Section 5") == "VERIFIED"
    term = "Ruth Calloway (the “Receiving Party”) signed."
    assert verdict_of(record, term, "Receiving Party") in {"NONE", "NOT_A_QUOTE"}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            "The Master Services Agreement says: “Client shall pay Provider $48,500 per quarter.”",
            True,
        ),
        ("“I kept every log file,” Ms. Calloway testified.", True),
        ("On page 1 the Master Services Agreement reads “Section 5 is deleted.”", True),
        # the words around the quotation state what nobody checked
        ("The agreement requires “sixty (60) days' written notice” to renew.", False),
        ("Provider may assign freely; the agreement says “Section 5 is deleted.”", False),
        ("The Master Services Agreement does not say “Section 5 is deleted.”", False),
        ("Ms. Calloway lied when she said “I kept every log file.”", False),
        ("Provider may assign freely; Client shall pay Provider $48,500 per quarter.", False),
    ],
)
def test_a_sentence_is_supported_only_by_what_was_checked(record, reply, expected):
    (claim,) = check(reply, record).sentences
    assert (claim.sentence_class is SentenceClass.SUPPORTED) is expected


@pytest.mark.parametrize(
    "reply",
    [
        "My boss said “get this done by Friday” so please hurry.",
        "A typical clause reads “time is of the essence of this bargain”; none is here.",
        "I would title the section “Why the notice was late”.",
        "Quote-unquote “experts” disagree.",
    ],
)
def test_words_from_outside_the_record_are_left_alone(record, reply):
    report = check(reply, record)
    assert [f.verdict.value for f in report.findings if f.kind.value == "quote"] in (
        [],
        ["NOT_A_QUOTE"],
    )
