"""Dates in prose and in the record: found, read by value, and judged.

`find_dates` reads a text; `judge_date` says what the record says of one date of a reply. Written
parts only: no year, century or order is filled in from anywhere but the text itself.
"""

from verify.dates.judge import judge_date
from verify.dates.mention import DateMention, Granularity, Modifier, PartialDate
from verify.dates.scan import find_dates

__all__ = ["DateMention", "Granularity", "Modifier", "PartialDate", "find_dates", "judge_date"]
