"""Spoils numbers, dates and amounts."""

from __future__ import annotations

import random
import re

from bench.mutations.lists import MONTHS, NUMBER_WORDS
from bench.mutations.sample import Sample, as_written, core_of, exchanged, where


def _number_spots(sample: Sample) -> list[int]:
    return [k for k in range(len(sample.words)) if re.search(r"\d", sample.words[k])]


def digit_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _number_spots(sample)
    if not spots:
        return None
    k = rng.choice(spots)
    at = rng.choice([m.start() for m in re.finditer(r"\d", sample.words[k])])
    digit = rng.choice([d for d in "0123456789" if d != sample.words[k][at]])
    return exchanged(sample, k, sample.words[k][:at] + digit + sample.words[k][at + 1 :])


def digit_added(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _number_spots(sample)
    if not spots:
        return None
    k = rng.choice(spots)
    at = rng.choice([m.start() for m in re.finditer(r"\d", sample.words[k])])
    return exchanged(
        sample, k, sample.words[k][:at] + rng.choice("123456789") + sample.words[k][at:]
    )


def digits_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(len(sample.words))
        if any(a != b for a, b in re.findall(r"(?=(\d)(\d))", sample.words[k]))
    ]
    if not spots:
        return None
    k = rng.choice(spots)
    word = sample.words[k]
    at = rng.choice([m.start() for m in re.finditer(r"(?=(\d)(?!\1)\d)", word)])
    return exchanged(sample, k, word[:at] + word[at + 1] + word[at] + word[at + 2 :])


def number_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in _number_spots(sample)
        if 0 < k < len(sample.words) - 1 and not re.search(r"[A-Za-z]", sample.words[k])
    ]
    return exchanged(sample, rng.choice(spots)) if spots else None


def number_inserted(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(1, len(sample.words) - 1)
    return [*sample.words[:k], str(rng.randint(1, 28)), *sample.words[k:]]


def number_word_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, NUMBER_WORDS.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(
        sample,
        k,
        as_written(
            sample.words[k],
            rng.choice([n for n in NUMBER_WORDS if n != core_of(sample.words[k]).lower()]),
        ),
    )


def month_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if core_of(sample.words[k]) in MONTHS]
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(
        sample,
        k,
        as_written(
            sample.words[k], rng.choice([m for m in MONTHS if m != core_of(sample.words[k])])
        ),
    )


def currency_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"[$€£]\d", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    sign = rng.choice(["€", "£", ""]) if k else rng.choice(["€", "£"])
    return exchanged(sample, k, re.sub(r"[$€£](?=\d)", sign, sample.words[k]))


def percent_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"\d%", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(sample, k, sample.words[k].replace("%", ""))


def decimal_moved(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"\d\.\d", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(sample, k, re.sub(r"(\d)\.(\d)", r".\1\2", sample.words[k], count=1))


def thousands_moved(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"\d,\d{3}", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(
        sample, k, re.sub(r"(\d),(\d)(\d)(\d)", r"\1\2.\3\4", sample.words[k], count=1)
    )


def scale_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = where(sample, {"million", "billion", "thousand", "hundred", "percent"}.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return list(sample.words[:k]) if k == len(sample.words) - 1 else exchanged(sample, k)


def ordinal_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    ordinals = "first second third fourth fifth sixth tenth".split()
    spots = where(sample, ordinals.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return exchanged(
        sample,
        k,
        as_written(
            sample.words[k],
            rng.choice([o for o in ordinals if o != core_of(sample.words[k]).lower()]),
        ),
    )
