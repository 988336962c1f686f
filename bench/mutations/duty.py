"""Spoils who must do what: negation, duty, quantity, opposites."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench.mutations.lists import AUXILIARIES, MODALS, NEGATIONS, OPPOSITES, QUANTIFIERS
from bench.mutations.sample import Sample, as_written, core_of, exchanged, where


def negation_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, NEGATIONS.__contains__, inner=True)
    return exchanged(sample, rng.choice(spots)) if spots else None


def contraction_undone(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, lambda word: word.endswith(("n't", "n’t")))
    if not spots:
        return None
    k = rng.choice(spots)
    core = core_of(sample.words[k])[:-3]
    return exchanged(
        sample, k, as_written(sample.words[k], core + ("n" if core.lower() == "ca" else ""))
    )


def negation_added(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, AUXILIARIES.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return [*sample.words[: k + 1], rng.choice(["not", "never"]), *sample.words[k + 1 :]]


def cannot_for_can(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, {"can", "cannot"}.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    other = "cannot" if core_of(sample.words[k]).lower() == "can" else "can"
    return exchanged(sample, k, as_written(sample.words[k], other))


def modal_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    return _another_of(MODALS, sample, rng)


def quantifier_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    return _another_of(QUANTIFIERS, sample, rng)


def _another_of(kind: Sequence[str], sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, kind.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    others = [word for word in kind if word != core_of(sample.words[k]).lower()]
    return exchanged(sample, k, as_written(sample.words[k], rng.choice(others)))


def opposite(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, OPPOSITES.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(
        sample, k, as_written(sample.words[k], OPPOSITES[core_of(sample.words[k]).lower()])
    )


def prefix_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    def fits(word: str) -> bool:
        return len(word) > 6 and word.startswith(("un", "in", "im", "dis", "non", "re", "pre"))

    spots = where(sample, fits)
    if not spots:
        spots = where(sample, lambda word: len(word) > 6 and word.isalpha())
        if not spots:
            return None
        k = rng.choice(spots)
        return exchanged(
            sample, k, as_written(sample.words[k], "un" + core_of(sample.words[k]).lower())
        )
    k = rng.choice(spots)
    core = core_of(sample.words[k])
    cut = 3 if core.lower().startswith(("dis", "non", "pre")) else 2
    return exchanged(sample, k, as_written(sample.words[k], core[cut:]))
