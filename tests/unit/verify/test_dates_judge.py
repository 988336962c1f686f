"""One date of a reply against a small record: every verdict, and every way to be wrong."""

from __future__ import annotations

import pytest

from protocol.answers import GREEN, Verdict
from protocol.record import DateOrder, DocumentClass, PageInfo, Reading
from verify.dates import judge_date
from verify.judged import Judged
from verify.source import DictSource

LEASE = (
    "LEASE AGREEMENT\n\n4.4 This lease commenced on March 5, 2021 and was signed by "
    "both parties on "
    "February 26, 2021.\n\n4.5 Rent shall be paid on or before July 1, 2021. The tenant did not "
    "renew the lease on June 30, 2022.\n\n4.6 The inspection first took place on or about "
    "August 9, 2021. The notice was served after September 3, 2021.\n"
)
DEPO = (
    "DEPOSITION OF DANA REEVES\nMay 14, 2024\n\n 1 Q. Did you report it?\n 2 A. I "
    "reported the leak "
    "to facilities on January 9, 2024, and\n\f 1 again on January 23, 2024.\n 2 Q. In writing?\n"
)
MAIL = (
    "From: Osei, K. <k.osei@example.com>\nTo: D. Reeves\nDate: Tue, 16 Jan 2024 23:40:12 -0500\n"
    "Subject: pallets\n\nThe shipment cannot go out.\n\n> On Jan 15, 2024, D. Reeves "
    "wrote:\n> We can.\n"
)
KOREAN = (
    "내용증명\n1. 발신인은 2024. 3. 5. 귀사와 물품보관계약을 체결하고 보증금을 지급하였습니다.\n"
    "2. 귀사는 2024년 4월 12일까지 물품을 반환하기로 약정하였으나 반환하지 아니하였습니다.\n"
)
GERMAN = "Der Vertrag wurde am 5. März 2024 unterzeichnet. Die Kündigung ging am 7. Mai 2024 zu.\n"
LEDGER = (
    "The goods were shipped on 03/04/2023. The invoice was issued on 25/03/2023 and 27/03/2023.\n"
)
DOCUMENTS = {
    "lease": ("Lease Agreement", LEASE),
    "depo": ("Deposition of Dana Reeves", DEPO),
    "mail": ("E-mail of K. Osei, 16 January 2024", MAIL),
    "ko": ("내용증명 (한빛물류)", KOREAN),
    "de": ("Vertrag Nord", GERMAN),
}


def judge(reply: str, marked: str, source: DictSource | None = None) -> Judged:
    start = reply.rindex(marked)
    return judge_date(reply, (start, start + len(marked)), source or DictSource(DOCUMENTS))


TRUE = [
    ("The lease was signed on February 26, 2021.", "February 26, 2021"),
    ("The lease was signed on 2021-02-26.", "2021-02-26"),
    ("The lease was signed on Friday, February 26, 2021.", "Friday, February 26, 2021"),
    (
        "Lease Agreement: the lease commenced on the 5th day of March, 2021.",
        "the 5th day of March, 2021",
    ),
    ("The lease began on March 5, 2021.", "March 5, 2021"),
    ("On March 5, 2021 the lease commenced.", "March 5, 2021"),
    ("The lease commenced in March 2021.", "March 2021"),
    ("Under the lease, rent is due by July 1, 2021.", "July 1, 2021"),
    ("The inspection first took place on or about August 9, 2021.", "August 9, 2021"),
    ("Ms. Reeves reported the leak to facilities on January 9, 2024.", "January 9, 2024"),
    ("Reeves reported the leak again on January 23, 2024.", "January 23, 2024"),
    ("Osei wrote on Tuesday, January 16, 2024.", "Tuesday, January 16, 2024"),
    ("계약은 2024년 3월 5일 체결되었다.", "2024년 3월 5일"),
    ("물품 반환 기한은 2024. 4. 12.이었다.", "2024. 4. 12."),
    ("Der Vertrag wurde am 5.3.2024 unterzeichnet, also am 5. März 2024.", "5. März 2024"),
]


@pytest.mark.parametrize(("reply", "marked"), TRUE)
def test_a_true_date_of_its_event_is_verified(reply: str, marked: str) -> None:
    judged = judge(reply, marked)
    assert judged.verdict is Verdict.VERIFIED, judged.reason
    assert judged.places


FALSE = [
    # not in the record at all
    ("The lease commenced on March 6, 2021.", "March 6, 2021", {Verdict.NOT_FOUND}),
    ("The lease was signed on February 26, 2020.", "February 26, 2020", {Verdict.NOT_FOUND}),
    ("The deadline was 2024. 4. 21.", "2024. 4. 21.", {Verdict.NOT_FOUND}),
    # a true date beside the wrong event
    ("The lease was signed on March 5, 2021.", "March 5, 2021", {Verdict.MISATTRIBUTED}),
    ("The lease commenced on February 26, 2021.", "February 26, 2021", {Verdict.MISATTRIBUTED}),
    ("Osei wrote on January 15, 2024.", "January 15, 2024", {Verdict.MISATTRIBUTED, Verdict.CHECK}),
    ("Der Vertrag wurde am 7. Mai 2024 unterzeichnet.", "7. Mai 2024", {Verdict.MISATTRIBUTED}),
    (
        "The roof collapsed on March 5, 2021.",
        "March 5, 2021",
        {Verdict.CHECK, Verdict.MISATTRIBUTED},
    ),
    # the weekday contradicts the date
    ("Osei wrote on Monday, January 16, 2024.", "Monday, January 16, 2024", {Verdict.INCONSISTENT}),
    ("It was Tuesday, June 5, 2024.", "Tuesday, June 5, 2024", {Verdict.INCONSISTENT}),
    ("It was signed on Monday, February 26, 2021.", "February 26, 2021", {Verdict.INCONSISTENT}),
    # the other document
    (
        "According to Vertrag Nord, the lease was signed on February 26, 2021.",
        "February 26, 2021",
        {Verdict.MISATTRIBUTED},
    ),
    # denied in the record, or only in the reply
    ("The tenant renewed the lease on June 30, 2022.", "June 30, 2022", {Verdict.CHECK}),
    ("The lease was not signed on February 26, 2021.", "February 26, 2021", {Verdict.CHECK}),
    ("귀사는 2024년 3월 5일 계약을 체결하지 않았다.", "2024년 3월 5일", {Verdict.CHECK}),
    # an order the record does not state
    ("The lease was first signed on February 26, 2021.", "February 26, 2021", {Verdict.CHECK}),
    # before and after, about
    ("Rent shall be paid after July 1, 2021.", "July 1, 2021", {Verdict.ALTERED, Verdict.CHECK}),
    ("The inspection first took place on August 9, 2021.", "August 9, 2021", {Verdict.CHECK}),
    ("The notice was served on September 3, 2021.", "September 3, 2021", {Verdict.CHECK}),
    # too little said to compare
    ("February 26, 2021.", "February 26, 2021", {Verdict.CHECK}),
    # finer than the record
    ("The lease commenced on March 15, 2021.", "March 15, 2021", {Verdict.NOT_FOUND}),
]


@pytest.mark.parametrize(("reply", "marked", "verdicts"), FALSE)
def test_a_date_that_is_not_proven_is_never_green(
    reply: str, marked: str, verdicts: set[Verdict]
) -> None:
    judged = judge(reply, marked)
    assert judged.verdict in verdicts, judged
    assert judged.reason


def test_the_nearest_date_for_the_event_is_shown() -> None:
    judged = judge("The lease commenced on March 6, 2021.", "March 6, 2021")
    (place,) = judged.nearest
    assert LEASE[place.start : place.end] == "March 5, 2021"


def test_another_time_zone_is_no_excuse_but_is_mentioned() -> None:
    judged = judge("Osei sent the e-mail of January 17, 2024.", "January 17, 2024")
    assert judged.verdict is Verdict.NOT_FOUND


# --- two readings ---


def ledger(order: DateOrder = DateOrder.UNSET) -> DictSource:
    return DictSource({"ledger": ("Ledger", LEDGER)}, date_order=order)


def test_digits_that_read_two_ways_are_ambiguous() -> None:
    judged = judge("The goods were shipped on 03/04/2023.", "03/04/2023", ledger())
    assert judged.verdict is Verdict.AMBIGUOUS


def test_the_order_of_the_matter_settles_it() -> None:
    source = ledger(DateOrder.DAY_FIRST)
    assert judge("The goods were shipped on 03/04/2023.", "03/04/2023", source).verdict in GREEN
    assert judge("The goods were shipped on 3 April 2023.", "3 April 2023", source).verdict in GREEN
    judged = judge("The goods were shipped on March 4, 2023.", "March 4, 2023", source)
    assert judged.verdict not in GREEN


def test_the_same_reply_may_write_it_out() -> None:
    reply = "The goods were shipped on 3 April 2023 (03/04/2023)."
    source = DictSource({"a": ("Ledger", "The goods were shipped on April 3, 2023.")})
    assert judge(reply, "03/04/2023", source).verdict in GREEN


def test_a_record_that_only_one_reading_fits_does_not_settle_the_reply() -> None:
    source = DictSource({"a": ("Ledger", "The goods were shipped on April 3, 2023.")})
    judged = judge("The goods were shipped on 3/4/2023.", "3/4/2023", source)
    assert judged.verdict is Verdict.AMBIGUOUS


def test_a_document_may_settle_its_own_digits() -> None:
    judged = judge("The goods were shipped on April 3, 2023.", "April 3, 2023", ledger())
    assert judged.verdict is Verdict.VERIFIED
    open_record = DictSource({"a": ("Ledger", "The goods were shipped on 03/04/2023.")})
    judged = judge("The goods were shipped on April 3, 2023.", "April 3, 2023", open_record)
    assert judged.verdict is Verdict.AMBIGUOUS


# --- computed ---


COMPUTED = [
    (
        "The lease was signed on February 26, 2021. 30 days later is March 28, 2021.",
        "March 28, 2021",
    ),
    (
        "30 days after February 26, 2021, when the lease was signed, is March 28, 2021.",
        "March 28, 2021",
    ),
    (
        "The lease was signed on February 26, 2021; thirty (30) days later was March 28, 2021.",
        "March 28, 2021",
    ),
    (
        "The lease was signed on February 26, 2021. Two weeks later was March 12, 2021.",
        "March 12, 2021",
    ),
]


@pytest.mark.parametrize(("reply", "marked"), COMPUTED)
def test_a_right_computation_is_computed_with_its_steps(reply: str, marked: str) -> None:
    judged = judge(reply, marked)
    assert judged.verdict in {Verdict.COMPUTED, Verdict.CHECK}
    assert judged.steps


def test_a_computation_from_a_proven_date_is_green() -> None:
    judged = judge(*COMPUTED[0])
    assert judged.verdict is Verdict.COMPUTED
    assert "26 February 2021" in judged.steps[0]


WRONG = [
    (
        "The lease was signed on February 26, 2021. 30 days later is March 27, 2021.",
        "March 27, 2021",
    ),
    ("30 days after February 26, 2021 is March 29, 2021.", "March 29, 2021"),
    ("The deadline is March 29, 2021, 30 days after February 26, 2021.", "March 29, 2021"),
    ("2021. 2. 26.부터 30일 후는 2021. 3. 29.이다.", "2021. 3. 29."),
]


@pytest.mark.parametrize(("reply", "marked"), WRONG)
def test_a_wrong_computation_is_inconsistent(reply: str, marked: str) -> None:
    assert judge(reply, marked).verdict is Verdict.INCONSISTENT


def test_a_computation_from_a_false_date_is_not_green() -> None:
    reply = "The lease was signed on February 25, 2021. 30 days later is March 27, 2021."
    assert judge(reply, "March 27, 2021").verdict is Verdict.CHECK


def test_business_days_are_never_green() -> None:
    reply = "The lease was signed on February 26, 2021. 5 business days later is March 5, 2021."
    assert judge(reply, "March 5, 2021").verdict is Verdict.CHECK


# --- documents that may not prove a fact, pages that may not be trusted ---


def test_work_product_proves_nothing() -> None:
    source = DictSource(
        {"memo": ("Memorandum", LEASE)}, classes={"memo": DocumentClass.WORK_PRODUCT}
    )
    reply = "The tenancy was signed by both parties on February 26, 2021."
    assert judge(reply, "February 26, 2021", source).verdict not in GREEN


def test_a_page_read_by_ocr_is_looked_at() -> None:
    page = PageInfo(
        number=1,
        start=0,
        end=len(LEASE),
        label=None,
        bates=None,
        reading=Reading.OCR,
        confidence=0.71,
        readers_disagree=False,
        reason="",
    )
    source = DictSource({"lease": ("Lease Agreement", LEASE)}, pages={"lease": [page]})
    judged = judge("The lease was signed on February 26, 2021.", "February 26, 2021", source)
    assert judged.verdict is Verdict.CHECK
    assert "71" in judged.reason


def test_a_span_that_holds_no_date_is_looked_at() -> None:
    assert judge("The lease may end.", "may").verdict is Verdict.CHECK
