"""Which dates stand in a text, and with which value; and where there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.dates import Granularity, Modifier, find_dates

FORMS = [
    # every line: as written, the value it has
    ("May 5, 2010", "2010-05-05"),
    ("May 5 2010", "2010-05-05"),
    ("May 5th, 2010", "2010-05-05"),
    ("MAY 5, 2010", "2010-05-05"),
    ("May\n5,\n\n 2010", "2010-05-05"),
    ("5 May 2010", "2010-05-05"),
    ("the 5th day of May, 2010", "2010-05-05"),
    ("the twenty-first day of May, 2010", "2010-05-21"),
    ("5th of May 2010", "2010-05-05"),
    ("Sept. 5, 2010", "2010-09-05"),
    ("30-Sep-1999", "1999-09-30"),
    ("2010-05-05", "2010-05-05"),
    ("2010/05/05", "2010-05-05"),
    ("12/31/2006", "2006-12-31"),
    ("31/12/2006", "2006-12-31"),
    ("21.4.2005", "2005-04-21"),
    ("Wednesday, May 5, 2010", "2010-05-05"),
    ("Tue, 16 Jan 2024 23:40:12 -0500", "2024-01-16"),
    ("1. Januar 2012", "2012-01-01"),
    ("5. März 2024", "2024-03-05"),
    ("30 octobre 2007", "2007-10-30"),
    ("1er mars 2024", "2024-03-01"),
    ("2024년 3월 5일", "2024-03-05"),
    ("2024. 3. 5.", "2024-03-05"),
    ("2024.3.5", "2024-03-05"),
    ("2019年7月2日", "2019-07-02"),
    ("令和6年3月5日", "2024-03-05"),
    ("平成元年1月8日", "1989-01-08"),
    ("２０２４年３月５日", "2024-03-05"),
    ("September 2013", "2013-09"),
    ("2024년 3월", "2024-03"),
    ("Aug. 1991", "1991-08"),
    ("in 2009", "2009"),
    ("2024년", "2024"),
    ("March 5", "--03-05"),
]


@pytest.mark.parametrize(("written", "value"), FORMS)
def test_each_way_of_writing_a_date_has_its_value(written: str, value: str) -> None:
    for text in (written, f"It was so. On {written} they met.", f"({written})"):
        assert [m.readings[0].iso() for m in find_dates(text)] == [value]


NO_DATES = [
    "You may 30 days later; they may march on. He sat. The sun may set in march.",
    "It may be that Mr. May may sue. May 30 days' notice be given?",
    "Exhibit 12, Section 4.1.2, Dkt. 52-1, Rule 12(b)(6), item 8:100, 5.3.24",
    "No. 10-CV-375, 1:17-cv-03799, NG-000212-213, ACME 20100505, Case No. 2012-10-05",
    "call 1-800-12-2010 or 555-12-2010; version 2.10.2011; § 4.1.2005",
    "493 F.3d 82, 85 (2d Cir. 2007); 28 U.S.C. § 1746; 67 Fed. Reg. 51,765",
    "$1,200.00 and 3/4 of 12 1/2 shares; 10:30; 24/7; 50/50; 12.5.10.3",
    "제3조 제2항, 갑 제3호증의 1, 3개월, 2명, 5일간",
    "http://example.com/2010/05/06/x and 32/13/2010 and February 30, 2010 and 2010-13-40",
]


@pytest.mark.parametrize("text", NO_DATES)
def test_no_date_is_found_where_there_is_none(text: str) -> None:
    assert [text[m.start : m.end] for m in find_dates(text)] == []


def test_a_page_full_of_may_holds_no_date() -> None:
    text = "The tenant may enter, may leave and may 7 times return. " * 400
    assert find_dates(text) == ()


def test_an_open_order_of_day_and_month_keeps_both_readings() -> None:
    (mention,) = find_dates("03/04/2023")
    assert {value.iso() for value in mention.readings} == {"2023-03-04", "2023-04-03"}
    assert mention.value is None


def test_a_two_digit_year_keeps_both_centuries() -> None:
    (mention,) = find_dates("'24.3.5")
    assert {value.iso() for value in mention.readings} == {"1924-03-05", "2024-03-05"}


def test_a_weekday_beside_an_open_date_settles_its_order() -> None:
    (mention,) = find_dates("on Monday, 3/4/2024")
    assert [value.iso() for value in mention.readings] == ["2024-03-04"]


def test_a_list_lends_its_year_backwards() -> None:
    first, second = find_dates("on 3 June and 17 June 2023")
    assert first.readings[0].iso() == "2023-06-03"
    assert first.year_from_list
    assert second.readings[0].iso() == "2023-06-17"


def test_a_range_in_one_expression_has_an_end() -> None:
    (mention,) = find_dates("May 5-7, 2010")
    assert mention.readings[0].iso() == "2010-05-05"
    assert mention.until is not None
    assert mention.until.iso() == "2010-05-07"


def test_a_range_over_two_months_is_two_dates() -> None:
    assert [m.readings[0].iso() for m in find_dates("August 7 to 23 September 2006")] == [
        "2006-08-07",
        "2006-09-23",
    ]


def test_a_year_may_stand_on_the_next_page() -> None:
    text = "(May 10,\n\n\n        Cite as: 584 U. S. ____ (2018)     9\n   Opinion\n2017), online"
    assert find_dates(text)[0].readings[0].iso() == "2017-05-10"


def test_a_page_number_before_a_date_is_not_its_day() -> None:
    assert find_dates("-2-\n\fJuly 28, 2010")[0].readings[0].iso() == "2010-07-28"


@pytest.mark.parametrize(
    ("text", "modifier"),
    [
        ("on or about March 5, 2021", Modifier.ABOUT),
        ("no later than March 5, 2021", Modifier.BY),
        ("on or before March 5, 2021", Modifier.BY),
        ("prior to March 5, 2021", Modifier.BEFORE),
        ("after March 5, 2021", Modifier.AFTER),
        ("on or after March 5, 2021", Modifier.FROM),
        ("early March 2021", Modifier.PART),
        ("on March 5, 2021", Modifier.NONE),
        ("2024년 4월 12일까지", Modifier.BY),
        ("2024년 4월 12일부터", Modifier.FROM),
        ("nach dem 5. Mai 2010", Modifier.AFTER),
    ],
)
def test_the_words_beside_a_date_bind_it(text: str, modifier: Modifier) -> None:
    assert find_dates(text)[0].modifier is modifier


def test_granularity_says_how_finely_a_date_is_written() -> None:
    written = {"5 May 2010": Granularity.DAY, "May 2010": Granularity.MONTH}
    written |= {"in 2010": Granularity.YEAR, "May 5": Granularity.MONTH_DAY}
    assert {text: find_dates(text)[0].granularity for text in written} == written


_PIECES = st.sampled_from(
    [written for written, _ in FORMS]
    + ["may ", "\f", "\n", "¼", "٣", "𝟛/𝟜/2023", "年", "월 ", "'", "²"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=12)), max_size=8).map("".join))
def test_any_text_is_read_without_failing_and_spans_stay_in_order(text: str) -> None:
    end = 0
    for mention in find_dates(text):
        assert end <= mention.start < mention.end <= len(text)
        assert any(sign.isdigit() or sign.isalpha() for sign in text[mention.start : mention.end])
        assert mention.readings
        end = mention.end


@given(st.text(max_size=40), st.sampled_from(FORMS[:30]))
def test_a_date_is_found_at_the_characters_that_hold_it(before: str, form: tuple[str, str]) -> None:
    written, value = form
    text = f"{before}\n. {written} ."
    found = [m for m in find_dates(text) if m.start >= len(before)]
    assert any(text[m.start : m.end] in written for m in found)
    assert value in {reading.iso() for m in found for reading in m.readings}


def test_a_date_does_not_start_inside_a_word() -> None:
    text = "as Lender 7 March 2001"
    assert [text[m.start : m.end] for m in find_dates(text)] == ["7 March 2001"]


def test_a_dotted_date_after_a_word_for_a_part_of_a_year_stays_whole() -> None:
    (mention,) = find_dates("the fiscal year beginning 1996. 7. 1.")
    assert mention.readings[0].iso() == "1996-07-01"
    assert mention.modifier is Modifier.FROM
