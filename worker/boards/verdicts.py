"""What a card should read, where a reading becomes a verdict, and the verdict itself."""

from __future__ import annotations

import msgspec

from worker.boards import Gpu, Severity, known
from worker.boards.declared import DeclaredBoard


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a reading becomes a verdict."""

    power_warn: float = 1.05
    """Times the limit in force."""
    power_pause: float = 1.10
    power_pause_once: float = 1.25
    power_readings: int = 3
    power_within_s: float = 10.0
    clock_slack_mhz: int = 8
    clock_hold_s: float = 30.0
    width_readings: int = 3
    throttle_hold_s: float = 5.0
    soft_heat_hold_s: float = 60.0
    operating_margin_c: int = 3
    slowdown_margin_c: int = 2
    heat_readings: int = 3
    corrected_an_hour: int = 100
    link_errors_hold_s: float = 600.0
    failed_readings: int = 3


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What one card should read."""

    label: str
    """How people call it."""
    link_width: int | None = None
    power_limit_mw: int | None = None
    clock_cap_mhz: int | None = None
    links_active: int | None = None
    slowdown_c: int | None = None
    operating_most_c: int | None = None
    memory_most_c: int | None = None
    uncorrected_before: int = 0
    """Uncorrected errors that an operator has already seen."""
    double_pages_before: int = 0
    """Pages retired before: used cards arrive with a history."""
    reset_lately: bool = False
    """Whether the box went down without a clean stop in the last 24 hours."""
    thresholds: Thresholds = Thresholds()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule found on a card."""

    rule: str
    severity: Severity
    uuid: str
    reason: str
    next_step: str
    clears: bool = False
    """Whether it is over after some clean minutes; otherwise an operator resumes."""


def expected_of(gpu: Gpu, board: DeclaredBoard | None) -> Expected:
    """What a card should read, by its own values and the boards file."""
    declared_w = board.power_limit_w if board else None
    return Expected(
        label=gpu.short,
        link_width=(board.link_width if board else None) or known(gpu.link_width_most),
        power_limit_mw=declared_w * 1000 if declared_w is not None else None,
        clock_cap_mhz=board.sm_clock_cap_mhz if board else None,
        links_active=sum(link.active for link in gpu.links) or None,
        slowdown_c=known(gpu.slowdown_c),
        operating_most_c=known(gpu.operating_most_c),
        memory_most_c=known(gpu.memory_most_c),
    )


def count(number: int, what: str) -> str:
    """A number with its noun in the right form."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
