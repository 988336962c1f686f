"""How replies are shown to one person: language, signs, width, zone.

A face builds one `Look` from its settings and what its screen can do; everything that makes blocks
takes it.
"""

from __future__ import annotations

import datetime as dt
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from bot.blocks import Tone
from bot.visible import one_line
from bot.words import Words
from protocol.answers import AMBER, GREEN, Verdict


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """The three signs of a mark; the verdict's word always stands beside them in the list."""

    green: str
    amber: str
    red: str
    ascii_only: bool

    def of(self, verdict: Verdict) -> str:
        """The sign of a verdict; whatever is not known to be green or amber is red."""
        if verdict in GREEN:
            return self.green
        return self.amber if verdict in AMBER else self.red


UNICODE: Final = Signs(green="✔", amber="≈", red="✘", ascii_only=False)
ASCII: Final = Signs(green="ok", amber="look", red="bad", ascii_only=True)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply's form depends on besides the reply."""

    words: Words
    signs: Signs = UNICODE
    width: int = 100
    """Cells of a line."""
    zone: dt.tzinfo = dt.UTC

    def line(self, text: str) -> str:
        """Foreign text on one line, safe to print."""
        return one_line(text, ascii_only=self.signs.ascii_only)

    def time(self, moment: dt.datetime) -> str:
        """A moment in the reader's zone, with the zone's name."""
        return moment.astimezone(self.zone).strftime("%Y-%m-%d %H:%M %Z")


def tone(verdict: Verdict) -> Tone:
    """The colour that repeats a verdict."""
    if verdict in GREEN:
        return Tone.GREEN
    return Tone.AMBER if verdict in AMBER else Tone.RED


def zone(name: str) -> dt.tzinfo:
    """The time zone of an IANA name; UTC needs no zone data on the machine.

    Raises:
        ValueError: There is no such zone here.
    """
    if name == "UTC":
        return dt.UTC
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError("no such time zone on this machine") from None
