"""Split plans are exact arithmetic."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.engine import PromptTooLong
from worker.engine.fit import refuse_if_too_long, split_plan

blocks = st.lists(st.integers(0, 500), max_size=30)


@given(blocks, st.integers(-50, 1000))
def test_every_block_is_planned_once_and_every_part_fits(tokens: list[int], room: int) -> None:
    plan = split_plan(tokens, room)
    planned = sorted([n for part in plan.parts for n in part] + list(plan.too_long))
    assert planned == list(range(len(tokens)))
    for part in plan.parts:
        assert part
        assert sum(tokens[n] for n in part) <= room
        assert list(part) == sorted(part)
    assert all(tokens[n] > room for n in plan.too_long)


@given(blocks, st.integers(1, 1000))
def test_no_two_neighbouring_parts_could_be_one(tokens: list[int], room: int) -> None:
    parts = split_plan(tokens, room).parts
    for one, next_part in itertools.pairwise(parts):
        assert sum(tokens[n] for n in one) + tokens[next_part[0]] > room


@given(blocks, st.integers(0, 400), st.integers(1, 400), st.integers(1, 2000))
def test_it_refuses_exactly_what_does_not_fit(
    tokens: list[int], besides: int, max_tokens: int, context: int
) -> None:
    prompt = besides + sum(tokens)
    given_numbers = {
        "prompt_tokens": prompt,
        "max_tokens": max_tokens,
        "context_tokens": context,
        "block_tokens": tokens,
    }
    if prompt + max_tokens <= context:
        refuse_if_too_long(**given_numbers)
        return
    with pytest.raises(PromptTooLong) as caught:
        refuse_if_too_long(**given_numbers)
    refusal = caught.value
    assert refusal.overflow_tokens == prompt + max_tokens - context
    for part in refusal.plan.parts:
        assert besides + sum(tokens[n] for n in part) + max_tokens <= context


def test_the_message_says_by_how_much() -> None:
    with pytest.raises(PromptTooLong, match="20 more than the 100") as caught:
        refuse_if_too_long(
            prompt_tokens=110, max_tokens=10, context_tokens=100, block_tokens=[50, 50]
        )
    assert caught.value.next_step == "ask in 2 parts"
