"""A list's item is a unit of its own: the next item's title does not claim its quotation."""

from __future__ import annotations

import pytest

from protocol.answers import GREEN, ItemKind, Verdict
from verify import check
from verify.source import DictSource

RECORD = DictSource(
    {
        "lease": ("Lease", "The landlord shall repair the roof within ten days of notice."),
        "report": ("Report", "The inspector found the coupling cracked on both of its sides."),
        "dep": (
            "Reeves Dep.",
            "Q. When did you see the water in the room?\nA. I saw the water on a Monday morning.\n"
            "Q. Who else knew of it in that week?\nA. The night guard knew of it as well.\n"
            "Q. Did anybody write it down then?\nA. Nobody wrote it down before the spring.\n",
        ),
    }
)
LEASE = "The landlord shall repair the roof within ten days of notice."
REPORT = "The inspector found the coupling cracked on both of its sides."


def quotes(reply):
    return [item.verdict for item in check(reply, RECORD).findings if item.kind is ItemKind.QUOTE]


@pytest.mark.parametrize("bullet", ["- ", "* ", "• ", "1. ", "2) "])
def test_each_item_is_judged_by_its_own_title(bullet):
    reply = f"{bullet}Lease: “{LEASE}”\n{bullet}Report: “{REPORT}”\n{bullet}Lease: “{LEASE}”"
    assert quotes(reply) == [Verdict.VERIFIED] * 3


def test_a_wrong_title_in_an_item_still_fails():
    reply = f"- Lease: “{REPORT}”\n- Report: “{REPORT}”"
    first, second = quotes(reply)
    assert first not in GREEN
    assert second is Verdict.VERIFIED


def test_a_question_given_as_a_question_is_a_true_quotation():
    reply = (
        "Reeves Dep.: counsel asked “When did you see the water in the room?”, and the witness"
        " answered “I saw the water on a Monday morning.”"
    )
    assert quotes(reply) == [Verdict.VERIFIED] * 2


def test_a_question_put_in_the_witness_s_mouth_is_not():
    reply = "Reeves testified: “When did you see the water in the room?” (Reeves Dep.)"
    assert not GREEN & set(quotes(reply))
