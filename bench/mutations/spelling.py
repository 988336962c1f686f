"""Spoils letters: endings, halves of words, names, look-alike letters of another script."""

from __future__ import annotations

import random
import re

from bench.mutations.sample import Sample, as_written, core_of, exchanged, where


def letter_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, lambda word: word.isalpha() and len(word) > 2)
    if not spots:
        return None
    k = rng.choice(spots)
    core = core_of(sample.words[k])
    at = rng.randrange(len(core))
    letter = rng.choice([c for c in "abcdefghijklmnopqrstuvwxyz" if c != core[at].lower()])
    return exchanged(sample, k, as_written(sample.words[k], core[:at] + letter + core[at + 1 :]))


def letter_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, lambda word: word.isalpha() and len(word) > 3)
    if not spots:
        return None
    k = rng.choice(spots)
    core = core_of(sample.words[k])
    at = rng.randrange(len(core))
    return exchanged(sample, k, as_written(sample.words[k], core[:at] + core[at + 1 :]))


def plural_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, lambda word: word.isalpha() and len(word) > 3)
    if not spots:
        return None
    k = rng.choice(spots)
    core = core_of(sample.words[k])
    return exchanged(
        sample, k, as_written(sample.words[k], core[:-1] if core.endswith("s") else core + "s")
    )


def ending_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(
        sample,
        lambda word: len(word) > 4 and word.endswith(("ed", "ing", "er", "or", "ee", "ly", "able")),
    )
    if not spots:
        return None
    k = rng.choice(spots)
    core = core_of(sample.words[k])
    stem = re.sub(r"(?:ed|ing|er|or|ee|ly|able)$", "", core)
    return exchanged(
        sample,
        k,
        as_written(
            sample.words[k],
            stem + rng.choice([e for e in ("ed", "ing", "or", "ee", "") if stem + e != core]),
        ),
    )


def possessive_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, lambda word: word.endswith(("'s", "’s")))
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(sample, k, as_written(sample.words[k], core_of(sample.words[k])[:-2]))


def cut_inside_last_word(sample: Sample, rng: random.Random) -> list[str] | None:
    core = core_of(sample.words[-1])
    if not core.isalpha() or len(core) < 5:
        return None
    return [*sample.words[:-1], core[: rng.randint(2, len(core) - 1)]]


def cut_inside_first_word(sample: Sample, rng: random.Random) -> list[str] | None:
    core = core_of(sample.words[0])
    if not core.isalpha() or len(core) < 5:
        return None
    return [core[rng.randint(1, len(core) - 2) :], *sample.words[1:]]


def name_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(1, len(sample.words))
        if core_of(sample.words[k])[:1].isupper() and len(core_of(sample.words[k])) > 2
    ]
    names = ["Halvorsen", "Okafor", "Delacroix", "Petrov", "Nakamura", "Brightwater", "Ellison"]
    return exchanged(sample, rng.choice(spots), rng.choice(names)) if spots else None


def homoglyph(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search("[aeopc]", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    table = {"a": "а", "e": "е", "o": "о", "p": "р", "c": "с"}  # Cyrillic
    return exchanged(
        sample, k, re.sub("[aeopc]", lambda m: table[m.group()], sample.words[k], count=1)
    )


def digit_for_letter(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k for k in range(len(sample.words)) if re.search(r"(?<=\w)[lo](?=\w)", sample.words[k])
    ]
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(
        sample,
        k,
        re.sub(
            r"(?<=\w)[lo](?=\w)",
            lambda m: {"l": "1", "o": "0"}[m.group()],
            sample.words[k],
            count=1,
        ),
    )
