"""What a written date says: its value as far as it is written, and nothing filled in."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Granularity(StrEnum):
    """How finely a date is written."""

    DAY = "day"
    MONTH = "month"
    YEAR = "year"
    MONTH_DAY = "month_day"
    """A day and a month without a year."""


class Modifier(StrEnum):
    """How the words beside a date bind an event to it."""

    NONE = ""
    ABOUT = "about"
    """On or about, approximately, circa."""
    BEFORE = "before"
    BY = "by"
    """On or before, no later than, until, through."""
    AFTER = "after"
    FROM = "from"
    """On or after, since, beginning."""
    PART = "part"
    """Early, mid or late in the period: never the same as the period itself."""


class PartialDate(NamedTuple):
    """Year, month and day as far as they are written; None where they are not."""

    year: int | None
    month: int | None
    day: int | None

    def first_day(self) -> dt.date | None:
        """The first day of the period, None without a year."""
        if self.year is None:
            return None
        return dt.date(self.year, self.month or 1, self.day or 1)

    def iso(self) -> str:
        """``2024-03-05``, ``2024-03``, ``2024`` or ``--03-05``."""
        year = "-" if self.year is None else f"{self.year:04d}"
        parts = [year] + [f"{part:02d}" for part in (self.month, self.day) if part is not None]
        return "-".join(parts)

    def in_words(self) -> str:
        """``5 March 2024``: written so that day and month cannot be mistaken."""
        words = [] if self.day is None else [str(self.day)]
        if self.month is not None:
            words.append(_MONTHS[self.month - 1])
        if self.year is not None:
            words.append(str(self.year))
        return " ".join(words)


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DateMention:
    """One date as it stands in a text, at ``[start, end)`` in code points.

    ``readings`` holds one value, or several where the order of day and month (or the century of
    a two-digit year) is open. A weekday written beside the date belongs to the span.
    """

    start: int
    end: int
    readings: tuple[PartialDate, ...]
    weekday: int | None = None
    """0 is Monday; None when none is written."""
    modifier: Modifier = Modifier.NONE
    language: str = "en"
    until: PartialDate | None = None
    """The last day of a range written as one expression ("May 5-7, 2010")."""
    numeric: bool = False
    """Written in digits alone, so that its order may be open."""
    year_from_list: bool = False
    """The year stands with a later date of the same list or range ("3 June and 17 June 2023")."""
    zone: str = ""
    """The offset of a mail header: "-0500"."""
    clock: str = ""
    """The time of day beside it, "23:40:12"; kept for the day shift of a mail header."""

    @property
    def value(self) -> PartialDate | None:
        """The one reading, None when there are several."""
        return self.readings[0] if len(self.readings) == 1 else None

    @property
    def granularity(self) -> Granularity:
        """How finely it is written."""
        first = self.readings[0]
        if first.day is not None:
            return Granularity.DAY if first.year is not None else Granularity.MONTH_DAY
        return Granularity.MONTH if first.month is not None else Granularity.YEAR


def agrees(said: PartialDate, held: PartialDate) -> bool:
    """Whether the record's value says the reply's, which may be coarser but never finer."""
    pairs = zip(said, held, strict=True)
    return all(part is None or part == other for part, other in pairs)
