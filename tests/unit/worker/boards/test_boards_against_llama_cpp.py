"""What llama.cpp does with the planner's flags, by its own rule.

The rule below was written from ``src/llama-model.cpp`` of llama.cpp (``load_tensors``: the split
points, ``get_layer_buft_list``, the output layer) without reading `worker.boards.placement`,
``packing`` or ``llama_rule``, and shares nothing with them or with `bench.llama_split`. From the
planner it takes what a server would get: the command line and the environment. The cases of
`BY_HAND` were worked on paper, as ``ceil(share x slots)``, before the code ran.
"""

import itertools
import random
from bisect import bisect_right
from fractions import Fraction
from struct import pack, unpack

import pytest

from bench.board_boxes import random_box
from bench.board_models import random_header
from worker.boards.placement import Decision, PlanSettings, plan

CASES = 4_000
"""Plans in this suite; ``python -m bench boards`` tries 20,000, by a second writing of the rule."""
CPU = -1
EVERYTHING = 999


def f32(number):
    """The nearest 32-bit float: C++ computes split points in those."""
    return unpack("f", pack("f", number))[0]


def load_tensors(blocks, n_gpu_layers, tensor_split, free=()):
    """The device of each block and, last, of the output layer; `CPU` where none has it.

    Args:
        blocks: ``block_count`` of the header: extra drafting layers are blocks, too.
        n_gpu_layers: ``-ngl``; negative means all.
        tensor_split: ``-ts``, one number a visible device; all zero means by free memory.
        free: Free bytes of each visible device.
    """
    shares = list(tensor_split) if any(tensor_split) else list(free)
    total, points = 0.0, []
    for share in shares:
        total = f32(total + f32(share))
        points.append(total)
    points = [f32(point / total) for point in points]
    slots = blocks + 1
    wanted = slots if n_gpu_layers < 0 else n_gpu_layers
    first_on_gpu = max(slots - wanted, 0)
    on_gpu = min(wanted, slots) if points else 0
    devices = []
    for slot in range(slots):
        place = slot - first_on_gpu
        if place < 0 or place >= on_gpu:
            devices.append(CPU)
        else:  # std::upper_bound: the first point greater than the place's share
            devices.append(bisect_right(points, f32(place / f32(on_gpu))))
    return devices


def crossings(devices, board_of):
    """How often the text goes from one board to another on its way through the layers."""
    walk = [board_of[device] for device in devices]
    return sum(one != other for one, other in itertools.pairwise(walk))


# blocks, -ngl, -ts, free memory: blocks on the processor, then slots of each device
BY_HAND = [
    (1, EVERYTHING, [1], (), 0, [2]),
    (2, EVERYTHING, [1, 1], (), 0, [2, 1]),
    (3, EVERYTHING, [1, 1], (), 0, [2, 2]),
    (4, EVERYTHING, [1, 1], (), 0, [3, 2]),
    (5, EVERYTHING, [1, 1], (), 0, [3, 3]),
    (6, EVERYTHING, [1, 1], (), 0, [4, 3]),
    (5, EVERYTHING, [1, 1, 1], (), 0, [2, 2, 2]),
    (6, EVERYTHING, [1, 1, 1], (), 0, [3, 2, 2]),
    (7, EVERYTHING, [1, 1, 1], (), 0, [3, 3, 2]),
    (3, EVERYTHING, [3, 1], (), 0, [3, 1]),
    (3, EVERYTHING, [1, 3], (), 0, [1, 3]),
    (4, EVERYTHING, [3, 1], (), 0, [4, 1]),
    (4, EVERYTHING, [1, 3], (), 0, [2, 3]),
    (9, EVERYTHING, [2, 3], (), 0, [4, 6]),
    (9, EVERYTHING, [1, 0, 1], (), 0, [5, 0, 5]),
    (9, EVERYTHING, [0, 1], (), 0, [0, 10]),
    (9, EVERYTHING, [1, 0], (), 0, [10, 0]),
    (9, EVERYTHING, [0, 0, 5], (), 0, [0, 0, 10]),
    (9, EVERYTHING, [100, 1], (), 0, [10, 0]),
    (9, EVERYTHING, [0.1, 0.2, 0.7], (), 0, [1, 2, 7]),
    (2, EVERYTHING, [1, 1, 1, 1, 1], (), 0, [1, 1, 0, 1, 0]),
    (11, EVERYTHING, [1, 1, 1, 1], (), 0, [3, 3, 3, 3]),
    (12, EVERYTHING, [1, 1, 1, 1], (), 0, [4, 3, 3, 3]),
    (13, EVERYTHING, [1, 1, 1, 1], (), 0, [4, 3, 4, 3]),
    (14, EVERYTHING, [1, 1, 1, 1], (), 0, [4, 4, 4, 3]),
    (31, EVERYTHING, [1, 1, 1, 1], (), 0, [8, 8, 8, 8]),
    (32, EVERYTHING, [1, 1, 1, 1], (), 0, [9, 8, 8, 8]),
    (40, EVERYTHING, [1] * 8, (), 0, [6, 5, 5, 5, 5, 5, 5, 5]),
    (40, EVERYTHING, [5, 5, 5, 5, 5, 5, 5, 6], (), 0, [5, 5, 5, 5, 5, 5, 5, 6]),
    (40, EVERYTHING, [1] * 12, (), 0, [4, 3, 4, 3, 4, 3, 3, 4, 3, 4, 3, 3]),
    (48, EVERYTHING, [12, 12, 12, 13], (), 0, [12, 12, 12, 13]),
    (48, EVERYTHING, [1, 1, 1, 1], (), 0, [13, 12, 12, 12]),
    # nothing said: by free memory
    (7, EVERYTHING, [0, 0], (32, 32), 0, [4, 4]),
    (7, EVERYTHING, [0, 0], (32, 16), 0, [6, 2]),
    (7, EVERYTHING, [], (16, 32), 0, [3, 5]),
    (9, EVERYTHING, [], (24, 24, 24, 24), 0, [3, 2, 3, 2]),
    # not all: the first blocks stay on the processor, the output is the last to leave
    (10, 0, [1, 1], (), 11, [0, 0]),
    (10, 1, [1, 1], (), 10, [1, 0]),
    (10, 2, [1, 1], (), 9, [1, 1]),
    (10, 5, [1, 1], (), 6, [3, 2]),
    (10, 10, [1, 3], (), 1, [3, 7]),
    (10, 4, [0, 1], (), 7, [0, 4]),
    (10, 11, [1, 1], (), 0, [6, 5]),
    (10, 99, [1, 1], (), 0, [6, 5]),
    (10, -1, [1, 1], (), 0, [6, 5]),
    (10, EVERYTHING, [], (), 11, []),
]

# blocks, -ts, the board of each device: how often the board changes
CROSSINGS_BY_HAND = [
    (40, [5, 5, 5, 5, 5, 5, 5, 6], "NNNNSSSS", 1),  # board by board
    (40, [5, 5, 5, 5, 5, 5, 5, 6], "NNSSNNSS", 3),  # the same cards by their numbers
    (40, [1] * 12, "PPMMNNSSNNSS", 5),  # all twelve by their numbers
    (3, [1, 1], "AA", 0),
    (3, [2, 0, 2], "ABA", 0),  # a card without a layer is not on the way
    (4, [4, 1], "AB", 1),  # the output alone lies on the other board
]


def test_there_are_fifty():
    assert len(BY_HAND) + len(CROSSINGS_BY_HAND) >= 50


@pytest.mark.parametrize(("blocks", "ngl", "split", "free", "on_cpu", "slots"), BY_HAND)
def test_by_hand(blocks, ngl, split, free, on_cpu, slots):
    devices = load_tensors(blocks, ngl, split, free)
    assert len(devices) == blocks + 1
    assert devices[:on_cpu] == [CPU] * on_cpu
    assert [devices.count(device) for device in range(len(slots))] == slots
    assert devices[on_cpu:] == sorted(devices[on_cpu:])


@pytest.mark.parametrize(("blocks", "split", "boards", "times"), CROSSINGS_BY_HAND)
def test_crossings_by_hand(blocks, split, boards, times):
    assert crossings(load_tensors(blocks, EVERYTHING, split), boards) == times


def test_whole_numbers_that_add_up_to_the_slots_are_taken_as_they_are():
    """Why the planner emits such: 32-bit rounding never moves a boundary then."""
    chance = random.Random(5)
    for _ in range(5_000):
        split = [chance.choice([0, *range(1, 30)]) for _ in range(chance.randint(1, 16))]
        if sum(split) < 2:
            continue
        devices = load_tensors(sum(split) - 1, EVERYTHING, split)
        assert [devices.count(device) for device in range(len(split))] == split


def test_shares_follow_the_exact_rule_away_from_boundaries():
    """The 32-bit floats against exact fractions: they differ at a boundary at most, by one slot."""
    chance = random.Random(6)
    for _ in range(2_000):
        split = [chance.randint(1, 40_000) for _ in range(chance.randint(1, 12))]
        blocks = chance.randint(1, 127)
        devices = load_tensors(blocks, EVERYTHING, split)
        upto = 0
        for device, share in enumerate(split):
            upto += share
            exact = -(-Fraction(upto * (blocks + 1), sum(split)) // 1)
            assert abs(sum(one <= device for one in devices) - exact) <= 1


def test_random_plans_land_where_they_say():
    """Every plan's command line, run through llama.cpp's rule: cards, order, boards, crossings."""
    chance = random.Random(20_261_130)
    decided = dict.fromkeys(Decision, 0)
    for _ in range(CASES):
        box, header = random_box(chance), random_header(chance)
        settings = PlanSettings(
            context_tokens=chance.choice([4096, 16384, 65536, 262144]),
            key_type=(kv := chance.choice(["f16", "q8_0", "q4_0"])),
            value_type=kv,
            span=chance.choice(["never", "two-boards"]),
        )
        placement = plan(box, header, settings)
        decided[placement.decision] += 1
        if placement.decision is Decision.REFUSE:
            assert placement.flags == ()
            continue
        flags = dict(zip(placement.flags[::2], placement.flags[1::2], strict=False))
        assert (flags["-sm"], flags["-ngl"], flags["--fit"]) == ("layer", "all", "off")
        visible = placement.environment["CUDA_VISIBLE_DEVICES"].split(",")
        split = [int(part) for part in flags["-ts"].split(",")]
        blocks = header.values[f"{header.architecture}.block_count"]
        devices = load_tensors(blocks, EVERYTHING, split)
        assert len(split) == len(visible) == len(set(visible))
        assert CPU not in devices
        assert max(devices) < len(visible)
        home = {uuid: board for board in box.boards for uuid in board.uuids}
        used = [home[visible[device]] for device in devices]
        assert all(board.healthy for board in used)
        names = [board.name for board in used]
        wanted = {Decision.PIN: 0, Decision.SPAN: 1}[placement.decision]
        assert crossings(devices, [home[uuid].name for uuid in visible]) == wanted
        assert len(set(names)) == wanted + 1
        assert placement.crossings == wanted
        told = {card.uuid: card.slots for card in placement.cards}
        assert told == {uuid: devices.count(number) for number, uuid in enumerate(visible)}
    assert min(decided.values()) > CASES // 40, decided
