"""Replies in their own words: a true value beside the wrong event is never green.

The record is small and full of pairs: two dates, two sums, two parties in one sentence. Each false
reply turns exactly one thing round.
"""

from __future__ import annotations

import pytest

from protocol.answers import GREEN, Verdict
from verify.amounts import find_figures
from verify.dates import find_dates, judge_date
from verify.figures import judge_figure
from verify.judged import Judged
from verify.source import DictSource

DOCUMENTS = {
    "depo": (
        "Reeves Dep.",
        "DEPOSITION OF DANA REEVES\nTaken on May 14, 2024\n\n 1 Q. You signed the lease on M"
        "arch 3, 2021, correct?\n 2 A. No. I signed the addendum on April 7, 2021.\n 3 Q. D"
        "id Mr. Osei call you on June 1, 2022?\n 4 A. Yes. Mr. Osei called me on June 1, 2"
        "022.\n",
    ),
    "agr": (
        "Supply Agreement",
        "SUPPLY AGREEMENT\nThis Supply Agreement is entered into as of January 15, 2020 (t"
        'he "Effective Date") between Alpha Corp. and Beta LLC. Alpha shall deliver the f'
        "irst shipment by February 1, 2020 and the second shipment by March 1, 2020. Beta"
        " paid $50,000 on signing and will pay $75,000 on delivery. The agreement termina"
        "tes on January 15, 2025 unless renewed. Alpha notified Beta of the defect on Jul"
        "y 9, 2021; Beta notified Alpha of the claim on August 2, 2021. Payment of $12,50"
        "0 was received by Alpha, not Beta, on May 3, 2021.\n",
    ),
    "letter": (
        "Letter of 5 June 2022",
        "June 5, 2022\n\nDear Ms. Park,\n\nWe received your letter dated May 20, 2022 on May "
        "27, 2022. We will respond by June 30, 2022. Our client denies that the meeting t"
        "ook place on April 1, 2022.\n\nSincerely,\nK. Osei\n",
    ),
    "min": (
        "Board Minutes",
        "MINUTES of the meeting of October 27, 2021. The board approved the budget of $2."
        "5 million. The board rejected the merger on November 3, 2021. Revenue rose from "
        "$10 million in 2019 to $14 million in 2020. Headcount fell from 120 employees to"
        " 95 employees. Interest accrues at 5% before default and 8% after default.\n",
    ),
}


def judge(reply: str, marked: str) -> Judged:
    start = reply.rindex(marked)
    span = (start, start + len(marked))
    source = DictSource(DOCUMENTS)
    if any(mention.start < span[1] and span[0] < mention.end for mention in find_dates(reply)):
        return judge_date(reply, span, source)
    assert any(figure.start < span[1] and span[0] < figure.end for figure in find_figures(reply))
    return judge_figure(reply, span, source)


TRUE = [
    ("Reeves signed the addendum on April 7, 2021.", "April 7, 2021"),
    ("The Supply Agreement was entered into as of January 15, 2020.", "January 15, 2020"),
    ("Alpha was to deliver the first shipment by February 1, 2020.", "February 1, 2020"),
    ("Alpha was to deliver the second shipment by March 1, 2020.", "March 1, 2020"),
    ("Alpha notified Beta of the defect on July 9, 2021.", "July 9, 2021"),
    ("Beta notified Alpha of the claim on August 2, 2021.", "August 2, 2021"),
    ("Our client denies that the meeting took place on April 1, 2022.", "April 1, 2022"),
    ("The board rejected the merger on November 3, 2021.", "November 3, 2021"),
    ("Beta paid $50,000 on signing.", "$50,000"),
    ("Beta will pay $75,000 on delivery.", "$75,000"),
    ("The board approved the budget of $2.5 million.", "$2.5 million"),
    ("Revenue rose to $14 million in 2020.", "$14 million"),
    ("Interest accrues at 8% after default.", "8%"),
]


@pytest.mark.parametrize(("reply", "marked"), TRUE)
def test_a_true_reply_in_its_own_words_is_verified(reply: str, marked: str) -> None:
    judged = judge(reply, marked)
    assert judged.verdict is Verdict.VERIFIED, judged.reason


FALSE = [
    ("Reeves signed the lease on March 3, 2021.", "March 3, 2021"),
    ("Alpha was to deliver the first shipment by March 1, 2020.", "March 1, 2020"),
    ("Alpha was to deliver the second shipment by February 1, 2020.", "February 1, 2020"),
    ("Alpha delivered the first shipment on February 1, 2020.", "February 1, 2020"),
    ("The agreement terminated on January 15, 2020.", "January 15, 2020"),
    ("Alpha notified Beta of the claim on July 9, 2021.", "July 9, 2021"),
    ("Alpha notified Beta of the defect on August 2, 2021.", "August 2, 2021"),
    ("The letter was received on May 20, 2022.", "May 20, 2022"),
    ("The letter dated May 27, 2022 was received.", "May 27, 2022"),
    ("The meeting took place on April 1, 2022.", "April 1, 2022"),
    ("The board approved the merger on November 3, 2021.", "November 3, 2021"),
    ("The board rejected the merger on October 27, 2021.", "October 27, 2021"),
    ("Beta paid $75,000 on signing.", "$75,000"),
    ("Payment of $12,500 was received by Beta.", "$12,500"),
    ("Revenue was $14 million in 2019.", "$14 million"),
    ("Revenue was $10 million in 2020.", "$10 million"),
    ("Headcount fell to 120 employees.", "120 employees"),
    ("Headcount rose from 120 employees to 95 employees.", "95 employees"),
    ("Interest accrues at 5% after default.", "5%"),
    ("Interest accrues at 8% before default.", "8%"),
    # who did what to whom, and what was only to be done
    ("Beta notified Alpha of the defect on July 9, 2021.", "July 9, 2021"),
    ("Beta paid $75,000 on delivery.", "$75,000"),
    ("The agreement terminates on January 15, 2025.", "January 15, 2025"),
]


@pytest.mark.parametrize(("reply", "marked"), FALSE)
def test_a_reply_that_turns_one_thing_round_is_never_green(reply: str, marked: str) -> None:
    judged = judge(reply, marked)
    assert judged.verdict not in GREEN, judged


def test_the_reason_says_who_is_not_named_there() -> None:
    judged = judge("Osei notified Beta of the defect on July 9, 2021.", "July 9, 2021")
    assert "Osei" in judged.reason


def test_a_long_run_of_equal_words_does_not_carry_a_word_that_differs() -> None:
    record = (
        "2.2.6 A Medium Subscriber and its Subordinate Subscribers generate more than $100. "
        "2.2.7 A Large Subscriber and its Subordinate Subscribers generate more than $1,500."
    )
    source = DictSource({"a": ("Licence", record)})
    reply = "A Large Subscriber and its Subordinate Subscribers generate more than $100."
    start = reply.index("$100")
    assert judge_figure(reply, (start, start + 4), source).verdict not in GREEN
