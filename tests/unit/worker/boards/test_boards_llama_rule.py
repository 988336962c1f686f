"""Our planner against llama.cpp's rule, followed independently in 32-bit floats, and by hand."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.llama_split import board_changes, devices_of_slots
from protocol.errors import BadRequest
from worker.boards.llama_rule import board_crossings, card_of_slots
from worker.boards.packing import pack

BY_HAND = json.loads(
    (Path(__file__).parents[3] / "data" / "boards" / "by_hand.json").read_text("utf-8")
)


def test_there_are_fifty_cases_by_hand():
    assert len(BY_HAND["assign"]) + len(BY_HAND["pack"]) == 50


@pytest.mark.parametrize(
    "case", BY_HAND["assign"], ids=lambda case: f"{case['layers']}-{case['split']}"
)
def test_assigned_by_hand(case):
    cards = card_of_slots(case["layers"], case["split"])
    assert [cards.count(card) for card in range(len(case["split"]))] == case["slots"]
    assert board_crossings(case["layers"], case["split"], case["boards"]) == case["crossings"]
    floats = devices_of_slots(case["layers"], case["split"])
    assert [floats.count(card) for card in range(len(case["split"]))] == case["slots"]
    assert board_changes(floats, case["boards"]) == case["crossings"]


@pytest.mark.parametrize("case", BY_HAND["pack"], ids=str)
def test_packed_by_hand(case):
    size, times = case.get("repeat", (0, 0))
    packing = pack([size] * times + case["slots"], case["room"], case.get("carried", ()))
    assert list(packing.split) == case["split"]
    assert packing.first_failing() == (tuple(case["fails"]) if "fails" in case else None)
    assert packing.fits is ("fails" not in case)


def test_twenty_thousand_random_packings_land_where_they_say():
    chance = random.Random(20_000)
    for _ in range(20_000):
        cards = chance.randint(1, 12)
        sizes = [chance.randint(1, 4000) for _ in range(chance.randint(1, 128))]
        room = [
            chance.choice([0, 1, 1, 1, 1, 1, 1, 2]) * chance.randint(1, 33_000)
            for _ in range(cards)
        ]
        packing = pack(sizes, room)
        assert sum(packing.split) == len(sizes)
        devices = devices_of_slots(len(sizes) - 1, list(packing.split))
        assert [devices.count(card) for card in range(cards)] == list(packing.split)
        assert devices == list(card_of_slots(len(sizes) - 1, packing.split))
        held = [0] * cards
        for size, device in zip(sizes, devices, strict=True):
            held[device] += size
        assert held == list(packing.loads)


@given(st.integers(0, 200), st.lists(st.integers(0, 40), min_size=1, max_size=16).filter(any))
def test_every_slot_has_a_card_and_cards_come_in_order(layers, split):
    cards = card_of_slots(layers, split)
    assert len(cards) == layers + 1
    assert list(cards) == sorted(cards)
    assert all(split[card] > 0 for card in cards)


@pytest.mark.parametrize("split", [[], [0], [0, 0], [3, -1]])
def test_a_split_without_sense_is_refused(split):
    with pytest.raises(BadRequest):
        card_of_slots(3, split)


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
)
def test_no_packing_beats_ours(sizes, room):
    best = min(_worst(split, sizes, room) for split in _splits(len(sizes), len(room)))
    ours = pack(sizes, room)
    assert _worst(ours.split, sizes, room) <= best * (1 + 1e-5)
    assert ours.fits is (best <= 1)


def _splits(slots, cards):
    if cards == 1:
        yield (slots,)
        return
    for first in range(slots + 1):
        for rest in _splits(slots - first, cards - 1):
            yield (first, *rest)


def _worst(split, sizes, room):
    at, worst = 0, 0.0
    for count, space in zip(split, room, strict=True):
        worst = max(worst, sum(sizes[at : at + count]) / space)
        at += count
    return worst
