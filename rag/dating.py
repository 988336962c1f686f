"""The date of a document as a whole, for filtering: what its header or its name says, else none.

Not for facts: which date an event has is a question to the text, answered by a look-up or by the
checker.
"""

from __future__ import annotations

import datetime as dt
import re
from email.utils import parsedate_to_datetime
from typing import Final

_HEADER: Final = re.compile(r"(?m)^(?:Date|Sent):[ \t]*(?P<when>[^\n]{8,60})$")
_HEADER_CHARS: Final = 2000
_NAME: Final = (
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)[-_. ](?P<m>\d{1,2})[-_. ](?P<d>\d{1,2})(?!\d)"),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})[-_. ](?P<d>\d{1,2})[-_. ](?P<y>(?:19|20)\d\d)(?!\d)"),
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?!\d)"),
)


def document_date(name: str, text: str) -> dt.date | None:
    """The day in a message's header, else the one day in a file's name; None when unclear.

    A name whose digits read both ways ("03_04_2021") gives none.
    """
    if found := _HEADER.search(text, 0, _HEADER_CHARS):
        try:
            return parsedate_to_datetime(found["when"]).date()
        except (ValueError, TypeError, IndexError):
            pass  # a header in another form: the name may still tell
    days = {day for pattern in _NAME for part in pattern.finditer(name) for day in _readings(part)}
    return days.pop() if len(days) == 1 else None


def _readings(part: re.Match[str]) -> set[dt.date]:
    year, month, day = int(part["y"]), int(part["m"]), int(part["d"])
    orders = [(month, day)] if part.start("y") < part.start("m") else [(month, day), (day, month)]
    out = set()
    for first, second in orders:
        if 1 <= first <= 12 and 1 <= second <= 31:
            try:
                out.add(dt.date(year, first, second))
            except ValueError:
                continue  # no such day
    return out
