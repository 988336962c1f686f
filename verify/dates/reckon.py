"""Calendar arithmetic: weekdays and periods. The Gregorian calendar of `datetime`, no clock."""

from __future__ import annotations

import calendar
import datetime as dt
from dataclasses import dataclass

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, kw_only=True)
class Period:
    """A number of days, weeks, months or years, to be added or taken away."""

    count: int
    unit: str
    """day, week, month, year or business_day."""
    backward: bool = False

    def in_words(self) -> str:
        """``30 days``, ``1 business day``."""
        return f"{self.count} {self.unit.replace('_', ' ')}{'' if self.count == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Reckoned:
    """Where a period leads, the steps, and why the result is open (empty when it is not)."""

    date: dt.date
    steps: tuple[str, ...]
    doubt: str = ""


def weekday_name(day: dt.date) -> str:
    """The English name of the weekday."""
    return WEEKDAYS[day.weekday()]


def in_words(day: dt.date) -> str:
    """``Tuesday, 5 March 2024``."""
    return f"{weekday_name(day)}, {day.day} {calendar.month_name[day.month]} {day.year}"


def reckon(base: dt.date, period: Period) -> Reckoned | None:
    """Counts a period from a date, the first day left out; None when it leaves the calendar.

    A month or year that would end on a day the month does not have ends on its last day and says
    so; business days skip Saturdays and Sundays and say that holidays were not known.
    """
    sign = -1 if period.backward else 1
    try:
        date, doubt = _moved(base, period, sign)
    except (OverflowError, ValueError):
        return None
    word = "minus" if period.backward else "plus"
    steps = (f"{in_words(base)} {word} {period.in_words()} = {in_words(date)}",)
    return Reckoned(date=date, steps=steps, doubt=doubt)


def _moved(base: dt.date, period: Period, sign: int) -> tuple[dt.date, str]:
    if period.unit == "day":
        return base + dt.timedelta(days=sign * period.count), ""
    if period.unit == "week":
        return base + dt.timedelta(weeks=sign * period.count), ""
    if period.unit == "business_day":
        if period.count > 10_000:
            raise OverflowError
        return _business(base, period.count, sign), "holidays are not known to the checker"
    months = sign * period.count * (12 if period.unit == "year" else 1)
    year, month = divmod(base.year * 12 + base.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    doubt = "the month has no such day; its last day was taken" if base.day > last else ""
    return dt.date(year, month + 1, min(base.day, last)), doubt


def _business(base: dt.date, count: int, sign: int) -> dt.date:
    date = base
    while count:
        date += dt.timedelta(days=sign)
        count -= date.weekday() < 5
    return date
