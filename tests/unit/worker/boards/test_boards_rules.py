"""Readings to verdicts, rule by rule, at and around every threshold."""

from typing import Any

import msgspec
import pytest

from worker.boards import Absent, Lost, Sample, Severity
from worker.boards.rules import judge
from worker.boards.verdicts import Expected

EXPECTED = Expected(
    label="GPU 4",
    link_width=8,
    power_limit_mw=180_000,
    clock_cap_mhz=1522,
    links_active=6,
    slowdown_c=87,
    operating_most_c=83,
    memory_most_c=85,
)


def make_sample(at_s=0.0, **changes: Any) -> Sample:
    values: dict[str, Any] = {
        "uuid": "GPU-4", "power_mw": (120_000,), "power_limit_mw": 180_000, "utilisation": 90,
        "sm_clock_mhz": 1522, "link_width": 8, "link_width_most": 8, "reasons": 4,
        "temperature_c": 60, "memory_temperature_c": 60, "ecc_corrected": 0, "ecc_uncorrected": 0,
        "pages_single": 0, "pages_double": 0, "pages_pending": 0, "links_active": 6,
        "link_errors": 0, "replays": 0,
    }  # fmt: skip
    return Sample(at_s=at_s, **(values | changes))


def series(seconds=3, **changes):
    return [make_sample(float(at), **changes) for at in range(seconds)]


def found(samples, expected=EXPECTED):
    return {(verdict.rule, verdict.severity) for verdict in judge(samples, expected)}


def test_a_card_at_work_is_well():
    assert found(series(60)) == set()


def test_no_readings_no_verdict():
    assert judge([], EXPECTED) == []


# --- power ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("readings", "severity"),
    [
        ((189_000,) * 3, None),  # 1.05 times exactly
        ((189_001,) * 2, None),
        ((189_001,) * 3, Severity.WARN),
        ((192_000,) * 5, Severity.WARN),
        ((198_000,) * 3, Severity.WARN),  # 1.10 times exactly
        ((198_001,) * 2, None),
        ((198_001,) * 3, Severity.PAUSE),
        ((214_000,) * 3, Severity.PAUSE),
        ((225_000,), None),  # 1.25 times exactly
        ((232_000,), Severity.PAUSE),
    ],
)
def test_power_over_its_limit(readings, severity):
    samples = [*series(2), make_sample(2.0, power_mw=readings)]
    assert found(samples) == ({("power_peak", severity)} if severity else set())


def test_peaks_are_counted_over_ten_seconds_not_over_ever():
    spread = [make_sample(float(at * 9), power_mw=(200_000,)) for at in range(5)]
    assert found(spread) == set()


def test_a_peak_says_how_much_and_what_to_check():
    (verdict,) = judge([make_sample(power_mw=(232_000,))], EXPECTED)
    assert "232 W over a limit of 180 W" in verdict.reason
    assert "soot" not in verdict.reason
    assert "connectors" in verdict.next_step


def test_a_card_without_a_limit_is_not_judged_by_it():
    assert found([make_sample(power_mw=(500_000,), power_limit_mw=Absent("no"))]) == set()


def test_a_limit_other_than_declared():
    changed = series(1, power_limit_mw=300_000)
    assert found(changed) == {("power_limit", Severity.WARN)}
    lately = msgspec.structs.replace(EXPECTED, reset_lately=True)
    assert found(changed, lately) == {("power_limit", Severity.PAUSE)}


# --- clock ----------------------------------------------------------------------------------------


def test_a_clock_over_its_cap_warns_at_once_and_stops_after_half_a_minute_of_work():
    assert found(series(5, sm_clock_mhz=1531)) == {("clock_cap", Severity.WARN)}
    assert found(series(30, sm_clock_mhz=1531)) == {("clock_cap", Severity.WARN)}
    assert found(series(31, sm_clock_mhz=1531)) == {("clock_cap", Severity.PAUSE)}
    assert found(series(60, sm_clock_mhz=1530)) == set()


def test_a_high_clock_at_rest_is_only_a_warning():
    assert found(series(60, sm_clock_mhz=1600, utilisation=0)) == {("clock_cap", Severity.WARN)}


def test_one_good_reading_starts_the_half_minute_anew():
    samples = series(40, sm_clock_mhz=1600)
    samples[25] = make_sample(25.0, sm_clock_mhz=1500)
    assert found(samples) == {("clock_cap", Severity.WARN)}


# --- PCIe width -----------------------------------------------------------------------------------


def widths(*read):
    return [make_sample(float(at), link_width=width) for at, width in enumerate(read)]


@pytest.mark.parametrize(
    ("read", "severity"),
    [
        ((4, 4), None),
        ((4, 4, 4), Severity.WARN),
        ((8, 8, 8, 4, 8, 8), None),  # one reading is no width
        ((8, 8, 8, 4, 4, 4), Severity.WARN),
        ((1, 1, 1), Severity.PAUSE),
        ((8, 8, 8, 4, 4, 4, 8, 8, 8), Severity.PAUSE),  # changed twice
        ((8, 8, 8), None),
        ((16, 16, 16), None),
    ],
)
def test_pcie_width(read, severity):
    assert found(widths(*read)) == ({("link_width", severity)} if severity else set())


# --- throttling and heat --------------------------------------------------------------------------


@pytest.mark.parametrize("bit", [8, 64, 128])
def test_hard_throttling_stops_after_five_seconds(bit):
    assert found(series(5, reasons=bit)) == set()
    assert found(series(6, reasons=bit | 4)) == {("throttle", Severity.PAUSE)}


@pytest.mark.parametrize("bits", [0, 1, 2, 4, 1 | 2 | 4, 16, 256])
def test_usual_reasons_are_no_fault(bits):
    assert found(series(90, reasons=bits)) == set()


def test_soft_heat_warns_after_a_minute():
    assert found(series(60, reasons=32)) == set()
    assert found(series(61, reasons=32)) == {("throttle", Severity.WARN)}


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"temperature_c": 79}, None),
        ({"temperature_c": 80}, Severity.WARN),
        ({"temperature_c": 84}, Severity.WARN),
        ({"temperature_c": 85}, Severity.PAUSE),
        ({"memory_temperature_c": 81}, None),
        ({"memory_temperature_c": 82}, Severity.WARN),
        ({"memory_temperature_c": 85}, Severity.PAUSE),
    ],
)
def test_heat(changes, severity):
    assert found(series(3, **changes)) == ({("heat", severity)} if severity else set())


def test_one_hot_reading_is_no_heat():
    assert found([*series(3), make_sample(3.0, temperature_c=99)]) == set()


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{"ecc_uncorrected": 1}, {"pages_pending": 1}, {"pages_double": 1}, {"pages_single": 60}],
)
def test_bad_memory_stops_the_board(changes):
    assert found(series(1, **changes)) == {("ecc", Severity.PAUSE)}


def test_what_a_used_card_brings_along_is_not_held_against_it():
    used = msgspec.structs.replace(EXPECTED, double_pages_before=2, uncorrected_before=3)
    assert found(series(1, pages_double=2, ecc_uncorrected=3), used) == set()
    assert found(series(1, pages_double=3), used) == {("ecc", Severity.PAUSE)}


def test_corrected_errors_warn_by_the_hour():
    rising = [make_sample(float(at), ecc_corrected=at * 50 + 7) for at in range(4)]
    assert found(rising[:3]) == set()
    assert found(rising) == {("ecc", Severity.WARN)}


def test_a_card_without_ecc_has_no_errors():
    absent = Absent("no")
    assert found(
        series(1, ecc_corrected=absent, ecc_uncorrected=absent, pages_double=absent,
               pages_single=absent, pages_pending=absent)
    ) == set()  # fmt: skip


# --- NVLink ---------------------------------------------------------------------------------------


def test_a_link_less_stops_the_board():
    assert found(series(1, links_active=5)) == {("nvlink_cut", Severity.PAUSE)}


def test_a_card_that_never_had_links_needs_none():
    bare = msgspec.structs.replace(EXPECTED, links_active=None)
    assert found(series(1, links_active=Absent("no")), bare) == set()
    assert found(series(1, links_active=0), bare) == set()


def test_link_errors_count_when_they_go_on_for_ten_minutes():
    rising = [make_sample(at * 30.0, link_errors=at) for at in range(21)]
    assert found(rising) == {("nvlink_errors", Severity.WARN)}
    assert found(rising[:20]) == set()
    burst = [make_sample(at * 30.0, link_errors=min(at, 5) * 100) for at in range(21)]
    assert found(burst) == set()


# --- gone -----------------------------------------------------------------------------------------


def test_a_lost_card_is_said_once_and_alone():
    assert found([make_sample(power_limit_mw=Lost(), temperature_c=99)]) == {
        ("lost_card", Severity.PAUSE)
    }


def test_another_error_needs_three_readings():
    failed = make_sample(reachable=Lost(999))
    assert found([failed, failed]) == set()
    assert found([failed, failed, failed]) == {("unreadable", Severity.PAUSE)}


def test_every_verdict_says_what_to_do():
    worst = [
        make_sample(
            float(at), power_mw=(300_000,), power_limit_mw=200_000, sm_clock_mhz=1800, link_width=1,
            reasons=8, temperature_c=99, ecc_uncorrected=4, links_active=1,
        )
        for at in range(40)
    ]  # fmt: skip
    verdicts = judge(worst, EXPECTED)
    assert len(verdicts) == 8
    for verdict in verdicts:
        assert verdict.reason.startswith(("GPU 4 ", "the PCIe width of GPU 4"))
        assert verdict.next_step
