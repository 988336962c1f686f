"""The rest of a summary by its own pace."""

from __future__ import annotations

import pytest

from worker.deliverables.pace import Pace


def test_nothing_is_said_before_a_part_was_made() -> None:
    assert Pace().rest_s(300) is None


def test_the_rest_is_the_pages_left_at_the_pace_so_far() -> None:
    pace = Pace()
    pace.made(2, 6.0)
    pace.made(4, 6.0)
    assert pace.rest_s(290) == pytest.approx(580.0)
    assert pace.rest_s(290, boards=2) == pytest.approx(290.0)
    assert pace.rest_s(0) == 0.0


def test_a_document_without_pages_counts_as_one() -> None:
    pace = Pace()
    pace.made(0, 3.0)
    assert pace.rest_s(10) == pytest.approx(30.0)
