"""The words whose loss turns a sentence round, read from `danger.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Final

GROUPS: Final = ("negation", "condition", "modal", "denial", "limit")
_BLANK: Final = re.compile(r"\s+")


@cache
def _lists() -> dict[str, dict[str, tuple[str, ...]]]:
    raw = tomllib.loads(resources.files("verify").joinpath("danger.toml").read_text("utf-8"))
    return {
        group: {
            name: tuple(raw[group].get(name, ()))
            for name in ("words", "phrases", "stems", "inside")
        }
        for group in GROUPS
    }


@cache
def _words(group: str) -> frozenset[str]:
    return frozenset(_lists()[group]["words"])


@cache
def all_words() -> frozenset[str]:
    """Every dangerous word: one broken at a line end must still be known for what it is."""
    return frozenset().union(*(_words(group) for group in GROUPS))


def find_danger(keys: Sequence[str], *, groups: Iterable[str] = GROUPS) -> str | None:
    """The first dangerous word or phrase in a run of folded words; None when there is none.

    Args:
        keys: Folded words in reading order (`tokens.fold_word`).
        groups: Which lists to look in.
    """
    if not keys:
        return None
    joined = f" {' '.join(keys)} "
    dense = _BLANK.sub("", joined)
    for group in groups:
        lists = _lists()[group]
        words = _words(group)
        for key in keys:
            if key in words or (group == "negation" and is_negation(key)):
                return key
            if any(key.startswith(stem) for stem in lists["stems"]):
                return key
        for phrase in lists["phrases"]:
            if f" {phrase} " in joined:
                return phrase
        if not joined.isascii():
            for piece in lists["inside"]:
                if piece in dense:
                    return piece
    return None


def is_negation(key: str) -> bool:
    """Whether a folded word negates by itself: "not", "cannot", "isn't"."""
    if key in _words("negation") or key.endswith("n't"):
        return True
    return any(key.startswith(stem) for stem in _lists()["negation"]["stems"])
