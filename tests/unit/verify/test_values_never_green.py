"""Whatever is said, a value the record does not hold is never green."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.answers import GREEN
from verify.dates import find_dates, judge_date
from verify.figures import judge_figure
from verify.source import DictSource
from verify.tables import Tables

LEASE = (
    "This lease commenced on March 5, 2021 and was signed by both parties on February 26, 2021. "
    "Rent of $4,250.00 per month is payable. The deposit is $8,500. The lease ends "
    "on March 4, 2026."
)
SOURCE = DictSource({"lease": ("Lease Agreement", LEASE)})
TABLES = Tables()
HELD = {dt.date(2021, 3, 5), dt.date(2021, 2, 26), dt.date(2026, 3, 4)}
EVENTS = ["The lease commenced on", "The lease was signed on", "Lease Agreement: the lease ends on"]
MONTHS = (
    "January February March April May June July August September October November December".split()
)


def written(day: dt.date, form: int) -> str:
    """One of the ways to write a day that leave no doubt about its month."""
    month = MONTHS[day.month - 1]
    return (
        f"{month} {day.day}, {day.year}",
        f"{day.day} {month} {day.year}",
        day.isoformat(),
        f"the {day.day}th day of {month}, {day.year}",
        f"{day.year}년 {day.month}월 {day.day}일",
        f"{day.day}-{month[:3]}-{day.year}",
        day.strftime("%A, ") + f"{month} {day.day}, {day.year}",
    )[form]


days = st.dates(dt.date(2019, 1, 1), dt.date(2027, 12, 31)) | st.sampled_from(
    [day + dt.timedelta(days=shift) for day in HELD for shift in (-365, -30, -1, 1, 30, 365)]
)


@settings(max_examples=300)
@given(days, st.integers(0, 6), st.sampled_from(EVENTS))
def test_a_day_the_record_does_not_hold_is_never_green(day: dt.date, form: int, event: str) -> None:
    marked = written(day, form)
    reply = f"{event} {marked}."
    start = reply.index(marked)
    judged = judge_date(reply, (start, start + len(marked)), SOURCE, tables=TABLES)
    if day not in HELD:
        assert judged.verdict not in GREEN, judged
    elif judged.verdict in GREEN:
        place = judged.places[0]
        value = find_dates(LEASE[place.start : place.end])[0].value
        assert value is not None
        assert value.first_day() == day


@settings(max_examples=300)
@given(
    st.decimals(Decimal("0.01"), Decimal(20_000), places=2)
    | st.sampled_from([Decimal(4_250), Decimal(8_500)]).flatmap(
        lambda value: st.sampled_from([value * 10, value / 10, value + 1, value - 1, value * 1000])
    ),
    st.sampled_from(["${:,.2f}", "USD {:,.2f}", "{:,.2f} dollars", "${:.2f}"]),
    st.sampled_from(["Rent is {} per month.", "The deposit is {}.", "Rent of {} is payable."]),
)
def test_an_amount_the_record_does_not_hold_is_never_green(
    value: Decimal, form: str, sentence: str
) -> None:
    marked = form.format(value)
    reply = sentence.format(marked)
    start = reply.index(marked)
    judged = judge_figure(reply, (start, start + len(marked)), SOURCE, tables=TABLES)
    if value not in (4_250, 8_500):
        assert judged.verdict not in GREEN, judged
    elif judged.verdict in GREEN:
        assert (value == 4_250) is ("Rent" in sentence)


@given(st.text(max_size=80), st.text(max_size=120))
def test_any_reply_over_any_record_is_judged(reply: str, record: str) -> None:
    source = DictSource({"a": ("A", record)})
    for mention in find_dates(reply):
        assert judge_date(reply, (mention.start, mention.end), source).reason
