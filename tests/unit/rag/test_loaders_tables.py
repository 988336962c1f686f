"""HTML, workbooks, CSV."""

from __future__ import annotations

import datetime as dt
import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.comments import Comment
from openpyxl.styles import Font

from protocol.record import Reading
from rag.loaders import LoadOptions, load, markup, sheet
from rag.loaders.recognise import load_bytes
from rag.loaders.sheet import shown
from rag.paged import FindingKind, PagedText, PlaceKind

_AFTERNOON = dt.datetime(2024, 3, 5, 14, 30)  # noqa: DTZ001 - a workbook has no time zones


def read(tmp_path: Path, data: bytes, name: str) -> PagedText:
    path = tmp_path / name
    path.write_bytes(data)
    return load(path)[0]


def page(body: str, head: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()


def test_html_shows_lines_tables_and_headings(tmp_path: Path) -> None:
    paged = read(
        tmp_path,
        page(
            "<h1>Lease</h1><p>The rent\n is <b>$100</b>,<br>monthly.</p>"
            "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
            "<title>T &amp; L</title>",
        ),
        "a.html",
    )
    assert paged.kind == "html"
    assert paged.title == "T & L"
    assert paged.text == "Lease\nThe rent is $100,\nmonthly.\na\tb\nc"
    assert [place.label for place in paged.places_of(PlaceKind.HEADING)] == ["Lease"]


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display: none">SECRET</div>',
        '<span style="visibility:hidden">SECRET</span>',
        "<p hidden>SECRET</p>",
        '<p class="gone">SECRET</p>',
        '<p id="x">SECRET</p>',
        '<span style="font-size:0px">SECRET</span>',
        '<span style="color:#fff">SECRET</span>',
        '<font color="white">SECRET</font>',
        '<div style="position:absolute; left:-9999px">SECRET</div>',
        '<span style="opacity:0">SECRET</span>',
        '<div style="background:navy"><span style="color: navy">SECRET</span></div>',
        '<div style="height:0; overflow:hidden">SECRET</div>',
    ],
)
def test_html_that_is_not_shown(tmp_path: Path, hidden: str) -> None:
    style = "<style>.gone { display:none } #x{visibility : hidden}</style>"
    paged = read(tmp_path, page(f"<p>seen</p>{hidden}<p>too</p>", style), "a.html")
    assert paged.text == "seen\ntoo"
    assert [found.text for found in paged.findings] == ["SECRET"]


def test_html_white_on_navy_shows(tmp_path: Path) -> None:
    body = '<div style="background-color:navy"><p style="color:white">seen</p></div>'
    paged = read(tmp_path, page(body), "a.html")
    assert paged.text == "seen"
    assert not paged.findings


def test_html_scripts_and_comments_are_no_words(tmp_path: Path) -> None:
    body = "<!-- no --><script>no()</script><p>yes</p><noscript>no</noscript>"
    assert read(tmp_path, page(body), "a.html").text == "yes"


def test_html_states_its_encoding(tmp_path: Path) -> None:
    data = '<html><head><meta charset="euc-kr"></head><body>계약서</body></html>'.encode("euc-kr")
    assert read(tmp_path, data, "a.html").text == "계약서"


@pytest.mark.parametrize("depth", [200, 450, 900, 5000])
def test_html_nested_deeply_is_read_or_says_so(tmp_path: Path, depth: int) -> None:
    body = "<div>" * depth + "deep words" + "</div>" * depth + "<p>after</p>"
    paged = read(tmp_path, page(f"<p>before</p>{body}"), "a.html")
    if paged.readable:
        assert paged.text == "before\ndeep words\nafter"
    else:
        assert "nested" in paged.pages[0].reason
    assert paged.readable is (depth < 480)


def test_html_words_our_walk_would_miss_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = page("<p>seen</p><section>" + "lost words " * 20 + "</section>")
    assert not read(tmp_path, data, "a.html").pages[0].readers_disagree
    monkeypatch.setattr(markup, "_NEVER", markup._NEVER | {"section"})
    assert read(tmp_path, data, "a.html").pages[0].readers_disagree


def test_cells_our_reader_would_miss_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(book: Any) -> None:
        for row in range(1, 40):
            book.active.append([row, "words"])

    data = workbook(fill)
    assert not read(tmp_path, data, "a.xlsx").pages[0].readers_disagree
    whole = sheet._cells
    monkeypatch.setattr(sheet, "_cells", lambda one: whole(one)[:-10])
    assert read(tmp_path, data, "a.xlsx").pages[0].readers_disagree


@given(st.text(max_size=120))
def test_any_html_reads_without_a_crash(text: str) -> None:
    data = b"<html><body>" + text.encode("utf-8", "replace") + b"</body></html>"
    assert load_bytes(data, name="a.html", options=LoadOptions())[0].pages


def workbook(fill: Any) -> bytes:
    book = openpyxl.Workbook()
    fill(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_sheets_are_pages_and_cells_have_addresses(tmp_path: Path) -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        sheet.title = "Invoices"
        sheet["A1"], sheet["B1"] = "Date", "Sum"
        sheet["A2"], sheet["B2"] = dt.date(2024, 3, 5), 3850
        sheet["B2"].number_format = "$#,##0.00"
        sheet["B2"].comment = Comment("paid late", "Osei")
        book.create_sheet("Notes")["C3"] = "see lease"

    paged = read(tmp_path, workbook(fill), "a.xlsx")
    assert paged.text == ("Date\tSum\n2024-03-05\t$3,850.00\n[Comment on B2: paid late]\fsee lease")
    assert [page.label for page in paged.pages] == ["Invoices", "Notes"]
    cells = {p.label: paged.text[p.start : p.end] for p in paged.places_of(PlaceKind.CELL)}
    assert cells["Invoices!B2"] == "$3,850.00"
    assert cells["Notes!C3"] == "see lease"


def test_hidden_sheets_rows_columns_and_white_cells(tmp_path: Path) -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        sheet.title = "Seen"
        sheet["A1"], sheet["A2"], sheet["B1"], sheet["C1"] = "seen", "row", "column", "white"
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["B"].hidden = True
        sheet["C1"].font = Font(color="FFFFFFFF")
        gone = book.create_sheet("Gone")
        gone["A1"] = "sheet"
        gone.sheet_state = "veryHidden"

    paged = read(tmp_path, workbook(fill), "a.xlsx")
    assert paged.text == "seen\f"
    assert {found.text for found in paged.findings} == {"row", "column", "white", "sheet"}
    assert {found.kind for found in paged.findings} == {FindingKind.HIDDEN_SHEET}
    assert paged.pages[1].reading is Reading.UNREADABLE
    assert paged.pages[1].reason


def test_formulas_without_a_stored_result_are_said(tmp_path: Path) -> None:
    def fill(book: Any) -> None:
        book.active["A1"] = 1
        book.active["A2"] = "=A1*2"

    paged = read(tmp_path, workbook(fill), "a.xlsx")
    assert any("A2" in warning for warning in paged.warnings)


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (0.175, "0.0%", "17.5%"),
        (-1234.5, "$#,##0.00", "-$1,234.50"),
        (1234567, "#,##0", "1,234,567"),
        (3.0, "General", "3"),
        (True, "General", "TRUE"),
        (_AFTERNOON, "General", "2024-03-05 14:30:00"),
        ("two\nlines\tand", "General", "two lines and"),
    ],
)
def test_cells_show_as_in_the_sheet(value: object, form: str, text: str) -> None:
    assert shown(value, form) == text


def test_csv_keeps_its_text_and_addresses_cells(tmp_path: Path) -> None:
    text = 'date;sum;note\n2024-03-05;"3.850,00";"a ""quoted""; note\nover lines"\n2024-03-06;1;x\n'
    paged = read(tmp_path, text.encode(), "a.csv")
    assert paged.text == text
    cells = {p.label: paged.text[p.start : p.end] for p in paged.places_of(PlaceKind.CELL)}
    assert cells["B2"] == '"3.850,00"'
    assert cells["C2"].endswith('over lines"')
    assert cells["A3"] == "2024-03-06"


@given(st.text(alphabet='ab,;"\n\t ', max_size=80))
def test_csv_cells_never_overlap(text: str) -> None:
    paged = load_bytes(text.encode(), name="a.csv", options=LoadOptions())[0]
    places = paged.places_of(PlaceKind.CELL)
    assert all(one.end <= two.start for one, two in pairwise(places))
    assert len({place.label for place in places}) == len(places)
