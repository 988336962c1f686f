"""The simulated line against closed forms, and against the real queue job by job."""

from __future__ import annotations

import heapq
import math
import random

import pytest

from bench.growth_line import Arrival, Board, Step, simulate
from bench.growth_office import REFERENCE, Office, between, day
from bench.growth_size import percentile
from worker.jobs import Lease
from worker.jobs.memory import MemoryQueue
from worker.jobs.testing import HandClock, done, new_job

JOBS = 60_000


def exponential(rate: float, service: float, *, matters: int = 1, seed: int = 1) -> list[Arrival]:
    """Poisson arrivals, exponential service, weights that tell nothing of it."""
    chance = random.Random(seed)
    at_s, made = 0.0, []
    for number in range(JOBS):
        at_s += chance.expovariate(rate)
        takes = chance.expovariate(service)
        matter = f"M-{chance.randrange(matters):04d}"
        made.append(Arrival(f"j{number}", at_s, "ask", matter, 1.0, (Step(takes, takes),)))
    return made


def erlang_c(places: int, offered: float) -> float:
    """The chance of having to wait in M/M/c (Erlang 1917; Kleinrock, Queueing Systems I, 3.5)."""
    last = offered**places / math.factorial(places) * places / (places - offered)
    return last / (sum(offered**k / math.factorial(k) for k in range(places)) + last)


def test_one_board_waits_as_m_m_1_does() -> None:
    rate, service = 0.7, 1.0
    outcomes = simulate(exponential(rate, service), [Board()])
    waits = [outcome.wait_s for outcome in outcomes.values()]
    assert len(waits) == JOBS
    mean = (rate / service) / (service - rate)
    assert sum(waits) / JOBS == pytest.approx(mean, rel=0.06)
    p95 = math.log(rate / service / 0.05) / (service - rate)
    assert percentile(waits, 0.95) == pytest.approx(p95, rel=0.08)
    idle = sum(wait == 0 for wait in waits) / JOBS
    assert idle == pytest.approx(1 - rate / service, abs=0.02)


@pytest.mark.parametrize("places", [2, 4])
def test_a_board_of_several_places_waits_as_m_m_c_does(places: int) -> None:
    service = 1.0
    rate = 0.8 * places
    outcomes = simulate(exponential(rate, service, seed=places), [Board(places=places)])
    waits = [outcome.wait_s for outcome in outcomes.values()]
    waiting = erlang_c(places, rate / service)
    assert sum(wait > 0 for wait in waits) / JOBS == pytest.approx(waiting, abs=0.03)
    mean = waiting / (places * service - rate)
    assert sum(waits) / JOBS == pytest.approx(mean, rel=0.08)


def test_taking_turns_over_matters_moves_waiting_about_and_makes_none() -> None:
    """The mean wait of M/M/1 is the same in any order that does not look at the service time."""
    rate, service = 0.7, 1.0
    outcomes = simulate(exponential(rate, service, matters=7), [Board()])
    mean = sum(outcome.wait_s for outcome in outcomes.values()) / JOBS
    assert mean == pytest.approx((rate / service) / (service - rate), rel=0.06)


def scenario(seed: int) -> list[Arrival]:
    """Jobs of a few matters and weights, in steps; every time a multiple of an eighth of a second,
    so that floating point and the queue's milliseconds agree."""
    chance = random.Random(seed)
    made = []
    for number in range(60):
        takes = [chance.randrange(1, 40) / 8 for _ in range(chance.choice([1, 1, 2, 6]))]
        weight_s = chance.choice([1.0, 5.0, 20.0, 60.0])
        made.append(
            Arrival(
                f"j{number}",
                chance.randrange(0, 8 * 200) / 8,
                "ask",
                f"M-{chance.choice('ABCD') * 4}",
                weight_s,
                tuple(Step(seconds, seconds) for seconds in takes),
            )
        )
    return sorted(made, key=lambda arrival: arrival.at_s)


async def really(arrivals: list[Arrival], places: int) -> list[tuple[str, str, float]]:
    """The same arrivals through the real queue: what happened to whom, and when."""
    clock = HandClock()
    queue = MemoryQueue(clock)
    await queue.set_places("A", places)
    happened: list[tuple[str, str, float]] = []
    names: dict[str, Arrival] = {}
    steps_done: dict[str, int] = {}
    later: list[tuple[float, int, Lease]] = []
    started, now_s, count, at = clock.now, 0.0, 0, 0

    async def fill() -> None:
        nonlocal count
        while (lease := await queue.claim("A", "w-1")) is not None:
            happened.append(("begins", names[lease.job].job, now_s))
            count += 1
            takes = names[lease.job].steps[steps_done[lease.job]].cold_s
            heapq.heappush(later, (now_s + takes, count, lease))

    while at < len(arrivals) or later:
        if later and (at == len(arrivals) or later[0][0] <= arrivals[at].at_s):
            now_s, _, lease = heapq.heappop(later)
            clock.now = started
            clock.pass_s(now_s)
            arrival = names[lease.job]
            steps_done[lease.job] += 1
            if steps_done[lease.job] == len(arrival.steps):
                await queue.end(lease, done())
                happened.append(("ends", arrival.job, now_s))
            elif await queue.gives_way(lease):
                await queue.park(lease)
                happened.append(("parks", arrival.job, now_s))
            else:
                count += 1
                takes = arrival.steps[steps_done[lease.job]].cold_s
                heapq.heappush(later, (now_s + takes, count, lease))
                continue
        else:
            arrival = arrivals[at]
            at, now_s = at + 1, arrival.at_s
            clock.now = started
            clock.pass_s(now_s)
            job = await queue.add(new_job(arrival.matter, weight_s=arrival.weight_s))
            names[job.id], steps_done[job.id] = arrival, 0
        await fill()
    return happened


@pytest.mark.parametrize("seed", range(8))
async def test_the_simulated_line_does_what_the_real_queue_does(seed: int) -> None:
    arrivals = scenario(seed)
    places = 1 + seed % 3
    happened = await really(arrivals, places)
    outcomes = simulate(arrivals, [Board(places=places)])
    begun: dict[str, float] = {}
    for what, name, at_s in happened:
        if what == "begins":
            begun.setdefault(name, at_s)
    came = {arrival.job: arrival.at_s for arrival in arrivals}
    ends = {name: at_s for what, name, at_s in happened if what == "ends"}
    parks = [name for what, name, _ in happened if what == "parks"]
    assert parks, "no case of giving way: the comparison shows less than it should"
    assert len(outcomes) == len(arrivals)
    assert list(outcomes) == list(begun)
    for name, outcome in outcomes.items():
        assert outcome.wait_s == begun[name] - came[name]
        assert outcome.end_s == ends[name] - came[name]
        assert outcome.parked == parks.count(name)


def test_a_held_head_saves_its_reading_and_the_oldest_is_dropped() -> None:
    def ask(number: int, at_s: float, head: str) -> Arrival:
        return Arrival(f"j{number}", at_s, "ask", "M-AAAA", 1.0, (Step(10.0, 2.0, head),))

    arrivals = [ask(1, 0, "a"), ask(2, 20, "a"), ask(3, 40, "b"), ask(4, 60, "c"), ask(5, 80, "a")]
    outcomes = simulate(arrivals, [Board(heads=2)])
    assert [outcomes[f"j{number}"].end_s for number in range(1, 6)] == [10, 2, 10, 10, 10]


def test_the_same_seed_is_the_same_day_and_a_larger_office_asks_more() -> None:
    small = day(Office(lawyers=5), REFERENCE, random.Random(1))
    assert small == day(Office(lawyers=5), REFERENCE, random.Random(1))
    assert small != day(Office(lawyers=5), REFERENCE, random.Random(2))
    large = day(Office(lawyers=100), REFERENCE, random.Random(1))
    asked = sum(arrival.kind == "question" for arrival in large)
    assert asked == pytest.approx(100 * Office(lawyers=1).questions_a_day, rel=0.1)


def test_speeds_are_the_table_at_its_points_and_between_them() -> None:
    for tokens, seconds in REFERENCE.first_token_s:
        assert between(REFERENCE.first_token_s, tokens) == seconds
    assert between(REFERENCE.first_token_s, 16_500) == pytest.approx((1.2 + 17.2) / 2)
    assert between(REFERENCE.first_token_s, 10) == 1.2
    step = REFERENCE.step(32_000, 117, held=32_000, head="a")
    assert step.cold_s == pytest.approx(17.2 + 1.0)
    assert step.warm_s == pytest.approx(1.2 + 1.0)
