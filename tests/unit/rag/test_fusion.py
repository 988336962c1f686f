"""Adding scores, sharing places, removing repeats."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag.fusion import evened, fuse, scaled, with_quotas, without_repeats

_SCORES = st.lists(st.floats(min_value=-1, max_value=50), max_size=30).map(np.array)


@given(_SCORES)
def test_evened_and_scaled_scores_lie_between_0_and_1_and_keep_their_order(scores) -> None:
    for made, given_scores in ((evened(scores), scores), (scaled(abs(scores)), abs(scores))):
        assert ((made >= 0) & (made <= 1)).all()
        for first, second in zip(range(len(made)), range(1, len(made)), strict=False):
            if given_scores[first] > given_scores[second]:
                assert made[first] >= made[second]


def test_nothing_said_is_nothing_and_all_the_same_is_all_the_same() -> None:
    assert scaled(np.zeros(3)).tolist() == [0, 0, 0]
    assert evened(np.array([0.4, 0.4])).tolist() == [1, 1]
    assert len(fuse([])) == 0


def test_weights_count() -> None:
    first, second = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert fuse([(1.0, first), (0.5, second)]).tolist() == [1.0, 0.5]


def test_a_repeat_goes_whatever_its_case_and_white_space() -> None:
    line = "The boiler was replaced by the plumber from the village on Monday."
    texts = {1: line, 2: line.upper().replace(" ", "\n"), 3: "Page 2", 4: "Page 2"}
    assert without_repeats([1, 2, 3, 4], texts) == [1, 3, 4]


def test_a_quota_moves_the_rest_behind_and_loses_nothing() -> None:
    group = {1: "a", 2: "a", 3: "a", 4: "b", 5: "a", 6: "b"}
    assert with_quotas([1, 2, 3, 4, 5, 6], group, 2) == [1, 2, 4, 6, 3, 5]
