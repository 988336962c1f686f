"""Line and page numbers that a paper prints prove no figure and no date."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.answers import GREEN, ItemKind
from verify.amounts import find_figures
from verify.checker import check
from verify.dates import find_dates
from verify.printed_numbers import unnumbered
from verify.source import DictSource

TESTIMONY = """
 1  BY MR. HALE:
 2      Q.  What did Osei do?
 3      A.  He went home first.  In the end
 4  March came and Osei signed the waiver before the
 5  June fair was open.
 6      Q.  How did the reactors travel?
 7      A.  By ship.  Osei sent the
 8  reactors to Halifax in the spring, and he paid
 9  dollars for each crate.
10      Q.  Did the rate change?
11      A.  The rate rose by
12  percent or more.
13      Q.  Anything else?
14      A.  The seals were kept for
15  days in the shed.  Osei paid at most
16  $900 for 40 crates on January
17  20, 2022.
"""
PAGES = """The Seller shall repair all defects within

                              7
\fdays of receipt, as the parties agreed. The rent
rose by

- 12 -
\fpercent in the second year. Northgate sent

                 Page 9
\fcrates to the yard. The tenant left on

5
\fMay of that year. The clerk counted

Lease of the Yard 16
\fboxes, and after that

Lease of the Yard 17
\fthe clerk went home.
"""
RECORD = DictSource({"vance": ("Vance Deposition", TESTIMONY), "lease": ("Lease", PAGES)})


@pytest.mark.parametrize(
    "reply",
    [
        "In the end 4 March came and Osei signed the waiver.",
        "Osei signed the waiver before the 5 June fair.",
        "Osei signed the waiver before June 5.",
        "Osei sent the 8 reactors to Halifax in the spring.",
        "Osei paid 9 dollars for each crate.",
        "The rate rose by 12 percent.",
        "The seals were kept for 15 days in the shed.",
        "Osei paid $900 for 40 crates.",
        "The Seller shall repair all defects within 7 days of receipt.",
        "The rent rose by 12 percent in the second year.",
        "Northgate sent 9 crates to the yard.",
        "The tenant left on 5 May of that year.",
        "The tenant left on May 5.",
        "The clerk counted 16 boxes.",
    ],
)
def test_a_printed_number_proves_nothing(reply: str) -> None:
    values = [
        one
        for one in check(reply, RECORD).findings
        if one.kind in (ItemKind.AMOUNT, ItemKind.NUMBER, ItemKind.DATE)
    ]
    wrong = [one for one in values if reply[one.start : one.end] != "40"]
    assert wrong
    assert not [one for one in wrong if one.verdict in GREEN]


def test_a_date_broken_over_two_numbered_lines_is_found_where_it_stands() -> None:
    reply = "Osei paid at most $900 for 40 crates on January 20, 2022."
    found = {reply[one.start : one.end]: one for one in check(reply, RECORD).findings}
    place = found["January 20, 2022"].places[0]
    assert TESTIMONY[place.span.start : place.span.end] == "January\n17  20, 2022"
    assert {found[words].verdict for words in ("$900", "January 20, 2022")} <= GREEN


def test_few_numbers_at_line_starts_are_the_words_of_a_paper() -> None:
    text = "We sent\n3 crates to York and\n4 crates to Hull.\n"
    assert unnumbered(text).words is text


@given(
    st.lists(
        st.sampled_from(["the seals", "$40 and", "May 5, 2022", "", "7 days", "한국어 3명"]),
        min_size=1,
        max_size=60,
    ),
    st.booleans(),
)
def test_every_place_is_mapped_back(lines: list[str], numbered: bool) -> None:
    text = "\n".join(
        f"{at % 25 + 1:2}  {line}" if numbered else line for at, line in enumerate(lines)
    )
    read = unnumbered(text)
    assert len(read.blanked) == len(text)
    assert all(read.within(read.raw(at)) == at for at in range(len(read.words)))
    spans = [(one.start, one.end) for one in (*find_dates(read.words), *find_figures(read.words))]
    for start, end in spans:
        raw_start, raw_end = read.raw_span(start, end)
        assert text[raw_start] == read.words[start]
        assert text[raw_end - 1] == read.words[end - 1]
        kept = "".join(read.blanked[raw_start:raw_end].split())
        assert kept == "".join(read.words[start:end].split())


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        ("Deposit January 20, 2022 EUR 360,000", ["EUR 360,000"]),
        ("Deposit\tJanuary 20, 2022\tEUR 360,000", ["EUR 360,000"]),
        ("2022 EUR 360,000 EUR 2,040,000", ["EUR 360,000", "EUR 2,040,000"]),
        ("Seals\t600\tEUR 12", ["EUR 12"]),
        ("Reactors 42 EUR 2040", ["EUR 2040"]),
        ("12 USD 3 million", ["USD 3 million"]),
        ("We paid 500 EUR 3 days later", ["500 EUR"]),
        ("5,000 USD 2022 budget", ["5,000 USD"]),
        ("100 EUR 200 EUR", ["100 EUR", "200 EUR"]),
        ("Total 1,200 EUR", ["1,200 EUR"]),
    ],
)
def test_a_code_between_two_numbers_belongs_to_one(text: str, sums: list[str]) -> None:
    assert [text[one.start : one.end] for one in find_figures(text) if one.money] == sums


def test_a_year_before_a_code_is_no_sum() -> None:
    record = DictSource({"a": ("Agreement", "Deposit\tJanuary 20, 2022\tEUR 360,000\n")})
    (wrong,) = check("The deposit of January 20 was EUR 2,022.", record).findings[1:]
    assert wrong.verdict not in GREEN
    right = check("The deposit due January 20, 2022 was EUR 360,000.", record).findings
    assert next(one.verdict for one in right if one.kind is ItemKind.AMOUNT) in GREEN
