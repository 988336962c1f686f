"""The boards of a box as an operator watches them: queues, engines, cards, and what was said.

Names, numbers and sentences about hardware; nothing of any matter.
"""

from __future__ import annotations

import datetime as dt

import msgspec


class CardState(msgspec.Struct, frozen=True, kw_only=True):
    """What one card reads now. None is what the card does not report."""

    uuid: str
    label: str
    """How people call it: its number and address."""
    board: str
    """The hardware board it belongs to."""
    reachable: bool = True
    temperature_c: int | None = None
    memory_temperature_c: int | None = None
    power_w: float | None = None
    """The highest reading since the one before."""
    power_limit_w: float | None = None
    utilisation: int | None = None
    """Percent of the time in which something ran."""
    sm_clock_mhz: int | None = None
    link_width: int | None = None


class BoardState(msgspec.Struct, frozen=True, kw_only=True):
    """One board of the worker's settings: its queue, its engine, and the cards under it."""

    name: str
    paused: bool
    why: tuple[str, ...] = ()
    """What holds it, in words."""
    places: int = 1
    running: int = 0
    waiting: int = 0
    engine: str = ""
    """ready, busy, starting, down or quarantined."""
    detail: str = ""
    restarts: int = 0
    hardware: tuple[str, ...] = ()
    """The hardware boards whose cards it uses; empty when it uses none."""
    tokens_per_s: float | None = None
    """Decode rate of the last reply; None before the first one."""
    tokens_per_s_median: float | None = None
    """The same over the last twenty."""
    replies: int = 0
    """Replies a model wrote on it since the worker started."""
    drafted_tokens: int = 0
    """Tokens that speculation proposed for the last twenty; 0 without speculation."""
    accepted_tokens: int = 0
    """Of these, the ones the model agreed with."""
    notes: tuple[str, ...] = ()
    """What its engine leaves off and why: "slot files off: the model has ..."."""


class BoardNotice(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said of the hardware."""

    at: dt.datetime
    kind: str
    """verdict, pause or resume."""
    board: str
    """The hardware board; empty for the box itself."""
    severity: str
    rule: str
    reason: str
    next_step: str = ""
    uuid: str = ""
