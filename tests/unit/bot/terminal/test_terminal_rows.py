"""The rows of the panes: whatever stands in them, they fit their width and obey nothing."""

from __future__ import annotations

import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import words as catalogue
from bot.blocks import cells
from bot.look import ASCII, UNICODE, Look
from bot.terminal.entries import Entry
from bot.terminal.panes import DiffRow, FindingRow, JobRow
from bot.terminal.testing import JOB, a_job
from protocol.answers import Finding, ItemKind, Verdict
from protocol.jobs import JobState

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x07\x9b\u202e\u2066\u200b\r\n\t한漢é😀\u0301"),
    ),
    max_size=80,
)
LOOKS = {
    name: Look(words=catalogue.load(language), signs=signs)
    for name, language, signs in (("en", "en", UNICODE), ("ko", "ko", ASCII))
}


def flat(lines) -> list[str]:
    return ["".join(piece.text for piece in line) for line in lines]


def fits(lines, width: int) -> None:
    for line in flat(lines):
        assert cells(line) <= width
        for character in line:
            assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
            assert character not in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"


def make_row(kind: str, text: str, look: Look):
    if kind == "finding":
        item = Finding(
            number=1,
            start=0,
            end=1,
            kind=ItemKind.QUOTE,
            verdict=Verdict.ALTERED,
            reason=text,
            diff=text,
        )
        return FindingRow(item, lambda: look)
    if kind == "job":
        job = msgspec.structs.replace(a_job(JOB, JobState.FAILED), reason=text, kind=text)
        return JobRow(job, lambda: look)
    if kind == "difference":
        return DiffRow(text, text[::-1], lambda: look)
    return Entry(text, lambda: look, on_change=lambda entry: None, ask=None)


@pytest.mark.parametrize("kind", ["finding", "job", "difference", "entry"])
@settings(max_examples=60, deadline=None)
@given(text=HOSTILE, width=st.integers(20, 130), name=st.sampled_from(sorted(LOOKS)))
def test_a_row_fits_its_width_and_shows_what_a_terminal_would_obey(kind, text, width, name):
    fits(make_row(kind, text, LOOKS[name]).lines(width), width)


def test_a_difference_names_its_words_without_colour():
    row = DiffRow("shall not be liable", "shall be liable.", lambda: LOOKS["en"])
    side_by_side = "\n".join(flat(row.lines(100)))
    assert "shall [not] be liable" in side_by_side
    assert "shall [-] be liable." in side_by_side
    below = flat(row.lines(30))
    assert below.index(" The record says") < below.index(" The reply says")


def test_many_typed_lines_are_counted():
    entry = Entry(
        "\n".join("abc" for _ in range(500)), lambda: LOOKS["en"], on_change=print, ask=None
    )
    shown = flat(entry.lines(80))
    assert sum("abc" in line for line in shown) == 8
    assert any("and 492 more lines" in line for line in shown)
