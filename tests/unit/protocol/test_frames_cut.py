"""Frames cut, merged, oversized, made of noise: whole lines or an error, never half a message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import BadRequest
from protocol.frames import (
    Call,
    Hello,
    LineSplitter,
    Ping,
    decode_to_client,
    decode_to_worker,
    encode,
)
from protocol.ids import MatterId
from protocol.jobs import Ask, Health


def _ask(text: str) -> Ask:
    return Ask(matter=MatterId("M-A1DR"), conversation=text, question=text, key=text)


FRAMES = st.lists(
    st.one_of(
        st.builds(Ping, number=st.integers(0, 2**53)),
        st.builds(Hello, lowest=st.just(1), highest=st.just(1), client=st.text(max_size=20)),
        st.builds(
            Call,
            id=st.integers(1, 2**31),
            request=st.one_of(st.just(Health()), st.builds(_ask, st.text(max_size=200))),
        ),
    ),
    max_size=8,
)


@given(FRAMES, st.data())
def test_any_cutting_gives_back_the_same_frames(frames, data):
    raw = b"".join(encode(frame) for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=12)))
    splitter, got = LineSplitter(1 << 20), []
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        got += [decode_to_worker(line) for line in splitter.feed(raw[start:end])]
    assert got == frames


@given(FRAMES, st.integers(0, 10_000))
def test_a_cut_line_gives_a_prefix_and_never_half_a_frame(frames, at):
    raw = b"".join(encode(frame) for frame in frames)[:at]
    got = [decode_to_worker(line) for line in LineSplitter(1 << 20).feed(raw)]
    assert got == frames[: len(got)]
    assert raw.count(b"\n") == len(got)


@given(st.binary(max_size=300))
def test_noise_is_refused_without_repeating_it(noise):
    for decode in (decode_to_worker, decode_to_client):
        said = _refusal(decode, noise)
        word = noise.decode("latin-1").strip()
        assert len(word) < 12 or word not in said


def _refusal(decode, line) -> str:
    with pytest.raises(BadRequest) as caught:
        decode(line)
    return caught.value.message


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["frame", "id", "request", "number", "acting_for"]), _JSON))
def test_json_of_other_shapes_is_refused_or_a_frame(value):
    try:
        frame = decode_to_worker(json.dumps(value).encode())
    except BadRequest:
        return
    assert decode_to_worker(encode(frame)) == frame


@given(st.integers(1, 50), st.integers(0, 200), st.integers(1, 64))
def test_line_over_the_limit_is_refused_as_soon_as_it_is_over(limit, size, step):
    raw = b"x" * size + b"\n"
    splitter = LineSplitter(limit)

    def feed() -> list[bytes]:
        lines: list[bytes] = []
        for at in range(0, len(raw), step):
            lines += splitter.feed(raw[at : at + step])
        return lines

    if size > limit:
        with pytest.raises(BadRequest):
            feed()
    else:
        assert feed() == ([raw[:-1]] if size else [])
