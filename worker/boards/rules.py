"""The rules by which readings become verdicts: pure functions of one card's series.

Every rule gets the card's readings of the last hour, oldest first, and what is expected of it, and
gives a verdict or None. Thresholds are defaults and can be set card by card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from worker.boards import Lost, Sample, Severity, known
from worker.boards.verdicts import Expected, Verdict, count

_LOST: Final = 15
_HARD_REASONS: Final = {8: "hardware slow-down", 64: "heat", 128: "the power brake"}
_SOFT_HEAT: Final = 32
_PAGES_MOST: Final = 60
"""Of 64 that can be retired."""


def judge(series: Sequence[Sample], expected: Expected) -> list[Verdict]:
    """Every verdict on a card now. An empty series gives none."""
    if not series:
        return []
    if gone := _unreachable(series, expected):
        return [gone]
    return [verdict for rule in RULES if (verdict := rule(series, expected)) is not None]


# --- helpers -------------------------------------------------------------------------------------


def _held(series: Sequence[Sample], seconds: float, true: Callable[[Sample], bool]) -> bool:
    """Whether something was true in every reading for so long, up to now."""
    now = series[-1].at_s
    for sample in reversed(series):
        if not true(sample):
            return False
        if now - sample.at_s >= seconds:
            return True
    return False


def _lately(series: Sequence[Sample], seconds: float) -> Iterator[Sample]:
    """Samples of the last seconds, newest first."""
    now = series[-1].at_s
    for sample in reversed(series):
        if now - sample.at_s > seconds:
            return
        yield sample


# --- rules ---------------------------------------------------------------------------------------


def _unreachable(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    last = series[-1]
    readings = [getattr(last, name) for name in Sample.__struct_fields__[3:]]
    if any(reading == Lost(_LOST) for reading in readings):
        return Verdict(
            rule="lost_card",
            severity=Severity.PAUSE,
            uuid=last.uuid,
            reason=f"{expected.label} is gone from the bus",
            next_step="shut down, check its seat and power connectors (look for soot), start again",
        )
    enough = expected.thresholds.failed_readings
    failed = [isinstance(sample.reachable, Lost) for sample in series[-enough:]]
    if len(failed) == enough and all(failed):
        return Verdict(
            rule="unreadable",
            severity=Severity.PAUSE,
            uuid=last.uuid,
            reason=f"the driver can no longer read {expected.label}",
            next_step="look for Xid lines in `dmesg`; restart the box",
        )
    return None


def _power(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    limit = known(series[-1].power_limit_mw)
    if not limit:
        return None
    marks = expected.thresholds
    drawn = [
        reading for sample in _lately(series, marks.power_within_s) for reading in sample.power_mw
    ]
    peak = max(drawn, default=0)
    over = {share: sum(reading > limit * share for reading in drawn) for share in
            (marks.power_warn, marks.power_pause)}  # fmt: skip
    enough = marks.power_readings
    if peak > limit * marks.power_pause_once or over[marks.power_pause] >= enough:
        severity = Severity.PAUSE
    elif over[marks.power_warn] >= enough:
        severity = Severity.WARN
    else:
        return None
    return Verdict(
        rule="power_peak",
        severity=severity,
        uuid=series[-1].uuid,
        reason=f"{expected.label} draws up to {peak / 1000:.0f} W over a limit of "
        f"{limit / 1000:.0f} W",
        next_step="lock its clock again (the clock cap stops such peaks) and check the power "
        "connectors for heat and soot",
    )


def _power_limit(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    limit = known(series[-1].power_limit_mw)
    if limit is None or expected.power_limit_mw is None or limit == expected.power_limit_mw:
        return None
    return Verdict(
        rule="power_limit",
        severity=Severity.PAUSE if expected.reset_lately else Severity.WARN,
        uuid=series[-1].uuid,
        reason=f"{expected.label} may draw {limit / 1000:.0f} W; "
        f"{expected.power_limit_mw / 1000:.0f} W are declared",
        next_step="run the power-limit unit again: limits are lost when the driver reloads",
        clears=True,
    )


def _clock(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    cap, marks = expected.clock_cap_mhz, expected.thresholds
    clock = known(series[-1].sm_clock_mhz)
    if cap is None or clock is None or clock <= cap + marks.clock_slack_mhz:
        return None

    def above(sample: Sample) -> bool:
        read = known(sample.sm_clock_mhz) or 0
        return read > cap + marks.clock_slack_mhz and (known(sample.utilisation) or 0) > 0

    return Verdict(
        rule="clock_cap",
        severity=Severity.PAUSE if _held(series, marks.clock_hold_s, above) else Severity.WARN,
        uuid=series[-1].uuid,
        reason=f"{expected.label} runs at {clock} MHz; it should be capped at {cap} MHz",
        next_step="run the clock-lock unit again: the lock is lost when the driver reloads",
        clears=True,
    )


def _width(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    enough = expected.thresholds.width_readings
    steady: list[int] = []
    run, last = 0, None
    for sample in series:
        width = known(sample.link_width)
        if width is None:
            continue
        run = run + 1 if width == last else 1
        last = width
        if run >= enough and (not steady or steady[-1] != width):
            steady.append(width)
    if not steady or not expected.link_width:
        return None
    width = steady[-1]
    flaps = len(steady) - 1 >= 2
    if width >= expected.link_width and not flaps:
        return None
    if flaps:
        reason = f"the PCIe width of {expected.label} keeps changing, now {count(width, 'lane')}"
    else:
        lanes = count(width, "PCIe lane")
        reason = f"{expected.label} has {lanes} instead of {expected.link_width}"
    stops = flaps or width <= 1
    return Verdict(
        rule="link_width",
        severity=Severity.PAUSE if stops else Severity.WARN,
        uuid=series[-1].uuid,
        reason=reason,
        next_step="shut down and reseat the card"
        if stops
        else "reseat the card at the next chance; it goes on serving, loading models is slower",
    )


def _throttle(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    marks = expected.thresholds
    for bit, cause in _HARD_REASONS.items():
        if _held(series, marks.throttle_hold_s, lambda s, b=bit: _has(s, b)):  # type: ignore[misc]
            return Verdict(
                rule="throttle",
                severity=Severity.PAUSE,
                uuid=series[-1].uuid,
                reason=f"{expected.label} is being held down by {cause}",
                next_step="check fans, airflow and the power supply of this board",
                clears=True,
            )
    if _held(series, marks.soft_heat_hold_s, lambda sample: _has(sample, _SOFT_HEAT)):
        return Verdict(
            rule="throttle",
            severity=Severity.WARN,
            uuid=series[-1].uuid,
            reason=f"{expected.label} has slowed itself down for a minute because of heat",
            next_step="check fans and dust filters",
            clears=True,
        )
    return None


def _has(sample: Sample, bit: int) -> bool:
    return bool((known(sample.reasons) or 0) & bit)


def _heat(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    marks = expected.thresholds
    last = series[-marks.heat_readings :]
    if len(last) < marks.heat_readings:
        return None
    core = min(known(sample.temperature_c) or 0 for sample in last)
    memory = min(known(sample.memory_temperature_c) or 0 for sample in last)
    slow, most = expected.slowdown_c, expected.operating_most_c
    if (slow and core >= slow - marks.slowdown_margin_c) or (
        expected.memory_most_c and memory >= expected.memory_most_c
    ):
        severity = Severity.PAUSE
    elif (most and core >= most - marks.operating_margin_c) or (
        expected.memory_most_c and memory >= expected.memory_most_c - marks.operating_margin_c
    ):
        severity = Severity.WARN
    else:
        return None
    also = f", its memory {memory} °C" if memory else ""
    return Verdict(
        rule="heat",
        severity=severity,
        uuid=series[-1].uuid,
        reason=f"{expected.label} is at {core} °C{also}",
        next_step="check fans, dust filters and the room's cooling",
        clears=True,
    )


def _memory(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    last = series[-1]
    uncorrected = (known(last.ecc_uncorrected) or 0) - expected.uncorrected_before
    double = known(last.pages_double) or 0
    pages = double + (known(last.pages_single) or 0)
    first = next((known(s.ecc_corrected) for s in series if known(s.ecc_corrected) is not None), 0)
    corrected = (known(last.ecc_corrected) or 0) - (first or 0)
    severity, clears = Severity.PAUSE, False
    if uncorrected > 0:
        said = f"had {count(uncorrected, 'memory error')} that could not be corrected"
        step = "restart the engine of this board; answers of the last minutes deserve a look"
    elif known(last.pages_pending):
        said = "has bad memory pages that wait to be left out"
        step = "stop the engine and reload the driver, or restart the box"
    elif double > expected.double_pages_before:
        said = f"lost {count(double - expected.double_pages_before, 'more memory page')}"
        step = "reload the driver; if it goes on, change the card"
    elif pages >= _PAGES_MOST:
        said = f"has {pages} of 64 spare memory pages used up"
        step = "change the card soon"
    elif corrected > expected.thresholds.corrected_an_hour:
        said = f"corrected {count(corrected, 'memory error')} within the hour"
        step = "watch the count; change the card if it grows"
        severity, clears = Severity.WARN, True
    else:
        return None
    return Verdict(
        rule="ecc",
        severity=severity,
        uuid=last.uuid,
        reason=f"{expected.label} {said}",
        next_step=step,
        clears=clears,
    )


def _nvlink(series: Sequence[Sample], expected: Expected) -> Verdict | None:
    last = series[-1]
    active = known(last.links_active)
    if expected.links_active and active is not None and active < expected.links_active:
        return Verdict(
            rule="nvlink_cut",
            severity=Severity.PAUSE,
            uuid=last.uuid,
            reason=f"{expected.label} has {active} of {expected.links_active} NVLinks up",
            next_step="shut down and reseat the cards or the NVLink bridge",
        )
    hold = expected.thresholds.link_errors_hold_s
    counts = [(s.at_s, errors) for s in series if (errors := known(s.link_errors)) is not None]
    if not counts or counts[-1][0] - counts[0][0] < hold:
        return None
    marks = [_at(counts, counts[-1][0] - hold * step / 10) for step in range(10, -1, -1)]
    if all(later > earlier for earlier, later in pairwise(marks)):
        return Verdict(
            rule="nvlink_errors",
            severity=Severity.WARN,
            uuid=last.uuid,
            reason=f"the NVLinks of {expected.label} repeat transfers again and again",
            next_step="reseat the card or the NVLink bridge at the next chance",
            clears=True,
        )
    return None


def _at(counts: Sequence[tuple[float, int]], when: float) -> int:
    """The last count at or before a moment; the first one where there is none."""
    before = [errors for at, errors in counts if at <= when]
    return before[-1] if before else counts[0][1]


RULES: Final[tuple[Callable[[Sequence[Sample], Expected], Verdict | None], ...]] = (
    _power,
    _power_limit,
    _clock,
    _width,
    _throttle,
    _heat,
    _memory,
    _nvlink,
)
"""In the order in which verdicts are listed."""
