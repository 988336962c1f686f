"""A part of the campaigns that the bench runs in full: the gate, the journal, a killed summary."""

from __future__ import annotations

import pytest

from bench import gate, planted
from bench.house import open_house
from bench.pipeline_kill import kills_of_a_summary
from worker import review


@pytest.fixture(scope="module")
def root(sample_root):
    """The sample matter."""
    return sample_root


async def test_no_sequence_of_commands_lets_an_unapproved_text_out(root):
    async with open_house(root) as house:
        escaped, rows = await gate.escapes(house, 120, seed=11)
    assert (escaped, rows) == (0, [])


async def test_the_campaign_sees_a_gate_that_is_broken(root, monkeypatch):
    """A gate that takes any state for a live approval must be caught."""
    monkeypatch.setattr("worker.review.MAY_LEAVE", frozenset(review.ReviewState))
    monkeypatch.setattr("worker.export.MAY_LEAVE", frozenset(review.ReviewState))
    async with open_house(root) as house:
        escaped, _ = await gate.escapes(house, 60, seed=11)
    assert escaped > 0


def test_every_changed_byte_of_a_journal_is_found(tmp_path):
    made, found = gate.changed_bytes(tmp_path, 3, 1, seed=5)
    assert made > 500
    assert found == made


async def test_the_answer_key_is_met_and_nothing_false_is_green(root):
    async with open_house(root) as house:
        rows, false_green, _ = await planted.against_key(house)
    assert len(rows) >= 40
    assert [row for row in rows if not row["found"]] == []
    assert false_green == 0


@pytest.mark.slow
def test_a_summary_whose_worker_is_killed_is_done_once(tmp_path):
    told = kills_of_a_summary(tmp_path, 60, 1, seed=3)
    assert told["kills"] == 1
    assert told["covered"] == 60
    assert told["documents_in_reply"] == 12
    assert told["pages_twice"] == 0
    assert told["made_again"] <= 1
    assert told["done_once"]
