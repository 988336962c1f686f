"""How llama.cpp spreads layers over cards, worked out anew for every placement we make.

With ``-sm layer -ngl all`` the model's layers and, after them, its output are ``layers + 1``
slots. The split's running sums, divided by their total, are cut points; slot *i* goes to the first
card whose cut point is greater than ``i / (layers + 1)``. Whole numbers that add up to
``layers + 1`` make this exact: card *k* takes as many slots as its number says.

Source: ``llama_model::load_tensors`` in llama.cpp's ``src/llama-model.cpp``. That code compares
32-bit floats; here the same comparison is made on whole numbers, which no rounding can move.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from protocol.errors import BadRequest


def card_of_slots(layers: int, split: Sequence[int]) -> tuple[int, ...]:
    """For each layer and then the output: the place of its card in the list.

    Raises:
        BadRequest: The split is empty, negative or all zero.
    """
    if not split or min(split) < 0 or sum(split) == 0:
        raise BadRequest("a split needs whole numbers of which one at least is above zero")
    slots, total = layers + 1, sum(split)
    cuts = list(accumulate(split))
    return tuple(
        next(card for card, cut in enumerate(cuts) if cut * slots > slot * total)
        for slot in range(slots)
    )


def crossings(boards: Sequence[str]) -> int:
    """How often the text's way through the slots goes from one board to another."""
    return sum(one != other for one, other in pairwise(boards))


def board_crossings(layers: int, split: Sequence[int], board_of_card: Sequence[str]) -> int:
    """The crossings of a split over cards whose boards are given in card order."""
    return crossings([board_of_card[card] for card in card_of_slots(layers, split)])
