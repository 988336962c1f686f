"""The bot's sentences in a language: a catalogue of its own beside this file."""

from __future__ import annotations

import tomllib
from importlib import resources

from bot.words import Words


def load(language: str) -> Words:
    """The catalogue of a language.

    Raises:
        FileNotFoundError: There is none; settings let no other language through.
    """
    text = resources.files("bot.guild").joinpath(f"{language}.toml").read_text("utf-8")
    return Words(language, tomllib.loads(text))
