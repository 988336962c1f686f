"""Amounts, percents and numbers: their values, and what the record says of them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.answers import GREEN, Verdict
from verify.amounts import find_figures
from verify.figures import judge_figure
from verify.judged import Judged
from verify.number_words import cjk_value, english_value
from verify.source import DictSource

VALUES = [
    ("$1.2 million", "1200000", "$"),
    ("$1,200,000", "1200000", "$"),
    ("$1,200.00", "1200", "$"),
    ("US $71000000", "71000000", "USD"),
    ("USD 11,000", "11000", "USD"),
    ("$520K", "520000", "$"),
    ("500,000 dollars", "500000", "$"),
    ("Seven Hundred Eighty Thousand Dollars", "780000", "$"),
    ("£5bn", "5000000000", "GBP"),
    ("€1.234,56", "1234.56", "EUR"),
    ("1.234.567,89 EUR", "1234567.89", "EUR"),
    ("C$500", "500", "CAD"),
    ("50 cents", "0.5", "$"),
    ("1억 2,000만 원", "120000000", "KRW"),
    ("5천만원", "50000000", "KRW"),
    ("일억이천만원", "120000000", "KRW"),
    ("3,000円", "3000", "JPY"),
    ("14.2%", "14.2", "percent"),
    ("five percent", "5", "percent"),
    ("150 basis points", "1.5", "percent"),
    ("ninety (90) days", "90", "day"),
    ("forty-two readings", "42", "reading"),
    ("3 million shares", "3000000", "share"),
]


@pytest.mark.parametrize(("written", "value", "unit"), VALUES)
def test_each_way_of_writing_a_figure_has_its_value(written: str, value: str, unit: str) -> None:
    (figure,) = find_figures(f"It is {written}.")
    assert (figure.value, figure.unit) == (Decimal(value), unit)


def test_a_number_that_is_no_amount_of_anything_is_left_out() -> None:
    assert find_figures("at 10:30, NG-000212, 12 F.3d, ¶ 7, § 4, 1/2") == () or all(
        figure.value in {Decimal(12), Decimal(4)} for figure in find_figures("12 F.3d")
    )


def test_number_words_that_do_not_make_a_number_have_no_value() -> None:
    assert english_value("five five") is None
    assert english_value("two hundred and five thousand") == 205_000
    assert cjk_value("서울") is None


LEASE = (
    "LEASE AGREEMENT\n4.2 Rent of $4,250.00 per month shall be paid on the fifth "
    "day. A late charge of "
    "five percent (5%) applies. The deposit is $8,500. The tenant may terminate on "
    "ninety (90) days' "
    "notice. Insurance shall be at least $1.2 million. The landlord shall not charge "
    "$75 for parking. "
    "The area is approximately 2,300 square feet.\n"
)
KOREAN = "발신인은 보증금 1억 2,000만 원을 지급하였습니다. 지연이자는 연 12%로 한다.\n"
DOCUMENTS = {"lease": ("Lease Agreement", LEASE), "ko": ("내용증명", KOREAN)}


def judge(reply: str, marked: str, documents: dict[str, tuple[str, str]] | None = None) -> Judged:
    start = reply.rindex(marked)
    return judge_figure(reply, (start, start + len(marked)), DictSource(documents or DOCUMENTS))


TRUE = [
    ("Rent is $4,250 per month.", "$4,250"),
    ("Rent of 4,250 dollars per month is due.", "4,250 dollars"),
    ("The lease sets a late charge of 5%.", "5%"),
    ("The deposit is USD 8,500.00.", "USD 8,500.00"),
    (
        "Insurance of at least $1,200,000 is required under the lease: insurance shall "
        "be at least $1,200,000.",
        "$1,200,000",
    ),
    ("The tenant may terminate on 90 days' notice.", "90 days"),
    ("보증금은 1억 2,000만 원이다.", "1억 2,000만 원"),
    ("보증금은 120,000,000원이다.", "120,000,000원"),
]


@pytest.mark.parametrize(("reply", "marked"), TRUE)
def test_a_true_figure_is_verified(reply: str, marked: str) -> None:
    judged = judge(reply, marked)
    assert judged.verdict is Verdict.VERIFIED, judged.reason
    assert judged.places


FALSE = [
    ("Rent is $4,520 per month.", "$4,520", {Verdict.NOT_FOUND}),
    ("Rent is $4,250 per week.", "$4,250", {Verdict.CHECK}),
    ("The deposit is $4,250.", "$4,250", {Verdict.MISATTRIBUTED}),
    ("Rent is $8,500 per month.", "$8,500", {Verdict.MISATTRIBUTED, Verdict.CHECK}),
    ("The late charge is 0.5%.", "0.5%", {Verdict.NOT_FOUND}),
    ("The late charge is $5.", "$5", {Verdict.NOT_FOUND, Verdict.CHECK}),
    ("The deposit is €8,500.", "€8,500", {Verdict.NOT_FOUND, Verdict.CHECK}),
    ("The deposit is C$8,500.", "C$8,500", {Verdict.CHECK, Verdict.NOT_FOUND}),
    ("Insurance shall be $1.2 billion.", "$1.2 billion", {Verdict.NOT_FOUND}),
    ("Insurance shall be at most $1,200,000.", "$1,200,000", {Verdict.ALTERED}),
    ("Insurance shall be $1,200,000.", "$1,200,000", {Verdict.CHECK}),
    ("The landlord charges $75 for parking.", "$75", {Verdict.CHECK}),
    ("The area is 2,300 square feet.", "2,300", {Verdict.CHECK}),
    (
        "The tenant may terminate on ninety (60) days' notice.",
        "ninety (60)",
        {Verdict.INCONSISTENT},
    ),
    ("보증금은 1억 2,000원이다.", "1억 2,000원", {Verdict.NOT_FOUND}),
    ("지연이자는 연 120%이다.", "120%", {Verdict.NOT_FOUND}),
    ("The roof cost $8,500.", "$8,500", {Verdict.CHECK, Verdict.MISATTRIBUTED}),
]


@pytest.mark.parametrize(("reply", "marked", "verdicts"), FALSE)
def test_a_figure_that_is_not_proven_is_never_green(
    reply: str, marked: str, verdicts: set[Verdict]
) -> None:
    judged = judge(reply, marked)
    assert judged.verdict in verdicts, judged


INVOICES = {
    "a": (
        "Invoice 7",
        "The repair invoice is $1,200. The cleaning invoice is $300. The credit is $250.",
    )
}


def test_a_sum_of_proven_terms_is_computed_with_its_formula() -> None:
    reply = "The repair invoice is $1,200. The cleaning invoice is $300. $1,200 + $300 = $1,500."
    judged = judge(reply, "$1,500", INVOICES)
    assert judged.verdict in {Verdict.COMPUTED, Verdict.CHECK}
    assert judged.steps == ("1,200 + 300 = 1,500",)


@pytest.mark.parametrize(
    ("reply", "marked"),
    [
        ("$1,200 + $300 = $1,600.", "$1,600"),
        ("Invoices of $1,200 and $300 total $1,550.", "$1,550"),
        ("The sum of $1,200 and $300 is $1,400.", "$1,400"),
        ("The difference between $1,200 and $300 is $800.", "$800"),
        ("$1,200 less $250 is $900.", "$900"),
        ("12 × $300 = $3,500.", "$3,500"),
    ],
)
def test_wrong_arithmetic_is_inconsistent(reply: str, marked: str) -> None:
    judged = judge(reply, marked, INVOICES)
    assert judged.verdict is Verdict.INCONSISTENT
    assert judged.steps


def test_right_arithmetic_over_false_terms_is_not_green() -> None:
    judged = judge("$1,100 + $300 = $1,400.", "$1,400", INVOICES)
    assert judged.verdict not in GREEN


def test_the_figure_of_another_document_is_not_green() -> None:
    documents = INVOICES | {"b": ("Invoice 8", "The roof invoice is $9,999.")}
    judged = judge("Invoice 8 says: the repair invoice is $1,200.", "$1,200", documents)
    assert judged.verdict is Verdict.MISATTRIBUTED


_PIECES = st.sampled_from(
    [written for written, _, _ in VALUES] + ["$", ",", "½", "٣", "억", " and ", "(", "="]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=10)), max_size=8).map("".join))
def test_any_text_is_read_without_failing_and_spans_stay_in_order(text: str) -> None:
    end = 0
    for figure in find_figures(text):
        assert end <= figure.start < figure.end <= len(text)
        end = figure.end


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_reply_over_any_record_is_judged(reply: str, record: str) -> None:
    source = DictSource({"a": ("A", record)})
    for figure in find_figures(reply):
        assert judge_figure(reply, (figure.start, figure.end), source).reason
