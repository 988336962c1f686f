"""The two catalogues say the same things with the same blanks, and every sentence is used."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

import bot
from bot import words as catalogue
from bot.slash import Name
from protocol.answers import ReviewState, Verdict
from protocol.jobs import JobState

EN, KO = catalogue.load("en"), catalogue.load("ko")
SOURCE = "\n".join(file.read_text("utf-8") for file in sorted(Path(bot.__path__[0]).rglob("*.py")))


def blanks(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_both_languages_hold_the_same_sentences():
    assert EN.keys == KO.keys


@pytest.mark.parametrize("key", sorted(EN.keys))
def test_the_blanks_of_a_sentence_are_the_same(key):
    assert blanks(EN.raw(key)) == blanks(KO.raw(key))
    assert EN.raw(key).strip()
    assert KO.raw(key).strip()


def test_every_word_that_is_made_from_a_value_is_there():
    for words in (EN, KO):
        for verdict in set(Verdict) - {Verdict.NOT_A_QUOTE}:
            words(f"verdict.{verdict.value}")
        for state in ReviewState:
            words(f"state.{state.value}")
        for state in JobState:
            words(f"job_state.{state.value}")
        for name in Name:
            words(f"help.{name}")


def test_no_sentence_is_left_over():
    made = {"verdict", "state", "job_state", "help", "tag", "usage", "duration"}
    for key in EN.keys:
        group, _, rest = key.partition(".")
        if group in made and rest:
            name = re.escape(rest if group == "usage" else key)
            alive = group in ("verdict", "state", "job_state", "help", "duration")
            assert alive or re.search(rf"[\"']{name}[\"']", SOURCE), key
        else:
            assert f'"{key}"' in SOURCE or f"'{key}'" in SOURCE, key


def test_help_names_no_command_that_is_not_there():
    helped = {key.removeprefix("help.") for key in EN.keys if key.startswith("help.")}
    assert helped - {"title", "plain", "filters"} == {name.value for name in Name}


def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError):
        catalogue.load("fr")


@pytest.mark.parametrize(
    ("number", "english"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (102, "102nd"), (111, "111th"), (113, "113th")],
)  # fmt: skip
def test_places_in_line(number, english):
    assert EN.ordinal(number) == english
    assert KO.ordinal(number) == f"{number}번째"


@pytest.mark.parametrize(
    ("seconds", "english"),
    [
        (0, "0 s"),
        (0.04, "0 s"),
        (0.05, "0.1 s"),
        (4.1, "4.1 s"),
        (40, "40 s"),
        (99.94, "99.9 s"),
        (99.96, "1 min 40 s"),
        (119.6, "2 min 00 s"),
        (3_599.4, "59 min 59 s"),
        (3_599.6, "1 h 00 min"),
        (3_600, "1 h 00 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_lengths_of_time(seconds, english):
    assert EN.duration(seconds) == english
