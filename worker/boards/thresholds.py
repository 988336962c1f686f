"""Where a reading becomes a verdict: defaults, which the boards file may change by card."""

from __future__ import annotations

import msgspec


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
