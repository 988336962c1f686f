"""Faults that users of other products reported in public, each a test of its own."""

import pytest

from protocol.answers import GREEN, SentenceClass, Verdict
from protocol.record import DocumentClass, PageInfo, Reading
from verify import OpenRecord, check
from verify.dates import find_dates
from verify.judging import judge_quote
from verify.marks import find_marked
from verify.source import DictSource

LEASE = (
    "LEASE AGREEMENT\n\n4.1 The landlord is not permitted to terminate this lease during the fixed"
    " term. The tenant may, on ninety (90) days' written notice, terminate at any time after the"
    " second anniversary.\n\n4.2 Rent of $1,200.00 per month shall be paid on or before the fifth"
    " day. Signed on March 5, 2021.\n"
)
REPORT = (
    "INSPECTION REPORT\nThe moisture content averaged 14.2% [range 11.8-19.6] across forty-two"
    " readings.\n\nThe roof was found to be in generally sound condi-\ntion, except over bay 7,"
    " where the membrane had failed.\n"
)
TRANSCRIPT = (
    " 1 Q. Did you tell anyone?\n 2 A. I reported it to facilities on January 9, and\n"
    " 3 never heard of it again until\n\f 1 the spring of that year.\n 2 Q. You knew of the leak?\n"
    " 3 A. No.\n 4 Q. Not at all?\n 5 A. Not at all.\n"
)


def record(**documents: tuple[str, str]) -> OpenRecord:
    return OpenRecord(DictSource(documents or {"lease": ("Lease Agreement", LEASE)}))


def verdict_of(reply: str, opened: OpenRecord) -> Verdict:
    mark = find_marked(reply)[0]
    return judge_quote(reply, (mark.start, mark.end), opened, block=mark.block).verdict


@pytest.mark.parametrize("dots", ["...", ". . .", "…", "[...]", "[…]", "* * *", "(…)"])
def test_an_ellipsis_that_swallows_not(dots: str) -> None:
    reply = f"The lease says “The landlord is {dots} permitted to terminate this lease.”"
    assert verdict_of(reply, record()) in {Verdict.CHECK, Verdict.ALTERED}


def test_an_ellipsis_over_a_negation_broken_at_a_line_end() -> None:
    opened = record(a=("Report", "The insured can-\nnot recover the cost of the repair works."))
    reply = "The report says “The insured … recover the cost of the repair works.”"
    assert verdict_of(reply, opened) not in GREEN


def test_parts_reversed() -> None:
    reply = "The lease says “terminate at any time … The landlord is not permitted.”"
    assert verdict_of(reply, record()) not in GREEN


def test_parts_from_two_documents() -> None:
    opened = record(lease=("Lease Agreement", LEASE), report=("Inspection Report", REPORT))
    reply = "“The landlord is not permitted to terminate … the membrane had failed.”"
    assert verdict_of(reply, opened) not in GREEN


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("“", "”"),
        ('"', '"'),
        ("‘", "’"),
        ("'", "'"),
        ("«", "»"),
        ("„", "“"),
        ("「", "」"),
        ("『", "』"),
        ("**“", "”**"),
        ("\n\n> ", "\n\n"),
        ("\n\n    ", "\n\n"),
    ],
)
def test_every_mark_style_is_seen(opening: str, closing: str) -> None:
    true = "The landlord is not permitted to terminate this lease"
    false = true.replace("not ", "")
    lead = "The lease provides: "
    assert verdict_of(f"{lead}{opening}{true}{closing}", record()) is Verdict.VERIFIED
    assert verdict_of(f"{lead}{opening}{false}{closing}", record()) is Verdict.ALTERED


def test_brackets_of_the_record_stay_in_the_comparison() -> None:
    opened = record(report=("Inspection Report", REPORT))
    true = "“The moisture content averaged 14.2% [range 11.8-19.6] across forty-two readings.”"
    dropped = "“The moisture content averaged 14.2% across forty-two readings.”"
    changed = "“The moisture content averaged 14.2% [range 11.8-91.6] across forty-two readings.”"
    assert verdict_of(f"The report says {true}", opened) is Verdict.VERIFIED
    assert verdict_of(f"The report says {dropped}", opened) not in GREEN
    assert verdict_of(f"The report says {changed}", opened) not in GREEN


def test_a_quotation_over_a_page_seam() -> None:
    opened = record(depo=("Deposition of Dana Reeves", TRANSCRIPT))
    reply = "She said “never heard of it again until the spring of that year.”"
    report = check(reply, opened)
    found = next(f for f in report.findings if f.kind == "quote")
    assert found.verdict is Verdict.VERIFIED
    assert found.places[0].pin_cite == "Deposition of Dana Reeves 1:3-2:1"
    assert found.places[0].words == "never heard of it again until the spring of that year"


def test_a_true_quotation_cited_to_the_wrong_document_is_not_called_missing() -> None:
    opened = record(lease=("Lease Agreement", LEASE), report=("Inspection Report", REPORT))
    reply = "The Inspection Report says “The landlord is not permitted to terminate this lease.”"
    assert verdict_of(reply, opened) is Verdict.MISATTRIBUTED


def test_a_page_beyond_the_end_of_the_document() -> None:
    opened = record(depo=("Reeves Transcript", TRANSCRIPT))
    reply = "Reeves Transcript, p. 40, reads “I reported it to facilities on January 9”."
    assert verdict_of(reply, opened) is Verdict.MISATTRIBUTED


def test_words_of_a_question_put_into_a_mouth() -> None:
    opened = record(depo=("Deposition of Dana Reeves", TRANSCRIPT))
    reply = "Ms. Reeves testified: “You knew of the leak?”"
    assert verdict_of(reply, opened) is Verdict.MISATTRIBUTED


def test_a_full_stop_where_the_record_goes_on_with_an_exception() -> None:
    opened = record(report=("Inspection Report", REPORT))
    reply = "The report says “The roof was found to be in generally sound condition.”"
    assert verdict_of(reply, opened) is Verdict.CHECK


def test_an_amount_written_otherwise_is_the_same_amount() -> None:
    report = check("The lease sets rent at $1200 per month.", record())
    amount = next(f for f in report.findings if f.kind == "amount")
    assert amount.verdict in GREEN


def test_a_weekday_that_does_not_fit() -> None:
    report = check("The parties met on Tuesday, June 5, 2024.", record())
    date = next(f for f in report.findings if f.kind == "date")
    assert date.verdict is Verdict.INCONSISTENT


def test_a_date_that_reads_two_ways() -> None:
    opened = record(a=("Letter", "The goods were delivered on 03/04/2023 to the yard."))
    report = check("The goods were delivered on 03/04/2023.", opened)
    date = next(f for f in report.findings if f.kind == "date")
    assert date.verdict is Verdict.AMBIGUOUS


def test_no_date_in_a_page_full_of_may() -> None:
    page = (
        "The tenant may, if it may do so, sat on Exhibit 12. It may not. Docket 40 may follow. "
        * 20
    )
    assert find_dates(page) == ()


def test_korean_spans_after_an_emoji() -> None:
    opened = record(ko=("내용증명", "😀 1. 귀사는 물품을 반환하지 아니하였습니다.\n2. 끝."))
    reply = "👍 내용증명에는 「귀사는 물품을 반환하지 아니하였습니다」라고 기재되어 있습니다."
    mark = find_marked(reply)[0]
    assert reply[mark.start : mark.end] == "귀사는 물품을 반환하지 아니하였습니다"
    judged = judge_quote(reply, (mark.start, mark.end), opened)
    assert judged.verdict is Verdict.VERIFIED
    place = judged.places[0]
    text = opened.text(place.document)
    assert text[place.start : place.end] == "귀사는 물품을 반환하지 아니하였습니다"


def test_a_decomposed_korean_name() -> None:
    import unicodedata

    text = unicodedata.normalize("NFD", "매도인 김도윤은 대금을 모두 받았다고 확인한다.\n")
    opened = record(ko=("확인서", text))
    reply = "확인서에는 「김도윤은 대금을 모두 받았다고 확인한다」라고 기재되어 있다."
    assert verdict_of(reply, opened) is Verdict.VERIFIED


def test_a_heading_supports_nothing() -> None:
    opened = record(a=("Memorandum", "RISK FACTORS\n\nThe roof is sound in every respect today.\n"))
    report = check("Risk factors were disclosed to the buyer, see the Memorandum.", opened)
    assert all(claim.sentence_class is not SentenceClass.SUPPORTED for claim in report.sentences)
    assert any("nothing that can be checked" in note for note in report.notes)


def test_words_that_stand_only_in_the_question() -> None:
    asked = "The seller promised delivery by the end of the second quarter, did he not?"
    reply = "The seller said “promised delivery by the end of the second quarter”."
    report = check(reply, record(), user_text=asked)
    quote = next(f for f in report.findings if f.kind == "quote")
    assert quote.verdict is Verdict.NOT_FOUND
    assert "question" in quote.reason


@pytest.mark.parametrize(
    "document_class",
    [DocumentClass.WORK_PRODUCT, DocumentClass.MODEL_OUTPUT, DocumentClass.AUTHORITY],
)
def test_only_evidence_and_pleadings_make_a_quotation_green(document_class: DocumentClass) -> None:
    source = DictSource({"a": ("Lease Agreement", LEASE)}, classes={"a": document_class})
    reply = "The lease says “The landlord is not permitted to terminate this lease”."
    assert verdict_of(reply, OpenRecord(source)) is Verdict.CHECK


@pytest.mark.parametrize(("reading", "disagree"), [(Reading.OCR, False), (Reading.TEXT, True)])
def test_a_doubtful_page_makes_nothing_green(reading: Reading, disagree: bool) -> None:
    page = PageInfo(
        number=1, start=0, end=len(LEASE), label=None, bates=None, reading=reading,
        confidence=0.9, readers_disagree=disagree, reason="",
    )  # fmt: skip
    source = DictSource({"a": ("Lease Agreement", LEASE)}, pages={"a": [page]})
    reply = "The lease says “The landlord is not permitted to terminate this lease”."
    assert verdict_of(reply, OpenRecord(source)) is Verdict.CHECK


def test_a_printed_line_number_is_not_the_witness_s_number() -> None:
    lines = [f"{k:2} and then we went to the yard with" for k in range(1, 9)]
    lines[3] = " 4 children in the car that day, he"
    opened = record(tr=("Transcript", "\n".join(lines) + "\n"))
    reply = "The transcript says “we went to the yard with 4 children in the car that day”."
    assert verdict_of(reply, opened) not in GREEN
