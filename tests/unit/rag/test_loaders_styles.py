"""What style sheets hide: the words stay out and are a finding, or the page is to be looked at."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.loaders import LoadOptions, markup
from rag.loaders.recognise import load_bytes
from rag.loaders.unseen import DOUBT, px
from rag.paged import FindingKind, PagedText, PlaceKind

SECRET = "pay nothing"


def read(sheet: str, body: str) -> PagedText:
    text = (
        f"<!doctype html><html><head><style>{sheet}</style></head>"
        f"<body><p>seen</p>{body}<p>too</p></body></html>"
    )
    return load_bytes(text.encode(), name="a.html", options=LoadOptions())[0]


K = f"<p class=k>{SECRET}</p>"

# The sheet, and the body that it hides words of.
HIDES = [
    (".x .y{display:none}", f"<div class=x><p><b class=y>{SECRET}</b></p></div>"),
    ("div>p{visibility:hidden}", f"<div><p>{SECRET}</p></div>"),
    ("h1+p{display:none}", f"<h1></h1><p>{SECRET}</p>"),
    ("h1~p.q{display:none}", f"<h1></h1><i></i><p class=q>{SECRET}</p>"),
    ("[data-z]{display:none}", f"<p data-z=1>{SECRET}</p>"),
    ('[class^="kk"]{display:none}', f"<p class=kkk>{SECRET}</p>"),
    ("#a.k:not(.b){display:none}", f"<p id=a class=k>{SECRET}</p>"),
    (":is(p,div).k{display:none}", K),
    ("@media screen{.k{display:none}}", K),
    ("@media print{.z{color:red}} .k{display:none}", K),
    ("p.k,.other{display:none}", K),
    ("P.k{DISPLAY:NONE}", K),
    (".k{display:none!important} p.k{display:block}", K),
    (".k{display:block} p.k{display:none}", K),
    (".k{display:/*x*/none}", K),
    (".k{dis\\70lay:none}", K),
    (":root{--d:none}.k{display:var(--d)}", K),
    (".k{display:var(--unset,none)}", K),
    (".k{display:none", K),
    (".k{opacity:.01}", K),
    (".k{filter:opacity(0)}", K),
    (".k{content-visibility:hidden}", K),
    (".k{mso-hide:all}", K),
    (".k{font:0/0 a}", K),
    (".k{font-size:.1em}", K),
    (".k{font-size:1pt}", K),
    (".k{color:#fefefe}", K),
    (".k{color:hsl(0,0%,100%)}", K),
    (".k{color:rgba(0,0,0,0.0)}", K),
    (".k{color:#0000}", K),
    (".k{-webkit-text-fill-color:transparent}", K),
    ("body{background:#123456}.k{color:#133457}", K),
    (".k{position:absolute;left:-100vw}", K),
    (".k{position:fixed;right:-9999px}", K),
    (".k{text-indent:-100%}", K),
    (".k{transform:translateX(-9999px)}", K),
    (".k{transform:scale(0)}", K),
    (".k{clip:rect(0,0,0,0)}", K),
    (".k{clip-path:inset(50%)}", K),
    (".k{clip-path:circle(0)}", K),
    (".k{width:0;overflow:hidden}", K),
    (".k{max-height:0}", K),
    ("", f"<dialog>{SECRET}</dialog>"),
    ("", f'<p hidden="until-found">{SECRET}</p>'),
    ("", f'<p style="display:none">{SECRET}</p>'),
]


@pytest.mark.parametrize(("sheet", "body"), HIDES)
def test_words_that_no_browser_shows(sheet: str, body: str) -> None:
    paged = read(sheet, body)
    assert paged.text == "seen\ntoo"
    assert [found.text for found in paged.findings] == [SECRET]
    assert not paged.pages[0].readers_disagree


# The sheet, and the body all of whose words it shows.
SHOWS = [
    ("@media print{.k{display:none}}", K),
    (".k:hover{display:none}", K),
    (".k::before{display:none}", K),
    (".k{display:none} p.k{display:block}", K),
    (".k{display:none}", f'<p class=k style="display:block">{SECRET}</p>'),
    (".k{display:block!important}", f'<p class=k style="display:none">{SECRET}</p>'),
    ("div>.k{display:none}", f"<div><i><b class=k>{SECRET}</b></i></div>"),
    (".k:not(p){display:none}", K),
    ("[data-z=2]{display:none}", f"<p data-z=1>{SECRET}</p>"),
    ("body{background:navy}.k{color:white} p{color:white}", K),
    (".k{color:#ccc}", K),
    (".k{opacity:.5;font-size:8px;left:-20px;width:0}", K),
    (".k{display:var(--unset)}", K),
    ('.k{content:"}.k{display:none}"}', K),
    ("/* .k{display:none} */", K),
    ("@font-face{font-family:k;src:url(k)} @import 'x.css';", K),
]


@pytest.mark.parametrize(("sheet", "body"), SHOWS)
def test_words_that_show_are_not_called_hidden(sheet: str, body: str) -> None:
    paged = read(sheet, body)
    assert paged.text == f"seen\n{SECRET}\ntoo"
    assert not paged.findings
    assert not paged.pages[0].readers_disagree


# What depends on what is not known here: the words stay, and the page is to be looked at.
DOUBTFUL = [
    ("p:nth-child(2){display:none}", K),
    ("@media (max-width:600px){.k{display:none}}", K),
    ("@supports (display:grid){.k{display:none}}", K),
    ("body{background:url(x.png)}.k{color:white}", K),
]


@pytest.mark.parametrize(("sheet", "body"), DOUBTFUL)
def test_words_that_may_be_hidden_are_to_be_looked_at(sheet: str, body: str) -> None:
    paged = read(sheet, body)
    assert SECRET in paged.text
    assert paged.pages[0].readers_disagree
    assert paged.pages[0].reason == DOUBT


def test_conditions_that_hide_nothing_leave_no_doubt() -> None:
    paged = read("p:first-child{color:red} @media (max-width:6px){.k{width:100%}}", K)
    assert not paged.pages[0].readers_disagree


def test_sheets_that_are_kept_elsewhere_are_said() -> None:
    link = '<link rel="stylesheet" href="x.css">'
    assert any("kept elsewhere" in one for one in read("", link).warnings)
    assert not read("", "<p>x</p>").warnings


def test_sheets_that_cost_too_much_leave_the_page_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.loaders.styles._MOST_TRIES", 50)
    sheet = "".join(f".k .a{n}{{color:red}} .k{{left:{n}px}}" for n in range(100))
    paged = read(sheet, K)
    assert not paged.readable
    assert "style sheets" in paged.pages[0].reason


def test_an_element_of_very_many_attributes_is_not_parsed() -> None:
    words = " ".join(f'a{n}="x"' for n in range(5_000))
    paged = read("", f"<p {words}>words</p>")
    assert "attributes" in paged.pages[0].reason


def test_many_elements_cost_no_more_each() -> None:
    """One piece of text per element, joined once: offsets still are where the words are."""
    paged = read("", "".join(f"<h2>H{n}</h2> <b>word</b> tail " for n in range(2_000)))
    for place in paged.places_of(PlaceKind.HEADING):
        assert paged.text[place.start : place.end].strip() == place.label


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab.#>+~*[]()=\"':;{}@,-/\\ \n!0px", max_size=80))
def test_any_sheet_is_read_without_a_crash(sheet: str) -> None:
    page, _ = markup.page_of(f"<style>{sheet.replace('<', '')}</style><p class=a id=b>words</p>")
    hidden = " ".join(found.text for found in page.findings)
    assert "words" in f"{page.text} {hidden}"


@pytest.mark.parametrize(
    ("said", "is_px"),
    [
        ("12px", 12),
        ("9pt", 12),
        ("2em", 20),
        ("1rem", 16),
        ("50%", 600),
        ("-1in", -96),
        ("x", None),
    ],
)
def test_lengths(said: str, is_px: float | None) -> None:
    assert px(said, 10) == is_px


def test_findings_of_html_are_hidden_text() -> None:
    assert {found.kind for found in read(".k{display:none}", K).findings} == {
        FindingKind.HIDDEN_TEXT
    }
