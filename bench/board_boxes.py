"""Boxes as values, without any driver: for the planner's tests and benches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from worker.boards import GIB, MIB, Absent, Board, Box, Gpu, HostMemory

V100_BYTES = 32494 * MIB
_NONE = Absent("not asked")


def make_gpu(index: int, **changes: Any) -> Gpu:
    """A V100-SXM2 32 GB, all of it free, with changes."""
    values: dict[str, Any] = {
        "uuid": f"GPU-{index:04d}",
        "index": index,
        "name": "Tesla V100-SXM2-32GB",
        "pci": f"0000:{index + 1:02x}:00.0",
        "compute": "7.0",
        "minor": index,
        "memory_bytes": V100_BYTES,
        "memory_free_bytes": V100_BYTES,
        "foreign_processes": 0,
        "links": (),
        "link_width": 8,
        "link_width_most": 8,
        "power_limit_mw": 180_000,
        "power_least_mw": 150_000,
        "power_most_mw": 300_000,
        "clock_most_mhz": 1530,
        "slowdown_c": 87,
        "operating_most_c": 83,
        "memory_most_c": 85,
        "ecc_on": 1,
        "mig_on": _NONE,
        "numa_node": 0,
    }
    return Gpu(**(values | changes))


def make_board(name: str, indices: Sequence[int], **changes: Any) -> Board:
    """A board of such cards."""
    return Board(name=name, gpus=tuple(make_gpu(index) for index in indices), **changes)


def make_box(*boards: Board, host_gib: int = 512) -> Box:
    """A box of boards."""
    memory = HostMemory(total_bytes=host_gib * GIB, available_bytes=host_gib * GIB)
    return Box(boards=boards, memory=memory)


def build_a() -> Box:
    """Twelve cards: a pair, a mixed pair of 32 and 16 GB, two boards of four, indices mixed."""
    small = make_gpu(3, memory_bytes=16144 * MIB, memory_free_bytes=16144 * MIB)
    return make_box(
        make_board("pair", (0, 1)),
        Board(name="mixed", gpus=(make_gpu(2), small)),
        make_board("north", (4, 5, 8, 9)),
        make_board("south", (6, 7, 10, 11)),
    )


def build_b() -> Box:
    """Eight cards on two boards of four."""
    return make_box(make_board("left", (0, 1, 2, 3)), make_board("right", (4, 5, 6, 7)))


def random_box(chance: random.Random) -> Box:
    """One to four boards of one to six cards with room of many kinds, indices shuffled."""
    sizes = [chance.randint(1, 6) for _ in range(chance.randint(1, 4))]
    indices = list(range(sum(sizes)))
    chance.shuffle(indices)
    boards = []
    for number, size in enumerate(sizes):
        taken, indices = indices[:size], indices[size:]
        cards = []
        for index in taken:
            total = chance.choice([16, 24, 32, 48]) * GIB
            free = int(total * chance.uniform(0.2, 1.0)) if chance.random() < 0.3 else total
            cards.append(make_gpu(index, memory_bytes=total, memory_free_bytes=free))
        boards.append(
            Board(
                name="ABCD"[number],
                gpus=tuple(cards),
                healthy=chance.random() > 0.05,
                reason="made up",
                uplinks_healthy=chance.random() > 0.1,
            )
        )
    return make_box(*boards)
