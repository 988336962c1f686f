"""Whose turn it is: a table of cases with a sentence each, and what holds for every line."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import JobId, MatterId
from worker.jobs.turn import AGEING, Ahead, Waiting, gives_way, places, turns

NOW = 10_000_000


def row(name: str, *, weight_s: float = 10, arrived: int = 0, waited_s: float = 0) -> Waiting:
    """A job called "A1" of matter "A"."""
    return Waiting(
        job=JobId(name),
        matter=MatterId(name[0]),
        weight_s=weight_s,
        arrived=arrived,
        since_ms=NOW - int(waited_s * 1000),
    )


def line(*rows: Waiting) -> list[Waiting]:
    """The rows, having arrived in the order given unless they say otherwise."""
    return [
        given if given.arrived else Waiting(**{**_fields(given), "arrived": tick})  # type: ignore[arg-type]
        for tick, given in enumerate(rows, start=1)
    ]


def _fields(given: Waiting) -> dict[str, object]:
    return {name: getattr(given, name) for name in given.__struct_fields__}


CASES: list[tuple[str, list[Waiting], dict[str, int], str]] = [
    ("nobody waits", [], {}, ""),
    ("jobs of one matter go in the order they came", line(row("A1"), row("A2")), {}, "A1 A2"),
    (
        "the shorter job of a matter goes before its longer one",
        line(row("D1", weight_s=300), row("D2", weight_s=5)),
        {},
        "D2 D1",
    ),
    (
        "a matter with many jobs does not hold up one with a single job",
        line(row("A1"), row("A2"), row("A3"), row("B1")),
        {},
        "A1 B1 A2 A3",
    ),
    (
        "four matters with equal jobs take turns in order of arrival, short before long in each",
        line(
            *(row(f"A{n}") for n in range(4)),
            *(row(f"B{n}") for n in range(3)),
            *(row(f"C{n}") for n in range(3)),
            row("Dlong", weight_s=300),
            row("Dshort"),
        ),
        {},
        "A0 B0 C0 Dshort A1 B1 C1 Dlong A2 B2 C2 A3",
    ),
    (
        "of matters that had no turn yet the one with the shortest job goes first",
        line(row("A1", weight_s=300), row("B1", weight_s=60), row("C1", weight_s=5)),
        {},
        "C1 B1 A1",
    ),
    (
        "a matter that was served waits for those that waited then, though its job is shorter",
        [row("A2", weight_s=1, arrived=1), row("B1", weight_s=300, arrived=2)],
        {"A": 3},
        "B1 A2",
    ),
    (
        "one that came after its turn has no claim to go first, so the shorter job does",
        [row("A2", weight_s=1, arrived=1), row("B1", weight_s=300, arrived=3)],
        {"A": 2},
        "A2 B1",
    ),
    (
        "having been served long ago is no advantage over having just come",
        [row("A2", weight_s=50, arrived=7), row("B1", weight_s=20, arrived=8)],
        {"A": 2},
        "B1 A2",
    ),
    (
        "an hour of waiting lets a five-minute job go before a new short one",
        line(row("A1", weight_s=300, waited_s=3600), row("B1", weight_s=5)),
        {},
        "A1 B1",
    ),
    (
        "a minute of waiting does not",
        line(row("A1", weight_s=300, waited_s=60), row("B1", weight_s=5)),
        {},
        "B1 A1",
    ),
    (
        "a clock that was set back makes nobody heavier",
        line(row("A1", weight_s=10, waited_s=-3600), row("B1", weight_s=11)),
        {},
        "A1 B1",
    ),
]


@pytest.mark.parametrize(
    ("waiting", "last_turn", "order"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_order(waiting: list[Waiting], last_turn: Mapping[MatterId, int], order: str) -> None:
    assert [given.job for given in turns(waiting, last_turn, NOW)] == order.split()


_rows = st.lists(
    st.tuples(
        st.sampled_from("ABCDE"),
        st.floats(0, 1000),
        st.floats(0, 5000),
    ),
    max_size=25,
)
_served = st.dictionaries(st.sampled_from("ABCDE"), st.integers(0, 60))


def _line(drawn: list[tuple[str, float, float]]) -> list[Waiting]:
    return [
        row(f"{matter}{number}", weight_s=weight, arrived=2 * number + 1, waited_s=waited)
        for number, (matter, weight, waited) in enumerate(drawn)
    ]


@given(_rows, _served)
def test_everybody_gets_exactly_one_place(
    drawn: list[tuple[str, float, float]], served: dict[MatterId, int]
) -> None:
    waiting = _line(drawn)
    order = [given.job for given in turns(waiting, served, NOW)]
    assert sorted(order) == sorted(given.job for given in waiting)


@given(_rows, _served)
def test_no_matter_gets_two_turns_while_another_waits(
    drawn: list[tuple[str, float, float]], served: dict[MatterId, int]
) -> None:
    order = [given.matter for given in turns(_line(drawn), served, NOW)]
    for matter in set(order):
        mine = [at for at, other in enumerate(order) if other == matter]
        for first, second in pairwise(mine):
            between = set(order[first + 1 : second])
            still_waiting = set(order[second:]) - {matter}
            assert still_waiting <= between


@given(_rows, _served, st.randoms(use_true_random=False))
def test_the_order_does_not_hang_on_the_order_of_the_rows(
    drawn: list[tuple[str, float, float]], served: dict[MatterId, int], random: Random
) -> None:
    waiting = _line(drawn)
    order = list(turns(waiting, served, NOW))
    random.shuffle(waiting)
    assert list(turns(waiting, served, NOW)) == order


@given(st.lists(st.sampled_from("BCDE"), min_size=1, max_size=60))
def test_nobody_waits_for_ever_though_short_jobs_keep_coming(others: list[str]) -> None:
    """A long job against a stream of short ones of other matters, one new after every turn."""
    long = row("A0", weight_s=3600, arrived=1)
    waiting, served, tick = [long], dict[MatterId, int](), 1
    taken = 0
    for number, matter in enumerate(others, start=1):
        tick += 1
        waiting.append(row(f"{matter}{number}", weight_s=1, arrived=tick))
        chosen = next(turns(waiting, served, NOW))
        waiting.remove(chosen)
        tick += 1
        served[chosen.matter] = tick
        taken += 1
        if chosen is long:
            break
    # Each other matter passes it once at most.
    assert taken <= len(set(others)) + 1


def test_a_job_of_the_same_matter_is_passed_only_until_its_wait_outweighs_it() -> None:
    minutes = next(
        minute
        for minute in range(1000)
        if next(
            turns(
                line(row("A1", weight_s=300, waited_s=60 * minute), row("A2", weight_s=0)),
                {},
                NOW,
            )
        ).job
        == "A1"
    )
    assert minutes == 300 / AGEING / 60


# --- place and ETA ---


def test_the_eta_is_what_runs_and_what_is_ahead() -> None:
    waiting = line(row("A1", weight_s=40), row("B1", weight_s=10))
    running = [Ahead(expected_ms=NOW + 7_000)]
    told = list(places(waiting, {}, running, at_once=1, paused=False, now_ms=NOW))
    assert [(t.job, t.place, t.eta_s) for t in told] == [("B1", 1, 7.0), ("A1", 2, 17.0)]


def test_two_places_halve_the_wait() -> None:
    waiting = line(row("A1", weight_s=10), row("B1", weight_s=10))
    running = [Ahead(expected_ms=NOW + 8_000), Ahead(expected_ms=NOW + 4_000)]
    told = list(places(waiting, {}, running, at_once=2, paused=False, now_ms=NOW))
    assert [t.eta_s for t in told] == [6.0, 11.0]


def test_with_a_place_free_the_first_starts_now() -> None:
    told = list(places(line(row("A1")), {}, [], at_once=1, paused=False, now_ms=NOW))
    assert told[0].eta_s == 0.0


@pytest.mark.parametrize(
    ("paused", "expected_ms"), [(True, NOW + 1), (False, NOW - 1)], ids=["paused", "overdue"]
)
def test_an_eta_nobody_can_know_is_none(paused: bool, expected_ms: int) -> None:
    running = [Ahead(expected_ms=expected_ms)]
    told = list(places(line(row("A1")), {}, running, at_once=1, paused=paused, now_ms=NOW))
    assert (told[0].place, told[0].eta_s) == (1, None)


@given(_rows, _served)
def test_places_follow_the_turns_and_etas_never_fall(
    drawn: list[tuple[str, float, float]], served: dict[MatterId, int]
) -> None:
    waiting = _line(drawn)
    running = [Ahead(expected_ms=NOW + 5_000)]
    told = list(places(waiting, served, running, at_once=1, paused=False, now_ms=NOW))
    assert [t.job for t in told] == [given.job for given in turns(waiting, served, NOW)]
    assert [t.place for t in told] == list(range(1, len(waiting) + 1))
    etas = [t.eta_s for t in told if t.eta_s is not None]
    assert etas == sorted(etas)


# --- giving way ---


def test_a_long_job_gives_way_to_a_short_one_that_came_later() -> None:
    long = row("A1", weight_s=300, arrived=1)
    assert gives_way(long, [row("B1", weight_s=5, arrived=3)], {MatterId("A"): 2}, NOW)


def test_it_does_not_give_way_to_a_longer_one() -> None:
    long = row("A1", weight_s=300, arrived=1)
    assert not gives_way(long, [row("B1", weight_s=301, arrived=3)], {MatterId("A"): 2}, NOW)


def test_it_does_not_give_way_twice_to_a_matter_before_it_had_a_turn_itself() -> None:
    long = row("A1", weight_s=300, arrived=1)
    served = {MatterId("A"): 4, MatterId("B"): 5}
    assert not gives_way(long, [row("B2", weight_s=5, arrived=6)], served, NOW)


@given(_rows, _served, st.floats(1, 1000))
def test_whoever_gives_way_does_not_get_the_next_turn(
    drawn: list[tuple[str, float, float]], served: dict[MatterId, int], weight_s: float
) -> None:
    running = row("A99", weight_s=weight_s, arrived=1)
    others = _line(drawn)
    if gives_way(running, others, served, NOW):
        first = next(turns([*others, running], served, NOW))
        assert first.job != running.job
        assert first.weight_s < weight_s
