"""Blocks fit their width in cells; messages fit their limit and keep marks with their sentence."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.blocks import Block, Piece, Tone, blank, cells, lay_out, paragraph, plain, split, wrapped
from bot.visible import visible

WORDS = st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "M"]), max_size=12)
PROSE = st.lists(WORDS, max_size=30).map(" ".join).map(visible)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 20, [""]),
        ("one two three", 20, ["one two three"]),
        ("one two three", 8, ["one two", "three"]),
        # A word longer than a line is cut between characters.
        ("abcdefghij kl", 4, ["abcd", "efgh", "ij", "kl"]),
        # Hangul and Hanja take two cells each.
        ("누수를 보고하였다", 8, ["누수를", "보고하였", "다"]),
        ("大法院判決", 4, ["大法", "院判", "決"]),
        # A wide character that would stick out by half goes to the next line.
        ("a누수", 4, ["a누", "수"]),
        # A combining accent stays with its letter.
        ("cafe\u0301s", 4, ["cafe\u0301", "s"]),
        # Spaces inside a line are kept, those at its ends are not.
        ("  a  b  ", 8, ["a  b"]),
    ],
)
def test_words_wrap_in_cells(text, width, lines):
    assert wrapped(text, width) == lines


def test_a_whole_piece_is_never_broken():
    block = paragraph(Piece("x" * 14 + " "), Piece("[12 ≈]", Tone.AMBER, whole=True))
    assert plain([block], 20) == f" {'x' * 14}\n [12 ≈]\n"


def test_indent_and_hang():
    block = paragraph(Piece("one two three four five"), indent=2, hang=6)
    assert plain([block], 20) == "  one two three four\n      five\n"


def test_a_page_keeps_its_spaces_and_loses_nothing():
    block = Block(sentences=((Piece("10  A.  " + "x" * 20),),), as_is=True)
    assert plain([block], 20) == f" 10  A.  {'x' * 11}\n {'x' * 9}\n"


def test_tones_survive_wrapping():
    block = paragraph(Piece("plain "), Piece("lit words here", Tone.LIT), Piece(" after"))
    lines = lay_out([block], 20)
    assert [[p.text for p in line if p.tone is Tone.LIT] for line in lines] == [
        ["lit words"],
        ["here"],
    ]


@given(PROSE, st.integers(min_value=20, max_value=90))
def test_no_line_is_wider_than_asked_and_no_word_is_lost(text, width):
    lines = plain([paragraph(Piece(text))], width).splitlines()
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(PROSE, st.integers(min_value=20, max_value=90))
def test_a_page_line_is_cut_only_at_the_width_and_only_a_space_may_stand_at_the_cut(text, width):
    block = Block(sentences=((Piece(text),),), indent=0, hang=0, as_is=True)
    lines = ["".join(piece.text for piece in line) for line in lay_out([block], width)]
    at = 0
    for line in lines:
        if not text.startswith(line, at) or (not line and text[at:]):
            assert text[at] == " "
            at += 1
        assert text.startswith(line, at)
        at += len(line)
    assert at == len(text)
    assert all(cells(line) <= width for line in lines)


def test_a_page_line_does_not_begin_with_the_space_at_which_it_was_cut():
    block = Block(sentences=((Piece("a" * 19 + " plan room"),),), as_is=True)
    assert plain([block], 20) == f" {'a' * 19}\n plan room\n"


# --- messages -------------------------------------------------------------------------------------


def sentence(text: str, *marks: int) -> tuple[Piece, ...]:
    pieces = [Piece(text)]
    for number in marks:
        pieces += [Piece(" "), Piece(f"[{number} ✔]", Tone.GREEN, whole=True)]
    return (*pieces, Piece(" "))


def test_messages_are_cut_between_sentences_and_marks_stay():
    block = Block(sentences=tuple(sentence(f"Sentence number {n}.", n) for n in range(1, 7)))
    messages = split([block], 60)
    assert messages == [
        "Sentence number 1. [1 ✔] Sentence number 2. [2 ✔]",
        "Sentence number 3. [3 ✔] Sentence number 4. [4 ✔]",
        "Sentence number 5. [5 ✔] Sentence number 6. [6 ✔]",
    ]


def test_a_sentence_longer_than_a_message_keeps_its_mark_at_its_end():
    messages = split([Block(sentences=(sentence("word " * 20 + "end.", 7),))], 50)
    assert messages[-1].endswith("end. [7 ✔]")
    assert all(len(message) <= 50 for message in messages)


def test_blocks_are_lines_and_blank_ones_part_them():
    assert split([paragraph(Piece("a")), blank(), paragraph(Piece("b"))], 50) == ["a\n\nb"]


SENTENCES = st.lists(
    st.tuples(
        st.text(alphabet="abc누수. \n", min_size=1, max_size=140),
        st.lists(st.integers(min_value=1, max_value=99), max_size=3),
    ),
    max_size=12,
)


@given(SENTENCES, st.integers(min_value=50, max_value=200))
def test_messages_fit_and_lose_nothing_and_keep_every_mark_whole(drawn, limit):
    block = Block(sentences=tuple(sentence(text, *marks) for text, marks in drawn))
    messages = split([block], limit)
    assert all(0 < len(message) <= limit for message in messages)
    wanted = "".join(text + "".join(f"[{n} ✔]" for n in marks) for text, marks in drawn)
    assert "".join("".join(messages).split()) == "".join(wanted.split())
    found = [hit for message in messages for hit in re.findall(r"\[\d+ ✔\]", message)]
    assert found == [f"[{n} ✔]" for _, marks in drawn for n in marks]


@given(st.lists(st.lists(st.sampled_from(["aa", "bbb", "누수"]), min_size=1), max_size=8))
def test_a_mark_stands_in_the_message_that_ends_its_sentence(drawn):
    block = Block(
        sentences=tuple(sentence(" ".join(words) + f" end{n}.", n) for n, words in enumerate(drawn))
    )
    messages = split([block], 60)
    for n in range(len(drawn)):
        assert sum(f"end{n}. [{n} ✔]" in message for message in messages) == 1
