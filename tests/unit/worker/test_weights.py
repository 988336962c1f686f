"""Estimates learned from ended jobs: medians by size, a rate where it is new, else a guess."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.router import KINDS
from worker.weights import Weight, Weights


def known(*samples, kind="summarize", board="A"):
    weights = Weights()
    for pages, seconds in samples:
        weights.took(board, kind, pages, seconds)
    return weights


def test_before_three_jobs_the_first_guess_stands_and_is_said():
    weights = known((10, 5.0), (10, 7.0))
    assert weights.of("A", "summarize", 10, 30.0) == Weight(seconds=30.0, learned=False)
    assert "from defaults:" in weights.said(KINDS)
    assert "learned" not in weights.said(KINDS)


def test_the_median_of_jobs_of_one_size_counts_and_one_long_job_does_not_move_it():
    weights = known((10, 5.0), (12, 6.0), (9, 600.0), (300, 200.0))
    assert weights.of("A", "summarize", 11, 30.0) == Weight(seconds=6.0, learned=True)


def test_a_size_that_is_new_goes_by_the_page():
    weights = known((10, 5.0), (10, 5.0), (10, 5.0))
    assert weights.of("A", "summarize", 300, 30.0).seconds == pytest.approx(150.0)


def test_a_question_takes_its_time_whatever_the_size_of_the_matter():
    weights = known((10, 2.0), (10, 3.0), (9000, 4.0), kind="ask")
    assert weights.of("A", "ask", 100_000, 20.0).seconds == pytest.approx(3.0)


def test_boards_and_kinds_learn_for_themselves():
    weights = known((10, 5.0), (10, 5.0), (10, 5.0))
    assert not weights.of("B", "summarize", 10, 30.0).learned
    assert not weights.of("A", "extract", 10, 5.0).learned


def test_old_jobs_are_forgotten_and_the_file_brings_the_new_ones_back(tmp_path):
    weights = Weights(tmp_path / "weights.json")
    for number in range(100):
        weights.took("A", "ask", 1, 100.0 if number < 79 else 1.0)
    again = Weights(tmp_path / "weights.json")
    assert again.of("A", "ask", 1, 20.0) == Weight(seconds=1.0, learned=True)
    assert (tmp_path / "weights.json").stat().st_mode & 0o777 == 0o600
    assert "ask" in again.said(KINDS).partition("from defaults")[0]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"A ask": [["x", 1]]}'])
def test_a_file_that_says_nothing_is_begun_anew(tmp_path, content):
    (tmp_path / "weights.json").write_bytes(content)
    assert not Weights(tmp_path / "weights.json").of("A", "ask", 1, 20.0).learned


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path):
    Weights(tmp_path / "absent" / "weights.json").took("A", "ask", 1, 2.0)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 10**6)), max_size=30),
    st.integers(0, 10**6),
)
def test_an_estimate_is_a_weight_that_the_queue_takes(samples, pages):
    found = known(*samples).of("A", "summarize", pages, 30.0)
    assert 0 < found.seconds < float("inf")
