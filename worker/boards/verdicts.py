"""What a card should read, where a reading becomes a verdict, and the verdict itself."""

from __future__ import annotations

import msgspec

from worker.boards import Gpu, Severity, known
from worker.boards.declared import DeclaredBoard
from worker.boards.thresholds import Thresholds as Thresholds


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
        thresholds=(board.thresholds if board else None) or Thresholds(),
    )


def count(number: int, what: str) -> str:
    """A number with its noun in the right form."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
