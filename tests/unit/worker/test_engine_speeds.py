"""The box's own table of speeds, and the ETA that is made of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.engine import EngineProvenance, FinishReason, PromptProgress, Usage
from worker.engine.speeds import GUESSED_TOKENS_PER_S, Eta, Speed, size_of


class Named:
    """As much of an engine as the table asks for."""

    def __init__(self, sha256="a" * 64):
        self.provenance = EngineProvenance(engine="x", model_sha256=sha256)


def used(prompt=1000, read_ms=2000.0, reused=0, words=100, write_ms=5000.0, **more):
    return Usage(
        prompt_tokens=prompt,
        reused_tokens=reused,
        prefill_ms=read_ms,
        output_tokens=words,
        decode_ms=write_ms,
        **more,
    )


def test_rates_are_kept_by_model_board_and_size(tmp_path):
    file = tmp_path / "engines" / "speeds.json"
    speed = Speed(file, "A", Named())
    speed.note(used())
    speed.note(used(prompt=30_000, read_ms=100_000.0, write_ms=10_000.0))
    again = Speed(file, "A", Named())
    assert again.prefill(1000) == 500.0
    assert again.decode(1000) == 20.0
    assert again.prefill(20_000) == again.prefill(32_768) == 300.0
    assert again.prefill(100_000) == 300.0  # the nearest size known
    assert again.decode(29_000) == 10.0
    assert Speed(file, "B", Named()).prefill(1000) is None
    assert Speed(file, "A", Named("b" * 64)).prefill(1000) is None


def test_a_new_rate_moves_the_old_one_a_little():
    speed = Speed(None, "A", Named())
    speed.note(used())
    speed.note(used(read_ms=1000.0))
    assert speed.prefill(1000) == pytest.approx(500 + 0.3 * 500)


@pytest.mark.parametrize(
    "call",
    [
        used(prompt=40, words=4),
        used(reused=900, words=4),  # the rest of a prompt, read at its depth
        used(finish_reason=FinishReason.CANCELLED),
        used(finish_reason=FinishReason.DEADLINE),
        used(read_ms=0.0, write_ms=0.0),
    ],
)
def test_what_says_nothing_about_speed_is_left_out(call):
    speed = Speed(None, "A", Named())
    speed.note(call)
    assert speed.prefill(1000) is None
    assert speed.decode(1000) is None


def test_a_broken_table_is_an_empty_one(tmp_path):
    file = tmp_path / "speeds.json"
    file.write_text('{"A aaaaaaaaaaaaaaaa": {"prefill": {"512": "fast"}}}')
    assert Speed(file, "A", Named()).prefill(100) is None


def test_an_eta_comes_from_the_table_then_from_the_prompts_own_pace():
    speed = Speed(None, "A", Named())
    speed.note(used())
    eta = Eta(speed)
    assert eta.say(PromptProgress(total=1000, cached=0, processed=0), 10.0) == (2.0, False)
    assert eta.say(PromptProgress(total=1000, cached=0, processed=64), 11.0) == (936 / 500, False)
    left, guessed = eta.say(PromptProgress(total=1000, cached=0, processed=500), 15.0)
    assert (left, guessed) == (5.0, False)  # 100 a second now


def test_a_box_that_was_never_measured_says_that_it_guesses():
    eta = Eta(None)
    left, guessed = eta.say(PromptProgress(total=3000, cached=0, processed=0), 0.0)
    assert (left, guessed) == (3000 / GUESSED_TOKENS_PER_S, True)
    assert not eta.say(PromptProgress(total=3000, cached=0, processed=1500), 3.0)[1]


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=30), st.floats(0.1, 60))
def test_an_eta_is_never_negative_and_ends_at_nothing(steps, step_s):
    total = max(steps) or 1
    eta = Eta(None)
    for n, done in enumerate(sorted(steps)):
        left, _ = eta.say(PromptProgress(total=total, cached=0, processed=done), n * step_s)
        assert left >= 0
    assert eta.say(PromptProgress(total=total, cached=0, processed=total), 1e6)[0] == 0


@given(st.integers(0, 1 << 22))
def test_a_size_holds_its_prompts(tokens):
    size = size_of(tokens)
    assert size >= tokens
    assert size == 512 or size < 2 * tokens
