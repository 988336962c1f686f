"""Printing: progress in one place on a terminal, lines elsewhere; pages with the passage lit."""

from __future__ import annotations

import io
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import words as catalogue
from bot.blocks import Piece, Tone, cells, lay_out, paragraph, plain
from bot.config import Settings
from bot.look import ASCII, UNICODE, Look
from bot.progress import Watch
from bot.sources import page_blocks
from bot.terminal.screen import Screen
from protocol.ids import DocumentId
from protocol.jobs import SourcePage
from protocol.record import DocumentClass, DocumentInfo, PageInfo, Reading

ENGLISH = catalogue.load("en")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def a_watch(line: str, *, stage: str = "reading", live: str = "") -> Watch:
    watch = Watch(ENGLISH)
    watch.line, watch.stage = line, stage
    if live:
        watch._parts[1] = live
    return watch


@pytest.fixture
def term(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


# --- screen ---------------------------------------------------------------------------------------


def test_on_a_terminal_progress_is_replaced_and_gone_before_the_reply(term):
    screen = Screen(ENGLISH, Settings(), term)
    screen.progress(a_watch("reading (1 %)"))
    screen.progress(a_watch("reading (99 %)"))
    screen.show([paragraph(Piece("the reply"))])
    seen = term.getvalue()
    assert "\x1b[2K" in seen  # the line was erased
    assert seen.index("reading (99 %)") < seen.rindex("\x1b[2K") < seen.index("the reply")
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h") == 1  # the cursor is back


def test_live_text_is_marked_unverified_and_cannot_steer(term):
    screen = Screen(ENGLISH, Settings(), term)
    screen.progress(a_watch("writing", live="Northgate\x1b[2J knew \u202eton"))
    screen.settle()
    seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", term.getvalue())
    assert "unverified" in seen
    assert "Northgate⟨U+001B⟩[2J knew ⟨U+202E⟩ton" in seen.replace("\n   ", " ")


def test_elsewhere_each_stage_is_said_once():
    out = io.StringIO()
    screen = Screen(ENGLISH, Settings(), out)
    for percent in (1, 2, 3):
        screen.progress(a_watch(f"reading ({percent} %)"))
    screen.progress(a_watch("checking", stage="checking"))
    assert out.getvalue() == " .. reading (1 %)\n .. checking\n"
    assert screen.look.width == 100


def test_colours_only_on_a_terminal(term):
    block = paragraph(Piece("[1 ✔]", Tone.GREEN, whole=True))
    Screen(ENGLISH, Settings(), term).show([block])
    assert "\x1b[32m[1 ✔]\x1b[0m" in term.getvalue()
    out = io.StringIO()
    Screen(ENGLISH, Settings(), out).show([block])
    assert out.getvalue() == " [1 ✔]\n"


def test_markup_and_emoji_codes_in_text_are_text(term):
    out = io.StringIO()
    Screen(ENGLISH, Settings(), out).show([paragraph(Piece("[red]x[/red] :smile: [link=a]b"))])
    assert out.getvalue() == " [red]x[/red] :smile: [link=a]b\n"


@pytest.mark.parametrize(
    ("signs", "encoding", "wanted"),
    [
        ("auto", "utf-8", UNICODE),
        ("auto", "ascii", ASCII),
        ("auto", "cp437", ASCII),
        ("auto", "no-such-encoding", ASCII),
        ("ascii", "utf-8", ASCII),
        ("unicode", "ascii", UNICODE),
    ],
)
def test_signs_follow_the_encoding(signs, encoding, wanted):
    out = io.StringIO()
    out = type("Out", (io.StringIO,), {"encoding": encoding})()
    assert Screen(ENGLISH, Settings(signs=signs), out).look.signs == wanted


def test_the_width_is_the_terminals_or_the_settings(term):
    assert Screen(ENGLISH, Settings(), term).look.width == 60
    assert Screen(ENGLISH, Settings(width=90), term).look.width == 90


# --- pages ----------------------------------------------------------------------------------------


def a_page(text: str, **more: object) -> SourcePage:
    document = DocumentInfo(
        id=DocumentId("d1"),
        title="Reeves Dep.",
        name="Reeves Dep.pdf",
        kind="pdf",
        document_class=DocumentClass.EVIDENCE,
        text_sha256="t1",
        chars=1_000,
        pages=4,
    )
    page = PageInfo(
        number=3,
        start=100,
        end=100 + len(text),
        label=None,
        bates=None,
        reading=Reading.TEXT,
        confidence=None,
        readers_disagree=False,
        reason="",
    )
    return SourcePage(document=document, page=msgspec.structs.replace(page, **more), text=text)


def lit(blocks, look) -> str:
    lines = lay_out(blocks, look.width)
    return "".join(p.text for line in lines for p in line if p.tone is Tone.LIT)


def test_a_passage_over_two_lines_is_lit_on_both(make_cite, look):
    text = "one two\nthree four\nfive"
    place = make_cite("Dep. 3:1-2", words="two\nthree", start=104, page=3)
    blocks = page_blocks(a_page(text), place, look)
    assert lit(blocks, look) == "▌ two▌ three"
    assert plain(blocks, 80).splitlines()[3:] == [" ▌ one two", " ▌ three four", "   five"]


def test_a_passage_that_began_on_the_page_before(make_cite, look):
    place = make_cite("Dep. 2:25-3:1", words="x" * 8, start=95, page=2)
    assert lit(page_blocks(a_page("one two"), place, look), look) == "▌ one"


@pytest.mark.parametrize("start", [0, 900])
def test_a_passage_on_another_page_lights_nothing(make_cite, look, start):
    place = make_cite("Dep. 9:1", words="x", start=start)
    assert lit(page_blocks(a_page("one two"), place, look), look) == ""


def test_a_page_that_was_read_again_says_so(make_cite, look):
    place = msgspec.structs.replace(make_cite("Dep. 3:1", start=100), text_sha256="t0")
    assert "the lit place may be off" in plain(page_blocks(a_page("one"), place, look), 100)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"label": "12", "bates": "NG-000213"}, "page 3 of 4 · printed page 12 · NG-000213"),
        ({"label": "3"}, "page 3 of 4\n"),
        ({"reading": Reading.UNREADABLE, "reason": "no text layer"}, "not be read: no text layer"),
        ({"reading": Reading.OCR, "confidence": 0.71}, "Read by OCR at 71 %"),
        ({"reason": "two readers disagree"}, "\n two readers disagree\n"),
    ],
)
def test_what_is_doubtful_about_a_page_is_said(look, more, said):
    assert said in plain(page_blocks(a_page("one", **more), None, look), 100)


def test_an_empty_page_says_so(look):
    assert "(no text on this page)" in plain(page_blocks(a_page(" \n"), None, look), 100)


def test_without_signs_the_lit_lines_are_pointed_at(make_cite, look):
    place = make_cite("Dep. 3:1", words="one", start=100)
    ascii_look = msgspec.structs.replace(look, signs=ASCII)
    assert " > one" in plain(page_blocks(a_page("one"), place, ascii_look), 100)


@given(
    text=st.text(alphabet=st.characters(), max_size=120),
    start=st.integers(min_value=0, max_value=260),
    length=st.integers(min_value=0, max_value=150),
    width=st.integers(min_value=20, max_value=120),
)
def test_any_page_can_be_shown_and_fits(make_cite, text, start, length, width):
    look = Look(words=ENGLISH, width=width)
    place = make_cite("Dep.", words="x" * length, start=start, page=3)
    for line in plain(page_blocks(a_page(text), place, look), width).splitlines():
        assert cells(line) <= width
