"""Exact look-ups: what a printer does is forgiven, nothing of the words is."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.record import DateOrder
from rag import patterns


@pytest.mark.parametrize(
    "text",
    [
        "the Tenant’s notice",
        "The tenant's notice",
        "the\n tenant's   notice",
        "the tenant's\n12  notice",  # a printed line number
        "THE TENANT'S NOTICE",
    ],
)
def test_a_phrase_is_found_however_it_is_printed(text: str) -> None:
    assert patterns.phrase("the tenant's notice").search(text)


@pytest.mark.parametrize("text", ["the tenants notice", "the tenant's notices", "other tenant's"])
def test_a_phrase_is_not_found_in_other_words(text: str) -> None:
    assert not patterns.phrase("the tenant's notice").search(text)


def test_a_word_broken_at_a_line_end_is_found_when_asked() -> None:
    text = "the parties may termi-\nnate this lease"
    assert not patterns.phrase("terminate this").search(text)
    assert patterns.phrase("terminate this", broken=True).search(text)
    assert patterns.phrase("terminate", broken=True).search("termi\u00adnate")


def test_hangul_is_found_with_its_particle() -> None:
    assert patterns.phrase("누수").search("천장의 누수를 발견")


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_every_phrase_finds_itself(text: str) -> None:
    assert patterns.phrase(text).search(text)


@given(st.text(max_size=30))
def test_special_characters_are_only_characters(text: str) -> None:
    found = patterns.phrase(f"a.*{text}")
    assert not found.search("a" + "z" * 10)


@pytest.mark.parametrize("text", ["Dana Reeves", "Reeves, Dana", "DANA REEVES", "Dana K. Reeves"])
def test_a_name_is_found_in_its_usual_forms(text: str) -> None:
    assert patterns.name("Dana Reeves").search(text)


def test_a_name_is_not_found_inside_another() -> None:
    assert not patterns.name("Dana Reeves").search("Dana Reevesworth")


JAN_9 = dt.date(2024, 1, 9)


@pytest.mark.parametrize(
    "text",
    [
        "January 9, 2024",
        "Jan. 9, 2024",
        "9 January 2024",
        "9th day of January, 2024",
        "2024-01-09",
        "2024. 1. 9.자",
        "2024년 1월 9일",
        "01/09/2024",
        "1/9/24",
    ],
)
def test_a_day_is_found_in_every_usual_form(text: str) -> None:
    assert patterns.date(JAN_9, DateOrder.MONTH_FIRST).search(f"on {text} it rained")


@pytest.mark.parametrize(
    "text", ["January 19, 2024", "January 9, 2023", "2024-01-091", "11/9/2024", "9 January 20245"]
)
def test_a_day_is_not_found_in_another(text: str) -> None:
    assert not patterns.date(JAN_9, DateOrder.MONTH_FIRST).search(f"on {text} it rained")


def test_digits_read_in_the_matters_order() -> None:
    assert patterns.parse_date("3/4/2024", DateOrder.DAY_FIRST) == (dt.date(2024, 4, 3),)
    assert patterns.parse_date("3/4/2024", DateOrder.MONTH_FIRST) == (dt.date(2024, 3, 4),)
    assert patterns.parse_date("3/4/2024", DateOrder.UNSET) == (
        dt.date(2024, 3, 4),
        dt.date(2024, 4, 3),
    )
    assert patterns.parse_date("13/4/2024", DateOrder.UNSET) == (dt.date(2024, 4, 13),)


@pytest.mark.parametrize("text", ["30 February 2024", "May", "the 9th", "2024", "Smith 12 2024"])
def test_what_is_no_day_is_not_read_as_one(text: str) -> None:
    assert patterns.parse_date(text, DateOrder.UNSET) == ()


@given(st.dates(min_value=dt.date(1900, 1, 1), max_value=dt.date(2099, 12, 31)))
def test_every_written_day_is_read_and_found(day: dt.date) -> None:
    month = patterns.MONTHS[day.month - 1]
    for text in (f"{month} {day.day}, {day.year}", f"{day.day} {month} {day.year}", str(day)):
        assert patterns.parse_date(text, DateOrder.UNSET) == (day,)
        assert patterns.date(day, DateOrder.UNSET).search(f"({text})")


@pytest.mark.parametrize(
    "text",
    [
        "$1,200,000",
        "1200000 dollars",
        "$1.2 million",
        "1,200,000.00",
        "US$ 1,200,000",
        "one million two hundred thousand dollars",
        "120만",
    ],
)
def test_an_amount_is_found_by_value(text: str) -> None:
    assert patterns.amount(Decimal(1_200_000)).search(f"cost {text} in all")


@pytest.mark.parametrize("text", ["$11,200,000", "1,200,0001", "$1,200,000,000", "1.25 million"])
def test_another_amount_is_not_found(text: str) -> None:
    assert not patterns.amount(Decimal(1_200_000)).search(f"cost {text} in all")


@pytest.mark.parametrize(
    ("text", "value", "currency"),
    [
        ("$1.2 million", Decimal(1_200_000), "USD"),
        ("1,000", Decimal(1000), ""),
        ("€ 12.50", Decimal("12.50"), "EUR"),
        ("500만원", Decimal(5_000_000), "KRW"),
        ("30 %", Decimal(30), "%"),
    ],
)
def test_an_amount_is_read(text: str, value: Decimal, currency: str) -> None:
    assert patterns.parse_amount(text) == (value, currency)


@pytest.mark.parametrize("text", ["rent of $5", "", "12 apples", "1.2.3"])
def test_what_is_no_amount_is_not_read_as_one(text: str) -> None:
    assert patterns.parse_amount(text) is None


@given(st.integers(min_value=1, max_value=10**9))
def test_every_number_is_found_with_and_without_commas(value: int) -> None:
    pattern = patterns.amount(Decimal(value))
    assert pattern.search(f"x {value} y")
    assert pattern.search(f"x {value:,} y")
    assert not pattern.search(f"x {value}7 y")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NG-000212", ("NG", 212, 212)),
        ("NG-000212-14", ("NG", 212, 214)),
        ("ACME_0001234 - ACME_0001236", ("ACME", 1234, 1236)),
        ("smith-def 000012", ("SMITHDEF", 12, 12)),
    ],
)
def test_bates_labels_are_read(text: str, expected: tuple[str, int, int]) -> None:
    assert patterns.parse_bates(text) == expected


@pytest.mark.parametrize("text", ["NG-000214-12", "the lease", "NG", "A1"])
def test_what_is_no_label_is_not_read_as_one(text: str) -> None:
    assert patterns.parse_bates(text) is None


@pytest.mark.parametrize(
    "end",
    [
        "\nNG-000212\f 1 ",  # a Bates stamp, then line 1 of the next page
        "\n- 12 -\f",
        "\nPage 3 of 9\f\nCASE NO. 24-CV-01187\n\n",
        "\f",
        "\n25\f",
    ],
)
def test_words_that_a_page_s_end_parts_are_found(end):
    text = f"I reported it on January 9,{end}2024, and again."
    assert patterns.date(dt.date(2024, 1, 9), DateOrder.UNSET).search(text)
    assert patterns.phrase("January 9, 2024").search(text)


def test_a_sentence_between_two_words_is_no_page_s_end():
    text = "He came on January 9,\nand nobody wrote it down.\fIn 2024, nothing. 2024"
    assert not patterns.phrase("January 9, 2024").search(text)
    assert not patterns.phrase("January 9, In 2024").search(text)


def test_a_page_of_capitals_is_searched_quickly():
    text = ("A" * 70 + " B-1 ") * 4_000 + "\f" + "C " * 5_000
    assert patterns.phrase("A B").search(text) is None
