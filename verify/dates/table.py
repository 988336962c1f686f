"""The dates of one document, ready to be looked up by value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from protocol.record import DateOrder
from verify.dates.mention import DateMention, PartialDate
from verify.dates.scan import find_dates
from verify.printed_numbers import unnumbered

NEAR = 6
"""How many dates on each side may share a sentence with a date."""
DECIDING = 2
"""How many dates of a document must show its order of day and month, and none the other."""


class DateTable:
    """All dates of a text with an index by year, month and day.

    ``order`` is how the document itself writes all-digit dates, where at least `DECIDING` of them
    can be read one way only and none the other way; else UNSET.
    """

    def __init__(self, text: str) -> None:
        read = unnumbered(text)
        found = find_dates(read.words)
        self.order = _order(read.words, found)
        self.mentions = tuple(_at(one, *read.raw_span(one.start, one.end)) for one in found)
        self._index: dict[PartialDate, list[int]] = {}
        for number, mention in enumerate(self.mentions):
            values = dict.fromkeys((*mention.readings, *filter(None, (mention.until,))))
            for key in {key for value in values for key in _keys(value)}:
                self._index.setdefault(key, []).append(number)

    def holding(self, said: PartialDate) -> list[int]:
        """The numbers of the mentions that read as ``said``, or finer, in one of their readings."""
        return self._index.get(said, [])

    def neighbours(self, number: int) -> list[tuple[int, int]]:
        """The spans of the dates around one mention, itself left out."""
        around = range(max(0, number - NEAR), min(len(self.mentions), number + NEAR + 1))
        return [
            (self.mentions[other].start, self.mentions[other].end)
            for other in around
            if other != number
        ]

    def undated(self, said: PartialDate) -> Iterator[int]:
        """Mentions with the same month and day whose year is not written."""
        if said.month is not None and said.day is not None:
            for number in self._index.get(PartialDate(None, said.month, said.day), ()):
                if self.mentions[number].readings[0].year is None:
                    yield number


def _at(mention: DateMention, start: int, end: int) -> DateMention:
    moved = (start, end) != (mention.start, mention.end)
    return replace(mention, start=start, end=end) if moved else mention


def _keys(value: PartialDate) -> Iterator[PartialDate]:
    year, month, day = value
    yield value
    if day is not None:
        yield PartialDate(None, month, day)
    if year is not None and month is not None:
        yield PartialDate(year, month, None)
        yield PartialDate(year, None, None)


def _order(text: str, mentions: Iterable[DateMention]) -> DateOrder:
    month_first = day_first = 0
    for mention in mentions:
        if not mention.numeric:
            continue
        value = mention.readings[0]
        digits = text[mention.start : mention.end].strip()
        first = digits.split("/")[0].split("-")[0].split(".")[0].strip()
        if value.day is None or value.month is None or value.day <= 12 or len(first) > 2:
            continue
        if first.isdigit():
            month_first += int(first) == value.month
            day_first += int(first) == value.day
    if month_first >= DECIDING and not day_first:
        return DateOrder.MONTH_FIRST
    if day_first >= DECIDING and not month_first:
        return DateOrder.DAY_FIRST
    return DateOrder.UNSET


def settled(mention: DateMention, order: DateOrder) -> tuple[PartialDate, ...]:
    """The readings left once the order of day and month is known; all of them when it is not."""
    days = list(dict.fromkeys((value.month, value.day) for value in mention.readings))
    if order is DateOrder.UNSET or len(days) < 2:
        return mention.readings
    wanted = days[0] if order is DateOrder.MONTH_FIRST else days[1]
    return tuple(value for value in mention.readings if (value.month, value.day) == wanted)


def order_is_open(readings: Iterable[PartialDate]) -> bool:
    """Whether day and month can be exchanged (a two-digit year alone is not that)."""
    return len({(value.month, value.day) for value in readings}) > 1
