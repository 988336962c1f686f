"""What happens again and again is told at once, then seldom, with how often."""

from __future__ import annotations

from worker.gateway.seldom import Seldom


def test_the_first_is_told_then_the_count_once_in_a_while():
    now = [0.0]
    seldom = Seldom(10.0, clock=lambda: now[0])
    assert seldom.happened("a") == 1
    assert [seldom.happened("a") for _ in range(999)] == [0] * 999
    assert seldom.happened("b") == 1
    now[0] = 10.0
    assert seldom.happened("a") == 1_000
    assert seldom.happened("a") == 0


def test_many_owners_do_not_fill_the_memory():
    seldom = Seldom(10.0, clock=lambda: 0.0)
    for number in range(5_000):
        assert seldom.happened(str(number)) == 1
    assert len(seldom._told) <= 1_000
