"""Text from a case cannot steer a terminal: what it would obey is shown instead."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.visible import one_line, visible

ANY_TEXT = st.text(alphabet=st.characters(), max_size=60)  # lone surrogates included


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Ordinary words of three scripts pass through.
        ("Tenant shall pay $18,400.00 — “on time”.", "Tenant shall pay $18,400.00 — “on time”."),
        ("갑 제3호증의 1, 大法院 判決", "갑 제3호증의 1, 大法院 判決"),
        # A colour, a cursor move, a title change: the escape is shown, its rest is plain text.
        ("\x1b[31mred", "⟨U+001B⟩[31mred"),
        ("\x1b]0;title\x07", "⟨U+001B⟩]0;title⟨U+0007⟩"),
        # The one-byte form of the same.
        ("\x9b2J", "⟨U+009B⟩2J"),
        # A lone carriage return would write over the line.
        ("paid\rnot paid", "paid⟨U+000D⟩not paid"),
        ("one\r\ntwo", "one\ntwo"),
        ("a\tb", "a    b"),
        # Bidi overrides and isolates turn words around.
        ("shall \u202eton", "shall ⟨U+202E⟩ton"),
        ("\u2066x\u2069\u061c", "⟨U+2066⟩x⟨U+2069⟩⟨U+061C⟩"),
        # Invisible characters hide words from search and from eyes.
        ("not\u200b, \ufeffor\u00ad", "not⟨U+200B⟩, ⟨U+FEFF⟩or⟨U+00AD⟩"),
        ("\U000e0041\U000e0042", "⟨U+E0041⟩⟨U+E0042⟩"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        # Half a surrogate pair cannot even be printed.
        ("\ud83d", "⟨U+D83D⟩"),
        # A family emoji keeps its joiners; a joiner elsewhere is shown.
        ("\U0001f469\u200d\U0001f467", "\U0001f469\u200d\U0001f467"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("\u200d", "⟨U+200D⟩"),
        # A tower of accents would paint over the lines above.
        ("e" + "\u0301" * 8, "e" + "\u0301" * 6 + "⟨U+0301⟩" * 2),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text, shown):
    assert visible(text) == shown


def test_without_the_signs_code_points_stand_in_ascii():
    assert visible("\u202e\x1b", ascii_only=True) == "<U+202E><U+001B>"


def test_one_line_keeps_what_is_not_space():
    assert one_line(" a \n\n b\x0bc ") == "a b⟨U+000B⟩c"


@given(ANY_TEXT)
def test_nothing_that_steers_is_left(text):
    for character in visible(text).replace("\u200d", ""):
        assert character == "\n" or unicodedata.category(character)[0] not in "C"
        assert unicodedata.category(character) not in ("Zl", "Zp")


@given(ANY_TEXT)
def test_what_is_shown_can_be_printed_and_shown_again(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=60))
def test_printable_text_is_unchanged(text):
    assert visible(text) == text
