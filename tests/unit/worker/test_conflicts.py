"""The rules that name what does not fit together, and what they leave alone."""

from __future__ import annotations

import pytest

from protocol.ids import DocumentId
from protocol.record import DateOrder, DocumentClass, DocumentInfo
from worker.deliverables.conflicts import conflicts_of
from worker.deliverables.events import Said, events_of
from worker.quoting import Sentence


def document(name):
    return DocumentInfo(
        id=DocumentId(name),
        title=name,
        name=f"{name}.txt",
        kind="txt",
        document_class=DocumentClass.EVIDENCE,
        text_sha256="",
        chars=0,
        pages=1,
    )


def record(**texts):
    """Statements of some documents; each is a list of sentences."""
    return [
        Said(
            info=document(name),
            sentence=Sentence(
                document=DocumentId(name), start=n * 500, end=n * 500 + len(words), words=words
            ),
        )
        for name, every in texts.items()
        for n, words in enumerate(every)
    ]


def kinds(**texts):
    return [one.kind for one in conflicts_of(record(**texts))]


def test_one_event_on_two_days_is_a_conflict():
    a = "The clerk delivered the signed contract to the bank on May 4, 2022."
    b = "On May 9, 2022 the clerk delivered the signed contract to the bank."
    (found,) = conflicts_of(record(a=[a], b=[b]))
    assert found.kind == "conflict"
    assert "4 May 2022" in found.why
    assert "9 May 2022" in found.why
    assert len(found.sides) == 2


def test_one_document_that_says_both_is_left_alone():
    a = "The clerk delivered the signed contract to the bank on May 4, 2022."
    b = "On May 9, 2022 the clerk delivered the signed contract to the bank."
    assert kinds(a=[a, b]) == []


def test_counts_of_known_days_change_and_counts_of_unknown_days_conflict():
    early = "On May 4, 2022 the water reached two rooms of the old library."
    late = "On June 7, 2022 the water reached five rooms of the old library."
    undated = "The water reached five rooms of the old library."
    assert kinds(a=[early], b=[late]) == ["change"]
    assert kinds(a=[early], b=[undated]) == ["conflict"]


def test_two_counts_of_one_day_conflict():
    one = "On May 4, 2022 the water reached two rooms of the old library."
    two = "On May 4, 2022 the water had come to five rooms of the old library."
    assert "conflict" in kinds(a=[one], b=[two])


def test_rows_that_add_up_are_left_alone():
    rows = ["Pumping $100.00", "Drying $250.00", "Total: $350.00"]
    assert kinds(a=rows) == []
    assert kinds(a=[*rows[:2], "Total: $360.00"]) == ["sum"]


def test_terms_of_a_contract_deny_nothing():
    term = "Tenant shall not alter the boiler room without consent."
    said = "He altered the boiler room in spring."
    assert kinds(a=[term], b=[said]) == []


@pytest.mark.parametrize(
    ("words", "date", "precision", "role"),
    [
        ("Filed May 6, 2024", "6 May 2024", "day", "filed"),
        ("The notice was served on or about May 6, 2024.", "6 May 2024", "about day", "served"),
        ("Nothing was heard until May 2024.", "May 2024", "on or before month", "event"),
        ("It was sent on 3 June 2024.", "3 June 2024", "day", "sent"),
        ("소장은 2024. 3. 5. 접수되었다.", "5 March 2024", "day", "filed"),
        ("Pay by February 30, 2023.", "30 February 2023 (as written)", "no such day", "event"),
        ("The next day he left the town for good.", "", "undated", "event"),
    ],
)  # fmt: skip
def test_dates_keep_precision_and_role(words, date, precision, role):
    sentence = Sentence(document=DocumentId("a"), start=0, end=len(words), words=words)
    (event,) = events_of(document("a"), [sentence], DateOrder.UNSET)
    assert (event.date, event.precision, event.role) == (date, precision, role)


@pytest.mark.parametrize(
    ("order", "day"),
    [(DateOrder.MONTH_FIRST, "4 March 2023"), (DateOrder.DAY_FIRST, "3 April 2023")],
)
def test_a_matter_that_says_how_digits_read_settles_a_date_and_says_so(order, day):
    words = "The pump was sold on 03/04/2023 to the tenant."
    sentence = Sentence(document=DocumentId("a"), start=0, end=len(words), words=words)
    (event,) = events_of(document("a"), [sentence], order)
    assert event.date == day
    assert "matter's setting" in event.note
