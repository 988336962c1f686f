"""Which board is paused, what is said of it, and when it goes on again."""

import random

from worker.boards import Lost, Sample, Samples, Severity, Trouble
from worker.boards.health import Health
from worker.boards.host import HostCounts
from worker.boards.probe import Silent
from worker.boards.verdicts import Expected, Thresholds, Verdict
from worker.boards.watcher import bus_verdicts, memory_change
from worker.boards.xid import PROGRAM, XIDS, lookup

BOARDS = {"north": ["n0", "n1"], "south": ["s0", "s1"]}
CARDS = [uuid for uuids in BOARDS.values() for uuid in uuids]


def make_health(**more):
    expected = {
        uuid: Expected(label=uuid, link_width=8, slowdown_c=87, links_active=6) for uuid in CARDS
    }
    return Health(BOARDS, expected, **more)


def reading(at_s, uuid, **changes):
    values = {
        "power_mw": (100_000,), "power_limit_mw": 180_000, "utilisation": 50, "sm_clock_mhz": 1400,
        "link_width": 8, "link_width_most": 8, "reasons": 0, "temperature_c": 60,
        "memory_temperature_c": 55, "ecc_corrected": 0, "ecc_uncorrected": 0, "pages_single": 0,
        "pages_double": 0, "pages_pending": 0, "links_active": 6, "link_errors": 0, "replays": 0,
    }  # fmt: skip
    return Sample(at_s=at_s, uuid=uuid, **(values | changes))


def feed(health, at_s, xids=(), skip=(), **faults):
    """One round in which ``faults`` maps a card to its changes."""
    samples = tuple(
        reading(at_s, uuid, **faults.get(uuid, {})) for uuid in CARDS if uuid not in skip
    )
    return health.feed(Samples(samples=samples, xids=tuple(xids)), at_s)


def kinds(changes):
    return [(change.kind, change.board, change.rule) for change in changes]


def test_a_quiet_box_says_nothing():
    health = make_health()
    assert [feed(health, float(at)) for at in range(30)] == [[]] * 30
    assert health.paused == {}


def test_a_fault_pauses_its_own_board_once():
    health = make_health()
    first = feed(health, 0.0, s1={"ecc_uncorrected": 2})
    assert kinds(first) == [("verdict", "south", "ecc"), ("pause", "south", "ecc")]
    assert feed(health, 1.0, s1={"ecc_uncorrected": 2}) == []
    assert list(health.paused) == ["south"]


def test_a_pause_carries_the_last_minute():
    health = make_health()
    for at in range(100):
        feed(health, float(at))
    pause = feed(health, 100.0, n0={"links_active": 5})[-1]
    assert pause.uuid == "n0"
    assert 58 <= len(pause.series) <= 62
    assert {sample.uuid for sample in pause.series} == {"n0"}


def test_a_card_that_is_no_longer_listed_is_lost():
    health = make_health()
    feed(health, 0.0)
    changes = feed(health, 1.0, skip=["n1"])
    assert kinds(changes) == [("verdict", "north", "lost_card"), ("pause", "north", "lost_card")]


def test_a_nameless_lost_card_is_the_one_that_is_missing():
    health = make_health()
    lost = Sample(
        at_s=0.0, uuid="", power_mw=(), **{n: Lost() for n in Sample.__struct_fields__[3:]}
    )
    samples = tuple(reading(0.0, uuid) for uuid in CARDS if uuid != "s0")
    changes = health.feed(Samples(samples=(*samples, lost)), 0.0)
    assert [change.uuid for change in changes] == ["s0", "s0"]


# --- hysteresis -----------------------------------------------------------------------------------


def hot(health, start, seconds):
    changes = []
    for at in range(seconds):
        changes += feed(health, float(start + at), n0={"temperature_c": 88})
    return changes


def test_heat_resumes_after_ten_clean_minutes():
    health = make_health()
    assert ("pause", "north", "heat") in kinds(hot(health, 0, 5))
    changes = []
    for at in range(5, 700):
        changes += [(at, change) for change in feed(health, float(at))]
    ((when, resume),) = changes
    assert (resume.kind, resume.board) == ("resume", "north")
    assert 604 <= when <= 608
    assert health.paused == {}


def test_a_relapse_starts_the_ten_minutes_anew():
    health = make_health()
    hot(health, 0, 5)
    for at in range(5, 500):
        feed(health, float(at))
    hot(health, 500, 5)
    changes = []
    for at in range(505, 1090):
        changes += feed(health, float(at))
    assert changes == []
    assert "north" in health.paused


def test_bad_memory_waits_for_an_operator():
    health = make_health()
    feed(health, 0.0, n0={"ecc_uncorrected": 1})
    for at in range(1, 2000):
        assert feed(health, float(at), n0={"ecc_uncorrected": 1}) == []
    (resume,) = health.resume("north", 2000.0)
    assert resume.kind == "resume"
    assert feed(health, 2001.0, n0={"ecc_uncorrected": 1}) == []  # he has seen that one
    again = feed(health, 2002.0, n0={"ecc_uncorrected": 2})
    assert kinds(again)[-1] == ("pause", "north", "ecc")


def test_a_board_paused_for_two_reasons_waits_for_both():
    health = make_health()
    feed(health, 0.0, n1={"ecc_uncorrected": 1})
    hot(health, 1, 5)
    for at in range(6, 800):
        feed(health, float(at), n1={"ecc_uncorrected": 1})
    assert "north" in health.paused


def test_what_waits_for_an_operator_is_not_cleared_along_with_what_does_not():
    health = make_health()
    feed(health, 0.0, xids=[("n1", 79)])
    hot(health, 1, 5)
    for at in range(6, 800):
        assert feed(health, float(at)) == []
    assert {one.rule for one in health.paused["north"]} == {"xid_79", "heat"}


def test_resuming_a_board_that_works_is_nothing():
    health = make_health()
    assert health.resume("north", 0.0) == []
    assert health.resume("nowhere", 0.0) == []


def test_a_warning_that_comes_and_goes_is_said_once():
    health = make_health()
    said = []
    for at in range(0, 300, 10):
        for step in range(5):
            said += feed(health, at + step, n0={"link_width": 4})
        for step in range(5, 10):
            said += feed(health, at + step)
        health._series["n0"].clear()  # so that this is about warnings, not about changing twice
    assert [change.severity for change in said] == [Severity.WARN]


def test_what_gets_graver_is_said_again():
    health = make_health()
    said = []
    for at in range(4):
        said += feed(health, float(at), n0={"link_width": 4})
    for at in range(4, 8):
        said += feed(health, float(at), n0={"link_width": 1})
    assert [(one.kind, one.severity) for one in said] == [
        ("verdict", Severity.WARN), ("verdict", Severity.PAUSE), ("pause", Severity.PAUSE),
    ]  # fmt: skip


def test_a_width_that_flaps_within_the_hour_is_seen_though_readings_are_thinned():
    health = make_health()
    at = 0.0
    for width, seconds in ((8, 600), (4, 30), (8, 600)):
        for _ in range(seconds):
            at += 1.0
            last = feed(health, at, n0={"link_width": width})
            if last and last[-1].kind == "pause":
                assert width == 8
                return
    raise AssertionError("it changed twice and nobody noticed")


def test_an_hour_of_readings_stays_small():
    health = make_health()
    for at in range(4000):
        feed(health, float(at))
    assert len(health._series["n0"]) < 200
    assert health._series["n0"][-1].at_s - health._series["n0"][0].at_s > 3500


# --- the driver as a whole ------------------------------------------------------------------------


def test_a_mismatch_pauses_every_board():
    health = make_health()
    trouble = Trouble(kind="version_mismatch", reason="the driver was updated", next_step="restart")
    assert kinds(health.feed(trouble, 0.0)).count(("pause", "north", "version_mismatch")) == 1
    assert set(health.paused) == {"north", "south"}
    assert health.feed(trouble, 1.0) == []


def test_silence_at_a_card_pauses_its_board_and_leaves_the_other_one_unwatched():
    health = make_health()
    changes = health.feed(Silent(kind="silent", uuid="s1", reason="no answer"), 0.0)
    assert set(health.paused) == {"south"}
    assert ("verdict", "north", "unwatched") in kinds(changes)


def test_silence_of_the_driver_pauses_every_board():
    health = make_health()
    health.feed(Silent(kind="silent", reason="no answer"), 0.0)
    assert set(health.paused) == {"north", "south"}


# --- Xid ------------------------------------------------------------------------------------------


def test_the_policy_of_every_listed_code():
    assert {code for code, xid in XIDS.items() if xid.severity is Severity.PAUSE} == {
        0, 48, 61, 62, 64, 74, 79, 95,
    }  # fmt: skip
    assert {code for code, xid in XIDS.items() if xid.severity is Severity.DRAIN} == {63, 92}
    assert {13, 31, 43, 45, 68, 109} == PROGRAM
    assert lookup(7777).severity is Severity.WARN
    assert all(xid.next_step and xid.meaning for xid in XIDS.values())


def test_a_card_off_the_bus_pauses_its_board():
    health = make_health()
    changes = feed(health, 0.0, xids=[("n1", 79)])
    assert kinds(changes)[-1] == ("pause", "north", "xid_79")
    assert "fell off the bus (Xid 79)" in changes[-1].reason
    assert set(health.paused) == {"north"}
    feed(health, 1.0)
    assert set(health.paused) == {"north"}


def test_retired_pages_drain_the_board():
    health = make_health()
    changes = feed(health, 0.0, xids=[("n1", 63)])
    assert changes[-1].severity is Severity.DRAIN
    assert set(health.paused) == {"north"}


def test_a_program_s_fault_is_blamed_on_it_until_it_is_the_third_in_ten_minutes():
    health = make_health()
    assert feed(health, 0.0, xids=[("n0", 31)]) == []
    assert feed(health, 500.0, xids=[("n0", 13)]) == []
    assert feed(health, 700.0, xids=[("n0", 31)]) == []  # the first is long ago
    assert kinds(feed(health, 800.0, xids=[("n0", 43)]))[-1] == ("pause", "north", "xid_43")


def test_the_kernel_s_word_counts_like_the_driver_s():
    health = make_health()
    feed(health, 0.0)
    assert kinds(health.xid("s0", 0, 1.0))[-1] == ("pause", "south", "xid_0")


def test_an_xid_of_a_card_nobody_knows_pauses_nothing():
    health = make_health()
    assert kinds(feed(health, 0.0, xids=[("", 79)])) == [("verdict", "", "xid_79")]
    assert health.paused == {}


# --- the box --------------------------------------------------------------------------------------


def test_bus_errors():
    before = HostCounts(aer_corrected={"p": 5}, aer_fatal={"p": 0})
    pci = {"p": "n0"}
    assert bus_verdicts(before, HostCounts(aer_corrected={"p": 15}), pci) == []
    (warn,) = bus_verdicts(before, HostCounts(aer_corrected={"p": 16}), pci)
    assert warn.severity is Severity.WARN
    (stop,) = bus_verdicts(before, HostCounts(aer_fatal={"p": 1}), pci)
    assert stop.severity is Severity.PAUSE


def test_errors_of_the_box_s_own_memory():
    before = HostCounts(memory_corrected=3)
    assert memory_change(before, HostCounts(memory_corrected=13), 0.0) == []
    (change,) = memory_change(before, HostCounts(memory_corrected=14), 0.0)
    assert change.board == ""
    (worse,) = memory_change(before, HostCounts(memory_corrected=3, memory_uncorrected=1), 0.0)
    assert "could not be corrected" in worse.reason
    assert "DDR4-2666" in worse.next_step


def test_verdicts_from_elsewhere_stay_until_an_operator_resumes():
    health = make_health()
    verdict = Verdict(
        rule="unclean", severity=Severity.PAUSE, uuid="n0", reason="no clean stop", next_step="look"
    )
    assert health.say([verdict], 0.0)[-1].kind == "pause"
    for at in range(1, 900):
        feed(health, float(at))
    assert set(health.paused) == {"north"}


def test_random_faults_never_pause_another_board():
    chance = random.Random(5)
    faults = [
        {"ecc_uncorrected": 1}, {"links_active": 3}, {"power_mw": (240_000,)}, {"pages_pending": 1},
        {"reachable": Lost()}, {"link_width": 1}, {"temperature_c": 95}, {"reasons": 8},
    ]  # fmt: skip
    for _ in range(200):
        health = make_health(clean_s=50.0)
        card = chance.choice(CARDS)
        fault = chance.choice(faults)
        changes = []
        for at in range(12):
            changes += feed(health, float(at), **{card: fault})
        home = next(name for name, uuids in BOARDS.items() if card in uuids)
        assert set(health.paused) == {home}, fault
        assert {change.board for change in changes} == {home}


def test_thresholds_can_be_set_card_by_card():
    lenient = Expected(label="n0", link_width=8, slowdown_c=87, links_active=6,
                       thresholds=Thresholds(power_pause_once=2.0, power_readings=9))  # fmt: skip
    health = Health(BOARDS, {"n0": lenient})
    assert feed(health, 0.0, n0={"power_mw": (240_000,)}) == []
