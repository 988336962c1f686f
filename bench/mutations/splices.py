"""Joins what the record does not join: other places, other documents, three dots over too much."""

from __future__ import annotations

import random

from bench.mutations.lists import MODALS, NEGATIONS
from bench.mutations.sample import Sample, core_of, where


def spliced_with_elsewhere(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(2, max(2, len(sample.words) - 2))
    return [*sample.words[:k], *sample.elsewhere[: rng.randint(3, 9)]]


def spliced_with_foreign(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(2, max(2, len(sample.words) - 2))
    return [*sample.words[:k], *sample.foreign[: rng.randint(3, 9)]]


def dots_swallow_negation(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(
        sample,
        lambda word: word in NEGATIONS or word in MODALS or word.endswith("n't"),
        inner=True,
    )
    if not spots:
        return None
    k = rng.choice(spots)
    low, high = max(4, k - rng.randint(0, 2)), min(len(sample.words) - 1, k + 1 + rng.randint(0, 2))
    after = {core_of(word).lower() for word in sample.words[high:]}
    if high - low < 1 or k < low or len(sample.words) - high < 4:
        return None  # too few words left to say where they stand
    if after & {core_of(word).lower() for word in sample.words[low:high]}:
        return None  # the words after the dots would stand before the negation too
    return [
        *sample.words[:low],
        rng.choice(["...", ". . .", "…", "[...]", "* * *", "[…]"]),
        *sample.words[high:],
    ]


def dots_reverse_parts(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 8:
        return None
    k = len(sample.words) // 2
    return [*sample.words[k:], rng.choice(["...", ". . .", "…"]), *sample.words[:k]]


def dots_join_documents(sample: Sample, rng: random.Random) -> list[str] | None:
    return [
        *sample.words[: max(3, len(sample.words) // 2)],
        rng.choice(["...", "…"]),
        *sample.foreign[:8],
    ]


def dots_and_a_lie(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 9:
        return None
    k = len(sample.words) // 2
    tail = list(sample.words[k + 1 :])
    tail[rng.randrange(len(tail))] = rng.choice(sample.vocabulary)
    return [*sample.words[:k], "…", *tail]


def dots_add_words(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(2, len(sample.words) - 1)
    return [
        *sample.words[:k],
        "…",
        rng.choice(["not", "never", "only", "allegedly"]),
        "…",
        *sample.words[k:],
    ]
