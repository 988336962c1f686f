"""What may enter the queue: ids, codes, hashes; never a sentence, and no error that repeats one."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.jobs import STEP_BYTES, wordless

IDS = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}\Z")


@given(st.text().filter(lambda text: any(c.isspace() or ord(c) > 127 for c in text)))
def test_nothing_with_a_space_or_beyond_ascii_gets_in(text: str) -> None:
    for value in ({"a": text}, {"a": [text]}, {"a": {"b": text}}, {text: 1}):
        with pytest.raises(ValueError) as refused:
            wordless.encode_step(value)
        assert len(text.strip()) < 3 or text.strip() not in str(refused.value)
    for check in (wordless.check_id, wordless.check_code, wordless.check_hash):
        with pytest.raises(ValueError):
            check(text, "it")


@given(
    st.dictionaries(
        IDS,
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-(2**53), 2**53),
            st.floats(-1e18, 1e18),
            IDS,
            st.just(""),
            st.lists(IDS, max_size=3),
        ),
        max_size=5,
    )
)
def test_ids_counts_and_hashes_come_back_as_they_went_in(value: dict[str, object]) -> None:
    assert msgspec.json.decode(wordless.encode_step(value)) == value


@pytest.mark.parametrize("ending", ["\n", "\r", "\0", " "])
def test_a_line_end_after_an_id_is_seen(ending: str) -> None:
    for check, good in (
        (wordless.check_id, "d-1:0-4"),
        (wordless.check_code, "ask"),
        (wordless.check_hash, "a" * 64),
    ):
        assert check(good, "it") == good
        with pytest.raises(ValueError):
            check(good + ending, "it")


def test_the_size_limit_is_exact() -> None:
    numbers = [1] * ((STEP_BYTES - len(b'{"n":[]}') - 1) // 2)
    encoded = wordless.encode_step({"n": [*numbers, 1]})
    assert len(encoded) in (STEP_BYTES, STEP_BYTES - 1)
    with pytest.raises(ValueError, match=str(STEP_BYTES)):
        wordless.encode_step({"n": [*numbers, 1, 1]})


@pytest.mark.parametrize("value", [None, 1, "id", ["id"], b"id"])
def test_a_step_value_is_a_mapping(value: object) -> None:
    with pytest.raises(ValueError):
        wordless.encode_step(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 2**70])
def test_a_number_that_json_cannot_bring_back_is_refused(number: float) -> None:
    with pytest.raises(ValueError):
        wordless.encode_step({"n": number})
