"""Statements that are nearly true: no value and no quotation that carries the falsehood is green.

In each reply the part that is false or misleading stands in ``<...>``; the marks are taken out
before the check. What is true beside it may be green.
"""

from __future__ import annotations

import re

import pytest

from protocol.answers import GREEN, Finding, ItemKind
from verify.checker import check
from verify.record import OpenRecord
from verify.source import DictSource

AGREEMENT = """1. Delivery. Seller shall deliver at least forty-two (42) reactors to Buyer no \
later than February 1, 2022, except where the deposit has not been paid.
3. Termination. Seller may terminate this Agreement upon thirty (30) days' written notice. Buyer \
may not terminate before June 30, 2022 unless Seller fails to deliver.
4. Liability. Seller's liability shall not exceed $1.5 million in the aggregate, provided that \
this limit shall not apply to gross negligence.
9. Insurance. Buyer shall insure the reactors for not less than EUR 3,000,000 and Seller shall \
insure the works for not more than EUR 500,000.
11. Penalty. For each week of delay Seller shall pay 0.5% of the price.
"""
DEPOSITION = """                                                              1
 1             DEPOSITION OF DANA VANCE
 2                  March 14, 2023
 3  BY MR. HALE:
 4      Q.  When did you first receive the invoice?
 5      A.  I received the invoice on February 3, 2022, I believe.
 6      Q.  Did the buyer approve the shipment?
 7      A.  No.  The buyer never approved the shipment.
 8      Q.  Did you warn anyone?
 9      A.  I may have told him that the seals could fail.
10      Q.  Did Mr. Osei warn you?
11      A.  Mr. Osei warned me on January 9, 2022 that delivery
12  would be late unless the deposit was paid.
13      Q.  Did you refuse the crates?
14      A.  We accepted 36 crates and refused 6.
15      Q.  Did you ever see the test report?
16      A.  I saw a draft of the test report, but I never saw
17  the final one.
18      Q.  Were the crates wet?
19      A.  The crates were dry when they left Hamburg
20  and wet when they reached Halifax.
21      Q.  Anything else?
22      A.  Nothing.
23      Q.  Are you sure?
24      A.  Quite sure.
25      Q.  Let us go on.\f                                                              2
 1      Q.  Was it paid?
 2      A.  The deposit was paid on January 21, 2022, one day
 3  late.
"""
MAIL = """From: Kwame Osei <osei@northgate.example>
Date: Mon, 10 Jan 2022 09:15:00 +0100
Subject: Deposit

We have not received the deposit. If it is not paid by January 20, we cannot ship before February
15. The crates weigh 1,200 kg each; the seals weigh 40 g.

Kwame Osei

> On January 7, 2022 Dana Vance wrote:
> We will pay the deposit next week.
"""
REPORT = """TEST REPORT
Nobody at Northgate had tested the seals before December 2021. The leak rate was 8.3%.
"""
RECORD = OpenRecord(
    DictSource(
        {
            "agreement": ("Supply Agreement", AGREEMENT),
            "deposition": ("Deposition of Dana Vance", DEPOSITION),
            "mail": ("Email of January 10", MAIL),
            "report": ("Test Report", REPORT),
        }
    )
)


def found(marked: str) -> tuple[str, list[tuple[int, int]], tuple[Finding, ...]]:
    """The reply without its marks, the stretches that were marked, and what was found."""
    reply, spans = "", []
    for part in re.split(r"(<[^>]*>)", marked):
        if part.startswith("<"):
            spans.append((len(reply), len(reply) + len(part) - 2))
        reply += part.strip("<>")
    return reply, spans, check(reply, RECORD).findings


@pytest.mark.parametrize(
    "marked",
    [
        # a condition, an exception or a hedge cut off behind the statement
        'The agreement says that <"Seller shall deliver at least forty-two (42) reactors to Buyer '
        'no later than February 1, 2022">.',
        'The agreement says that <"Buyer may not terminate before June 30, 2022">.',
        'It says: <"Seller\'s liability shall not exceed $1.5 million in the aggregate">.',
        'Vance testified that <"I received the invoice on February 3, 2022">.',
        'Vance testified that <"delivery would be late">.',
        'Vance testified that <"I saw a draft of the test report">.',
        # the condition in front of it
        'Mr. Osei wrote: <"we cannot ship before February 15.">',
        # what governs it cut off
        'Vance testified that she <"told him that the seals could fail">.',
        'The report says that <"Northgate had tested the seals before December 2021">.',
        # words left out by dots
        'The agreement says <"Buyer may not terminate ... unless Seller fails to deliver">.',
        'Vance testified that <"I saw ... the test report">.',
        'Vance testified that <"The crates were dry when they ... reached Halifax">.',
        # who, may or must, how often, in what unit
        "Buyer may terminate this Agreement upon <thirty (30) days>' written notice.",
        "Seller must terminate this Agreement upon <thirty (30) days>' written notice.",
        "Seller shall insure the reactors for not less than <EUR 3,000,000>.",
        "Buyer shall insure the works for not more than <EUR 500,000>.",
        "For each day of delay Seller shall pay <0.5%> of the price.",
        "The crates weigh <1,200 g> each.",
        "Osei wrote on <January 7, 2022>.",
        "Northgate had tested the seals before <December 2021>.",
        # an answer to another question, a question as an answer, words of nobody there
        "Asked “Did you refuse the crates?”, the witness said <“No.  The buyer never approved the "
        "shipment.”>",
        "Vance Dep.: asked “Was it paid?”, she said <“We accepted 36 crates and refused 6.”>",
        'The deponent answered, <"Did you refuse the crates?">',
        'The court held: <"The leak rate was 8.3%.">',
        'Dana Vance wrote in the Test Report: <"The leak rate was 8.3%.">',
    ],
)
def test_the_false_part_is_not_green(marked: str) -> None:
    reply, spans, findings = found(marked)
    over = [f for f in findings if any(f.start < end and start < f.end for start, end in spans)]
    assert over, reply
    assert not [f for f in over if f.verdict in GREEN], over


@pytest.mark.parametrize(
    "reply",
    [
        "Seller may terminate this Agreement upon thirty (30) days' written notice.",
        "Buyer shall insure the reactors for not less than EUR 3,000,000.",
        "For each week of delay Seller shall pay 0.5% of the price.",
        'The agreement says that "Buyer may not terminate before June 30, 2022 unless Seller fails '
        'to deliver."',
        "Asked “Did you refuse the crates?”, Vance said “We accepted 36 crates and refused 6.”",
        "Vance Dep.: asked “Was it paid?”, the witness said “The deposit was paid on January 21, "
        "2022, one day late.”",
        '"The deposit was paid on January 21, 2022, one day late." Vance Dep. 2:2-3.',
        'Mr. Osei wrote: "If it is not paid by January 20, we cannot ship before February 15."',
        "The leak rate was 8.3%.",
    ],
)
def test_what_is_true_stays_green(reply: str) -> None:
    findings = check(reply, RECORD).findings
    assert findings
    told = [f for f in findings if f.kind is not ItemKind.NAME]
    assert not [f for f in told if f.verdict not in GREEN], told
