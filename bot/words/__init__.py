"""The face's sentences, in English and Korean: one catalogue a language, same keys, same blanks.

Code names a sentence by its key; the sentence stands in ``en.toml`` and ``ko.toml`` beside this
file. JSON output and logs do not use it: they are English.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any, Final

LANGUAGES: Final = ("en", "ko")

_MINUTE_S: Final = 60
_HOUR_S: Final = 3600


class Words:
    """The sentences of one language."""

    def __init__(self, language: str, sentences: dict[str, str]) -> None:
        self.language = language
        self._sentences = sentences

    def __call__(self, key: str, /, **blanks: object) -> str:
        """The sentence ``key`` with its blanks filled.

        Raises:
            KeyError: There is no such sentence, or a blank is not given: our mistake.
        """
        return self._sentences[key].format_map(blanks)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of every sentence."""
        return frozenset(self._sentences)

    def raw(self, key: str) -> str:
        """The sentence with its blanks open."""
        return self._sentences[key]

    def ordinal(self, number: int) -> str:
        """A place in a line: "2nd", "2번째"."""
        if self.language != "en":
            return self("ordinal", number=number)
        teen = 10 <= number % 100 <= 20
        ending = "th" if teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        return f"{number}{ending}"

    def duration(self, seconds: float) -> str:
        """A length of time as people say it: "0 s", "4.1 s", "40 s", "2 min 05 s", "1 h 10 min"."""
        if seconds < 0.05:
            return self("duration.s", s="0")
        if seconds < 99.95:
            tenths = f"{seconds:.1f}".removesuffix(".0")
            return self("duration.s", s=tenths)
        whole = round(seconds)
        if whole < _HOUR_S:
            return self("duration.min", min=whole // _MINUTE_S, s=whole % _MINUTE_S)
        minutes = round(seconds / _MINUTE_S)
        return self("duration.h", h=minutes // _MINUTE_S, min=minutes % _MINUTE_S)


def load(language: str) -> Words:
    """The catalogue of a language.

    Raises:
        ValueError: There is no catalogue of that language.
    """
    if language not in LANGUAGES:
        raise ValueError("no catalogue of that language")
    text = resources.files(__name__).joinpath(f"{language}.toml").read_text("utf-8")
    return Words(language, dict(_flat(tomllib.loads(text), "")))


def _flat(table: dict[str, Any], prefix: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        pairs += _flat(value, f"{name}.") if isinstance(value, dict) else [(name, str(value))]
    return pairs
