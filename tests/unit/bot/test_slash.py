"""What a typed line means, and what may complete it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.misuse import Misuse
from bot.slash import Name, candidates, needed, parse


@pytest.mark.parametrize(
    ("line", "name", "rest"),
    [
        ("When did it leak?", Name.ASK, "When did it leak?"),
        ("/ask When?", Name.ASK, "When?"),
        ("  /FIND  Bates NG-000212 ", Name.FIND, "Bates NG-000212"),
        ("/extract dates Lease, Reeves Dep", Name.EXTRACT, "dates Lease, Reeves Dep"),
        ("/quit", Name.QUIT, ""),
        ("/help now", Name.HELP, "now"),
        # A pasted question keeps its lines.
        ("/ask\nfirst\nsecond", Name.ASK, "first\nsecond"),
        ("one\ntwo", Name.ASK, "one\ntwo"),
        # Two slashes: a question that begins with one.
        ("//var/log says what?", Name.ASK, "/var/log says what?"),
        # No such command: the word, so that it can be named.
        ("/frobnicate it", None, "frobnicate"),
        ("/", None, ""),
    ],
)
def test_lines(line, name, rest):
    typed = parse(line)
    assert typed is not None
    assert (typed.name, typed.rest) == (name, rest)


@pytest.mark.parametrize("line", ["", "   ", "\n"])
def test_white_space_asks_for_nothing(line):
    assert parse(line) is None


def test_the_full_form_is_what_a_reply_shows():
    plain, slash = parse("When?"), parse("/ASK  When?")
    assert plain is not None
    assert slash is not None
    assert plain.line == slash.line == "/ask When?"


@given(st.text(max_size=60))
def test_any_line_is_understood_or_named(line):
    typed = parse(line)
    assert typed is None or typed.name is None or isinstance(typed.name, Name)


def test_a_command_without_its_words():
    typed = parse("/find")
    assert typed is not None
    with pytest.raises(Misuse) as caught:
        needed(typed, "words")
    assert caught.value.key == "needs"


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("/ex", ["/extract", "/export"]),
        ("/chr", ["/chronology"]),
        ("/EXP", ["/export"]),
        ("/extract ", ["dates", "amounts", "parties", "facts", "all", "columns:"]),
        ("/extract d", ["dates"]),
        ("/extract dates L", []),
        ("/export m", ["md"]),
        ("/find m", []),
        ("what is /e", []),
        ("", []),
    ],
)
def test_completion(before, offered):
    assert candidates(before) == offered


def test_a_lone_slash_offers_every_command():
    assert candidates("/") == [f"/{name}" for name in Name]
