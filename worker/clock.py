"""The present time, for those who are not given a clock."""

from __future__ import annotations

import datetime as dt


def utc_now() -> dt.datetime:
    """The present time, aware and in UTC."""
    return dt.datetime.now(dt.UTC)
