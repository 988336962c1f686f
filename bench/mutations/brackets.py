"""Hides a change in brackets, behind ``[sic]`` or in emphasis."""

from __future__ import annotations

import random

from bench.mutations.lists import AUXILIARIES, MODALS, NEGATIONS, OPPOSITES
from bench.mutations.sample import Sample, as_written, core_of, exchanged, where


def bracket_hides_word(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(
        sample, lambda word: word in MODALS or word in NEGATIONS or word in OPPOSITES, inner=True
    )
    if not spots:
        return None
    k = rng.choice(spots)
    core = core_of(sample.words[k]).lower()
    return exchanged(
        sample,
        k,
        as_written(
            sample.words[k],
            f"[{OPPOSITES.get(core, rng.choice(['permitted', 'required', 'may', 'must']))}]",
        ),
    )


def bracket_adds_not(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(1, len(sample.words) - 1)
    return [
        *sample.words[:k],
        rng.choice(["[not]", "[never]", "[only]", "[if ever]"]),
        *sample.words[k:],
    ]


def bracket_changes_letter(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, lambda word: word.isalpha() and len(word) > 3)
    if not spots:
        return None
    k = rng.choice(spots)
    core = core_of(sample.words[k])
    letter = rng.choice([c for c in "bcdfghmnprstw" if c != core[0].lower()])
    return exchanged(sample, k, f"[{letter}]{core[1:]}")


def bracket_negates_ending(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, AUXILIARIES.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(sample, k, f"{core_of(sample.words[k])}[n't]")


def bracket_empty(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, lambda word: word in NEGATIONS, inner=True)
    return exchanged(sample, rng.choice(spots), "[]") if spots else None


def sic_blesses_change(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(sample, k, rng.choice(sample.vocabulary), "[sic]")


def emphasis_hides_change(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(sample, k, f"**{rng.choice(sample.vocabulary)}**")
