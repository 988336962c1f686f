"""Whole slots on cards, in order: each card takes the next few, and none takes a part of one.

Bytes are never pooled: a model can be smaller than the cards together and still have no packing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import msgspec

_PARTS: Final = 2**20
"""A fill is counted in these parts of a card."""


class Packing(msgspec.Struct, frozen=True, kw_only=True):
    """How many slots each card takes and how full it gets."""

    split: tuple[int, ...]
    """Slots a card, in card order; they add up to layers + 1."""
    loads: tuple[int, ...]
    """Bytes a card."""
    room: tuple[int, ...]
    """Bytes a card could take."""

    @property
    def fits(self) -> bool:
        """Whether no card holds more than it could."""
        return all(load <= room for load, room in zip(self.loads, self.room, strict=True))

    def first_failing(self) -> tuple[int, int] | None:
        """The first card that is over-full and by how many bytes."""
        for place, (load, room) in enumerate(zip(self.loads, self.room, strict=True)):
            if load > room:
                return place, load - room
        return None


def pack(slots: Sequence[int], room: Sequence[int], carried: Sequence[int] = ()) -> Packing:
    """The contiguous packing whose fullest card is least full, to one part in a million.

    For a given fill, giving each card in turn as much as it may hold leaves the least over, so a
    binary search over the fill finds the packing. The fill of exactly 1 is one of those tried:
    whether anything fits is decided exactly.

    Args:
        slots: Bytes of each layer and of the output, in order.
        room: Bytes each card can take, in card order; nothing where it is not above zero.
        carried: Bytes that a card holds besides slots (a draft model, an image reader).
    """
    extra = tuple(carried) or (0,) * len(room)
    starts = [0, *accumulate(slots)]
    high = _PARTS
    while (best := _greedy(starts, room, extra, high)) is None:
        high *= 2
        if high > _PARTS**3:  # no card has any room
            split = (len(slots), *([0] * (len(room) - 1)))
            return _packing(split, starts, room, extra)
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        tried = _greedy(starts, room, extra, middle)
        if tried is None:
            low = middle
        else:
            best, high = tried, middle
    return _packing(best, starts, room, extra)


def _greedy(
    starts: Sequence[int], room: Sequence[int], extra: Sequence[int], fill: int
) -> tuple[int, ...] | None:
    """As many slots for each card in turn as a fill allows; None when some are left over."""
    split, at = [], 0
    for space, more in zip(room, extra, strict=True):
        most = fill * max(space, 0) // _PARTS - more
        end = max(at, bisect_right(starts, starts[at] + most) - 1) if space > 0 else at
        split.append(end - at)
        at = end
    return tuple(split) if at == len(starts) - 1 else None


def _packing(
    split: Sequence[int], starts: Sequence[int], room: Sequence[int], extra: Sequence[int]
) -> Packing:
    loads, at = [], 0
    for count, more in zip(split, extra, strict=True):
        loads.append(starts[at + count] - starts[at] + more)
        at += count
    return Packing(split=tuple(split), loads=tuple(loads), room=tuple(room))
