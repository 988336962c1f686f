"""What every way to spoil a quotation starts from, and the little they share."""

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
"""The spoiled words, or None where it does not apply."""

_WORD: Final = re.compile(r"^(\W*)(\w[\w'’-]*)(\W*)$")


def core_of(word: str) -> str:
    """A word without the punctuation attached to it."""
    found = _WORD.match(word)
    return found.group(2) if found else word


def as_written(word: str, core: str) -> str:
    """Another core with the first one's punctuation and capital."""
    found = _WORD.match(word)
    if not found:
        return core
    if found.group(2)[:1].isupper():
        core = core[:1].upper() + core[1:]
    return found.group(1) + core + found.group(3)


def where(sample: Sample, fits: Callable[[str], bool], *, inner: bool = False) -> list[int]:
    """Where words stand whose core in lower case fits; ``inner`` leaves out first and last."""
    edge = 1 if inner else 0
    return [
        k for k in range(edge, len(sample.words) - edge) if fits(core_of(sample.words[k]).lower())
    ]


def exchanged(sample: Sample, k: int, *words: str) -> list[str]:
    """The quotation with other words, or none, in the place of one."""
    return [*sample.words[:k], *words, *sample.words[k + 1 :]]
