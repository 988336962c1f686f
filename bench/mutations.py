"""Ways to spoil a true quotation, for the checker's fuzzing bench.

Each function takes the words of a true quotation and what stands around it and gives the spoiled
words, or None where it does not apply. The kinds go beyond those of any labelled set on purpose.
Nothing here is known to the checker.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A true quotation and what a spoiler may use."""

    words: tuple[str, ...]
    """White-space separated words, punctuation attached."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    """Words of the record right before and after."""
    elsewhere: tuple[str, ...]
    """A run of words from another place of the same document."""
    foreign: tuple[str, ...]
    """A run of words from another document."""
    vocabulary: tuple[str, ...]


Mutation = Callable[[Sample, random.Random], list[str] | None]
MUTATIONS: dict[str, Mutation] = {}
ALWAYS_WRONG: Final = {
    "currency_changed",
    "percent_dropped",
    "decimal_moved",
    "homoglyph",
    "sign_dropped",
    "fraction_changed",
    "thousands_moved",
    "compound_cut",
    "starts_after_negation",
    "stop_cuts_exception",
    "dots_swallow_negation",
}
"""Kinds whose result a search for letters would call true: signs, and what the cut leaves out."""

_WORD: Final = re.compile(r"^(\W*)(\w[\w'’-]*)(\W*)$")
_NEGATIONS: Final = {"not", "no", "never", "without", "neither", "nor", "cannot", "none", "nothing"}
_MODALS: Final = ["shall", "may", "must", "will", "can", "should", "would", "could", "might"]
_AUXILIARIES: Final = {
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "does",
    "do",
    "did",
    *_MODALS,
}
_QUANTIFIERS: Final = [
    "all",
    "any",
    "each",
    "every",
    "some",
    "no",
    "most",
    "many",
    "few",
    "several",
    "both",
    "either",
]
_OPPOSITES: Final = {
    "before": "after",
    "after": "before",
    "and": "or",
    "or": "and",
    "more": "less",
    "less": "more",
    "least": "most",
    "most": "least",
    "above": "below",
    "below": "above",
    "to": "from",
    "from": "to",
    "with": "without",
    "without": "with",
    "if": "unless",
    "unless": "if",
    "until": "since",
    "first": "last",
    "last": "first",
    "same": "other",
    "minimum": "maximum",
    "maximum": "minimum",
    "affirmed": "reversed",
    "reversed": "affirmed",
    "granted": "denied",
    "denied": "granted",
    "plaintiff": "defendant",
    "defendant": "plaintiff",
    "buyer": "seller",
    "seller": "buyer",
    "borrower": "lender",
    "lender": "borrower",
    "petitioner": "respondent",
    "respondent": "petitioner",
    "true": "false",
    "always": "never",
    "he": "she",
    "she": "he",
    "his": "her",
    "him": "her",
    "up": "down",
    "over": "under",
    "under": "over",
    "within": "beyond",
    "greater": "lesser",
    "higher": "lower",
    "lower": "higher",
    "increase": "decrease",
    "include": "exclude",
    "including": "excluding",
    "valid": "invalid",
    "lawful": "unlawful",
    "able": "unable",
    "proper": "improper",
    "possible": "impossible",
}
_MONTHS: Final = (
    "January February March April May June July August September October November December".split()
)
_NUMBER_WORDS: Final = (
    "one two three four five six seven eight nine ten twelve twenty thirty sixty ninety"
    " hundred".split()
)


def mutation(function: Mutation) -> Mutation:
    """Registers a way to spoil a quotation under its function's name."""
    MUTATIONS[function.__name__] = function
    return function


def _core(word: str) -> str:
    found = _WORD.match(word)
    return found.group(2) if found else word


def _with(word: str, core: str) -> str:
    found = _WORD.match(word)
    if not found:
        return core
    if found.group(2)[:1].isupper():
        core = core[:1].upper() + core[1:]
    return found.group(1) + core + found.group(3)


def _spots(sample: Sample, fits: Callable[[str], bool], *, inner: bool = False) -> list[int]:
    edge = 1 if inner else 0
    return [
        k for k in range(edge, len(sample.words) - edge) if fits(_core(sample.words[k]).lower())
    ]


def _replace(sample: Sample, k: int, *words: str) -> list[str]:
    return [*sample.words[:k], *words, *sample.words[k + 1 :]]


# --- negation, duty, quantity ---------------------------------------------------------------------


@mutation
def negation_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, _NEGATIONS.__contains__, inner=True)
    return _replace(sample, rng.choice(spots)) if spots else None


@mutation
def contraction_undone(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, lambda word: word.endswith(("n't", "n’t")))
    if not spots:
        return None
    k = rng.choice(spots)
    core = _core(sample.words[k])[:-3]
    return _replace(sample, k, _with(sample.words[k], core + ("n" if core.lower() == "ca" else "")))


@mutation
def negation_added(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, _AUXILIARIES.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return [*sample.words[: k + 1], rng.choice(["not", "never"]), *sample.words[k + 1 :]]


@mutation
def cannot_for_can(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, {"can", "cannot"}.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    other = "cannot" if _core(sample.words[k]).lower() == "can" else "can"
    return _replace(sample, k, _with(sample.words[k], other))


@mutation
def modal_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, _MODALS.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    others = [modal for modal in _MODALS if modal != _core(sample.words[k]).lower()]
    return _replace(sample, k, _with(sample.words[k], rng.choice(others)))


@mutation
def quantifier_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, _QUANTIFIERS.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    others = [word for word in _QUANTIFIERS if word != _core(sample.words[k]).lower()]
    return _replace(sample, k, _with(sample.words[k], rng.choice(others)))


@mutation
def opposite(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, _OPPOSITES.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, _with(sample.words[k], _OPPOSITES[_core(sample.words[k]).lower()]))


@mutation
def prefix_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    def fits(word: str) -> bool:
        return len(word) > 6 and word.startswith(("un", "in", "im", "dis", "non", "re", "pre"))

    spots = _spots(sample, fits)
    if not spots:
        spots = _spots(sample, lambda word: len(word) > 6 and word.isalpha())
        if not spots:
            return None
        k = rng.choice(spots)
        return _replace(sample, k, _with(sample.words[k], "un" + _core(sample.words[k]).lower()))
    k = rng.choice(spots)
    core = _core(sample.words[k])
    cut = 3 if core.lower().startswith(("dis", "non", "pre")) else 2
    return _replace(sample, k, _with(sample.words[k], core[cut:]))


# --- words ----------------------------------------------------------------------------------------


@mutation
def word_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, str.isalnum, inner=True)
    return _replace(sample, rng.choice(spots)) if spots else None


@mutation
def words_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 8:
        return None
    size = rng.randint(2, min(6, len(sample.words) - 5))
    k = rng.randint(2, len(sample.words) - size - 2)
    return [*sample.words[:k], *sample.words[k + size :]]


@mutation
def word_inserted(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(1, len(sample.words) - 1)
    return [*sample.words[:k], rng.choice(sample.vocabulary), *sample.words[k:]]


@mutation
def word_replaced(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, _with(sample.words[k], rng.choice(sample.vocabulary)))


@mutation
def word_doubled(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return [*sample.words[: k + 1], _core(sample.words[k]), *sample.words[k + 1 :]]


@mutation
def words_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(len(sample.words) - 1)
        if _core(sample.words[k]).lower() != _core(sample.words[k + 1]).lower()
    ]
    if not spots:
        return None
    k = rng.choice(spots)
    made = list(sample.words)
    made[k], made[k + 1] = _with(made[k], _core(made[k + 1])), _with(made[k + 1], _core(made[k]))
    return made


@mutation
def halves_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 6:
        return None
    k = rng.randint(2, len(sample.words) - 2)
    return [*sample.words[k:], *sample.words[:k]]


@mutation
def letter_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, lambda word: word.isalpha() and len(word) > 2)
    if not spots:
        return None
    k = rng.choice(spots)
    core = _core(sample.words[k])
    at = rng.randrange(len(core))
    letter = rng.choice([c for c in "abcdefghijklmnopqrstuvwxyz" if c != core[at].lower()])
    return _replace(sample, k, _with(sample.words[k], core[:at] + letter + core[at + 1 :]))


@mutation
def letter_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, lambda word: word.isalpha() and len(word) > 3)
    if not spots:
        return None
    k = rng.choice(spots)
    core = _core(sample.words[k])
    at = rng.randrange(len(core))
    return _replace(sample, k, _with(sample.words[k], core[:at] + core[at + 1 :]))


@mutation
def plural_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, lambda word: word.isalpha() and len(word) > 3)
    if not spots:
        return None
    k = rng.choice(spots)
    core = _core(sample.words[k])
    return _replace(
        sample, k, _with(sample.words[k], core[:-1] if core.endswith("s") else core + "s")
    )


@mutation
def ending_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(
        sample,
        lambda word: len(word) > 4 and word.endswith(("ed", "ing", "er", "or", "ee", "ly", "able")),
    )
    if not spots:
        return None
    k = rng.choice(spots)
    core = _core(sample.words[k])
    stem = re.sub(r"(?:ed|ing|er|or|ee|ly|able)$", "", core)
    return _replace(
        sample,
        k,
        _with(
            sample.words[k],
            stem + rng.choice([e for e in ("ed", "ing", "or", "ee", "") if stem + e != core]),
        ),
    )


@mutation
def possessive_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, lambda word: word.endswith(("'s", "’s")))
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, _with(sample.words[k], _core(sample.words[k])[:-2]))


@mutation
def cut_inside_last_word(sample: Sample, rng: random.Random) -> list[str] | None:
    core = _core(sample.words[-1])
    if not core.isalpha() or len(core) < 5:
        return None
    return [*sample.words[:-1], core[: rng.randint(2, len(core) - 1)]]


@mutation
def cut_inside_first_word(sample: Sample, rng: random.Random) -> list[str] | None:
    core = _core(sample.words[0])
    if not core.isalpha() or len(core) < 5:
        return None
    return [core[rng.randint(1, len(core) - 2) :], *sample.words[1:]]


@mutation
def name_swapped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(1, len(sample.words))
        if _core(sample.words[k])[:1].isupper() and len(_core(sample.words[k])) > 2
    ]
    names = ["Halvorsen", "Okafor", "Delacroix", "Petrov", "Nakamura", "Brightwater", "Ellison"]
    return _replace(sample, rng.choice(spots), rng.choice(names)) if spots else None


@mutation
def homoglyph(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search("[aeopc]", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    table = {"a": "а", "e": "е", "o": "о", "p": "р", "c": "с"}  # Cyrillic
    return _replace(
        sample, k, re.sub("[aeopc]", lambda m: table[m.group()], sample.words[k], count=1)
    )


@mutation
def digit_for_letter(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k for k in range(len(sample.words)) if re.search(r"(?<=\w)[lo](?=\w)", sample.words[k])
    ]
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(
        sample,
        k,
        re.sub(
            r"(?<=\w)[lo](?=\w)",
            lambda m: {"l": "1", "o": "0"}[m.group()],
            sample.words[k],
            count=1,
        ),
    )


# --- numbers --------------------------------------------------------------------------------------


def _number_spots(sample: Sample) -> list[int]:
    return [k for k in range(len(sample.words)) if re.search(r"\d", sample.words[k])]


@mutation
def digit_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _number_spots(sample)
    if not spots:
        return None
    k = rng.choice(spots)
    at = rng.choice([m.start() for m in re.finditer(r"\d", sample.words[k])])
    digit = rng.choice([d for d in "0123456789" if d != sample.words[k][at]])
    return _replace(sample, k, sample.words[k][:at] + digit + sample.words[k][at + 1 :])


@mutation
def digit_added(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _number_spots(sample)
    if not spots:
        return None
    k = rng.choice(spots)
    at = rng.choice([m.start() for m in re.finditer(r"\d", sample.words[k])])
    return _replace(
        sample, k, sample.words[k][:at] + rng.choice("123456789") + sample.words[k][at:]
    )


@mutation
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
    return _replace(sample, k, word[:at] + word[at + 1] + word[at] + word[at + 2 :])


@mutation
def number_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in _number_spots(sample)
        if 0 < k < len(sample.words) - 1 and not re.search(r"[A-Za-z]", sample.words[k])
    ]
    return _replace(sample, rng.choice(spots)) if spots else None


@mutation
def number_inserted(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(1, len(sample.words) - 1)
    return [*sample.words[:k], str(rng.randint(1, 28)), *sample.words[k:]]


@mutation
def number_word_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, _NUMBER_WORDS.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(
        sample,
        k,
        _with(
            sample.words[k],
            rng.choice([n for n in _NUMBER_WORDS if n != _core(sample.words[k]).lower()]),
        ),
    )


@mutation
def month_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if _core(sample.words[k]) in _MONTHS]
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(
        sample,
        k,
        _with(sample.words[k], rng.choice([m for m in _MONTHS if m != _core(sample.words[k])])),
    )


@mutation
def currency_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"[$€£]\d", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    sign = rng.choice(["€", "£", ""]) if k else rng.choice(["€", "£"])
    return _replace(sample, k, re.sub(r"[$€£](?=\d)", sign, sample.words[k]))


@mutation
def percent_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"\d%", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, sample.words[k].replace("%", ""))


@mutation
def decimal_moved(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"\d\.\d", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, re.sub(r"(\d)\.(\d)", r".\1\2", sample.words[k], count=1))


@mutation
def thousands_moved(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [k for k in range(len(sample.words)) if re.search(r"\d,\d{3}", sample.words[k])]
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, re.sub(r"(\d),(\d)(\d)(\d)", r"\1\2.\3\4", sample.words[k], count=1))


@mutation
def scale_dropped(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, {"million", "billion", "thousand", "hundred", "percent"}.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return list(sample.words[:k]) if k == len(sample.words) - 1 else _replace(sample, k)


@mutation
def ordinal_changed(sample: Sample, rng: random.Random) -> list[str] | None:
    ordinals = "first second third fourth fifth sixth tenth".split()
    spots = _spots(sample, ordinals.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(
        sample,
        k,
        _with(
            sample.words[k],
            rng.choice([o for o in ordinals if o != _core(sample.words[k]).lower()]),
        ),
    )


# --- splices and ellipses -------------------------------------------------------------------------


@mutation
def spliced_with_elsewhere(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(2, max(2, len(sample.words) - 2))
    return [*sample.words[:k], *sample.elsewhere[: rng.randint(3, 9)]]


@mutation
def spliced_with_foreign(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(2, max(2, len(sample.words) - 2))
    return [*sample.words[:k], *sample.foreign[: rng.randint(3, 9)]]


@mutation
def dots_swallow_negation(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(
        sample,
        lambda word: word in _NEGATIONS or word in _MODALS or word.endswith("n't"),
        inner=True,
    )
    if not spots:
        return None
    k = rng.choice(spots)
    low, high = max(4, k - rng.randint(0, 2)), min(len(sample.words) - 1, k + 1 + rng.randint(0, 2))
    after = {_core(word).lower() for word in sample.words[high:]}
    if high - low < 1 or k < low or len(sample.words) - high < 4:
        return None  # too few words left to say where they stand
    if after & {_core(word).lower() for word in sample.words[low:high]}:
        return None  # the words after the dots would stand before the negation too
    return [
        *sample.words[:low],
        rng.choice(["...", ". . .", "…", "[...]", "* * *", "[…]"]),
        *sample.words[high:],
    ]


@mutation
def dots_reverse_parts(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 8:
        return None
    k = len(sample.words) // 2
    return [*sample.words[k:], rng.choice(["...", ". . .", "…"]), *sample.words[:k]]


@mutation
def dots_join_documents(sample: Sample, rng: random.Random) -> list[str] | None:
    return [
        *sample.words[: max(3, len(sample.words) // 2)],
        rng.choice(["...", "…"]),
        *sample.foreign[:8],
    ]


@mutation
def dots_and_a_lie(sample: Sample, rng: random.Random) -> list[str] | None:
    if len(sample.words) < 9:
        return None
    k = len(sample.words) // 2
    tail = list(sample.words[k + 1 :])
    tail[rng.randrange(len(tail))] = rng.choice(sample.vocabulary)
    return [*sample.words[:k], "…", *tail]


@mutation
def dots_add_words(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(2, len(sample.words) - 1)
    return [
        *sample.words[:k],
        "…",
        rng.choice(["not", "never", "only", "allegedly"]),
        "…",
        *sample.words[k:],
    ]


# --- brackets -------------------------------------------------------------------------------------


@mutation
def bracket_hides_word(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(
        sample, lambda word: word in _MODALS or word in _NEGATIONS or word in _OPPOSITES, inner=True
    )
    if not spots:
        return None
    k = rng.choice(spots)
    core = _core(sample.words[k]).lower()
    return _replace(
        sample,
        k,
        _with(
            sample.words[k],
            f"[{_OPPOSITES.get(core, rng.choice(['permitted', 'required', 'may', 'must']))}]",
        ),
    )


@mutation
def bracket_adds_not(sample: Sample, rng: random.Random) -> list[str] | None:
    k = rng.randint(1, len(sample.words) - 1)
    return [
        *sample.words[:k],
        rng.choice(["[not]", "[never]", "[only]", "[if ever]"]),
        *sample.words[k:],
    ]


@mutation
def bracket_changes_letter(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, lambda word: word.isalpha() and len(word) > 3)
    if not spots:
        return None
    k = rng.choice(spots)
    core = _core(sample.words[k])
    letter = rng.choice([c for c in "bcdfghmnprstw" if c != core[0].lower()])
    return _replace(sample, k, f"[{letter}]{core[1:]}")


@mutation
def bracket_negates_ending(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, _AUXILIARIES.__contains__)
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, f"{_core(sample.words[k])}[n't]")


@mutation
def bracket_empty(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, lambda word: word in _NEGATIONS, inner=True)
    return _replace(sample, rng.choice(spots), "[]") if spots else None


@mutation
def sic_blesses_change(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, rng.choice(sample.vocabulary), "[sic]")


@mutation
def emphasis_hides_change(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = _spots(sample, str.isalpha)
    if not spots:
        return None
    k = rng.choice(spots)
    return _replace(sample, k, f"**{rng.choice(sample.vocabulary)}**")


# --- edges ----------------------------------------------------------------------------------------


@mutation
def starts_after_negation(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(len(sample.words) - 4)
        if _core(sample.words[k]).lower() in _NEGATIONS
        and not re.search(r"[.;:?!]", sample.words[k])
    ]
    return list(sample.words[rng.choice(spots) + 1 :]) if spots else None


@mutation
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


@mutation
def stop_cuts_exception(sample: Sample, rng: random.Random) -> list[str] | None:
    spots = [
        k
        for k in range(4, len(sample.words))
        if _core(sample.words[k]).lower() in {"unless", "except", "provided", "until", "if"}
        and not re.search(r"[.?!;:]$", sample.words[k - 1])
    ]
    if not spots:
        return None
    made = list(sample.words[: rng.choice(spots)])
    made[-1] = made[-1].rstrip(",;") + "."
    return made


@mutation
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


@mutation
def invented_head(sample: Sample, rng: random.Random) -> list[str] | None:
    return [rng.choice(["Moreover", "Never", "Allegedly", "Only", "Sometimes"]), *sample.words]
