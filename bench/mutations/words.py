"""Spoils which words stand there and in what order."""

from __future__ import annotations

import random

from bench.mutations.sample import Sample, as_written, core_of, exchanged, where


def word_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, str.isalnum, inner=True)
    return exchanged(sample, rng.choice(spots)) if spots else None


def words_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 8:
        return None
    size = rng.randint(2, min(6, len(sample.words) - 5))
    k = rng.randint(2, len(sample.words) - size - 2)
    return [*sample.words[:k], *sample.words[k + size :]]


def word_inserted(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(1, len(sample.words) - 1)
    return [*sample.words[:k], rng.choice(sample.vocabulary), *sample.words[k:]]


def word_replaced(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(sample, k, as_written(sample.words[k], rng.choice(sample.vocabulary)))


def word_doubled(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return [*sample.words[: k + 1], core_of(sample.words[k]), *sample.words[k + 1 :]]


def words_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(len(sample.words) - 1)
        if core_of(sample.words[k]).lower() != core_of(sample.words[k + 1]).lower()
    ]
    if not spots:
        return None
    k = rng.choice(spots)
    made = list(sample.words)
    made[k], made[k + 1] = (
        as_written(made[k], core_of(made[k + 1])),
        as_written(made[k + 1], core_of(made[k])),
    )
    return made


def halves_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 6:
        return None
    k = rng.randint(2, len(sample.words) - 2)
    return [*sample.words[k:], *sample.words[:k]]
