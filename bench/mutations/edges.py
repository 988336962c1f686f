"""Cuts a quotation where what is left out turns it round, or adds words at its edge."""

from __future__ import annotations

import random
import re

from bench.mutations.lists import NEGATIONS
from bench.mutations.sample import Sample, core_of


def starts_after_negation(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(len(sample.words) - 4)
        if core_of(sample.words[k]).lower() in NEGATIONS
        and not re.search(r"[.;:?!]", sample.words[k])
    ]
    return list(sample.words[rng.choice(spots) + 1 :]) if spots else None


def compound_cut(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(1, len(sample.words) - 3)
        if re.match(r"^[a-z]{3,}-[a-z]{3,}$", sample.words[k])
    ]
    if not spots:
        return None
    k = rng.choice(spots)
    return [sample.words[k].split("-", 1)[1], *sample.words[k + 1 :]]


def stop_cuts_exception(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(4, len(sample.words))
        if core_of(sample.words[k]).lower() in {"unless", "except", "provided", "until", "if"}
        and not re.search(r"[.?!;:]$", sample.words[k - 1])
    ]
    if not spots:
        return None
    made = list(sample.words[: rng.choice(spots)])
    made[-1] = made[-1].rstrip(",;") + "."
    return made


def invented_tail(sample: Sample, rng: random.Random) -> list[str] | None:
    tail = [
        "and",
        "shall",
        "be",
        rng.choice(sample.vocabulary),
        "by",
        "the",
        rng.choice(sample.vocabulary),
    ]
    return [*sample.words, *tail[: rng.randint(2, 7)]]


def invented_head(sample: Sample, rng: random.Random) -> list[str] | None:
    return [rng.choice(["Moreover", "Never", "Allegedly", "Only", "Sometimes"]), *sample.words]
