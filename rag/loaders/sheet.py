"""Workbooks and CSV: one page a sheet, one line a row, every cell with its address.

A cell's text is its value as calculated when the file was saved. Hidden sheets, rows and columns
are findings and stay out of the text; a hidden sheet keeps its page number, so that page 3 is the
third sheet whether the second one shows or not.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
import warnings
from typing import Any

import openpyxl
from openpyxl.styles.colors import COLOR_INDEX

from rag.loaders import archive, second
from rag.loaders.hidden import without_unseen
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Unread
from rag.loaders.textual import decode, unix_lines
from rag.paged import FindingKind, PlaceKind

MOST_CELLS = 500_000
MOST_CHARS = 50_000_000
_SEEN_POINTS = 1.0
_SEEN_CHARS = 0.1
"""Height of a row, and width of a column in characters, below which nothing of it is seen."""
_EMPTY_FORMAT = re.compile(r"^(?:\[[^\]]*\])?(?:\s|\"\s*\")*;(?:\[[^\]]*\]|\s|\"\s*\"|;)*$")
"""A number format all of whose parts show nothing: ";;;"."""


def read_xlsx(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A workbook. Raises `Unread` when it is damaged or locked."""
    archive.check(data)
    draft = Draft(kind="xlsx")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # extensions that openpyxl does not know
            book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
            formulas = openpyxl.load_workbook(io.BytesIO(data), data_only=False)
        for sheet in book.worksheets:
            draft.pages.append(_sheet(sheet, formulas[sheet.title], draft))
        if book.chartsheets or any(sheet._charts or sheet._images for sheet in book.worksheets):
            draft.warn("charts and pictures of this workbook are not read")
    except Unread:
        raise
    except Exception as error:
        raise Unread(f"the workbook is damaged ({type(error).__name__})") from error
    if not draft.pages:
        raise Unread("the workbook has no sheet with cells")
    if options.second_reader:
        _count_again(data, draft)
    return draft


_CELL = re.compile(rb"<(?:x:)?c(?:\s[^>]*)?>.*?</(?:x:)?c>", re.DOTALL)
_VALUE = re.compile(rb"<(?:x:)?(?:v|t)(?:\s[^>]*)?>[^<]*\S")


def _count_again(data: bytes, draft: Draft) -> None:
    """The second reader: cells with a value in the raw XML, without any workbook library."""
    ours = sum(
        sum(place.kind is PlaceKind.CELL for place in page.places)
        + sum(max(1, len(found.text.splitlines())) for found in page.findings)
        for page in draft.pages
    )
    theirs = sum(
        bool(_VALUE.search(cell.group()))
        for entry in archive.entries(data, "xl/worksheets/")
        for cell in _CELL.finditer(entry)
    )
    if theirs - ours > max(theirs * second.APART, 1):
        for page in draft.pages:
            page.readers_disagree = True
            page.reason = page.reason or "a second reader finds more cells than were read"


def _sheet(sheet: Any, formulas: Any, draft: Draft) -> PageDraft:
    if len(sheet._cells) > MOST_CELLS:
        return PageDraft.unread(f"the sheet has more than {MOST_CELLS:,} cells: split it")
    if sheet.sheet_state != "visible":
        page = PageDraft.unread(
            "the sheet is hidden; its cells are no evidence until somebody looks"
        )
        page.label = sheet.title
        words = "\n".join(text for _, text in _cells(sheet))
        page.find(FindingKind.HIDDEN_SHEET, 0, f"a sheet that is {_state(sheet)}", words)
        return page
    page = PageDraft(label=sheet.title)
    hidden_rows = {
        row
        for row, shape in sheet.row_dimensions.items()
        if shape.hidden or (shape.height is not None and shape.height < _SEEN_POINTS)
    }
    hidden_columns = _hidden_columns(sheet)
    pieces: list[str] = []
    row = length = 0
    for cell, text in _cells(sheet):
        why = _why_hidden(cell, hidden_rows, hidden_columns)
        if why:
            page.find(FindingKind.HIDDEN_SHEET, length, f"{cell.coordinate}: {why}", text)
            continue
        if row:
            pieces.append("\t" if cell.row == row else "\n")
            length += 1
        row = cell.row
        shows = without_unseen(text, page, length)
        pieces.append(shows)
        page.place(PlaceKind.CELL, length, length + len(shows), f"{sheet.title}!{cell.coordinate}")
        length += len(shows)
        if length > MOST_CHARS:
            return PageDraft.unread(f"the sheet has more than {MOST_CHARS:,} characters: split it")
    page.text = "".join(pieces)
    _say_uncalculated(sheet, formulas, draft)
    _comments(sheet, page)
    return page


def _state(sheet: Any) -> str:
    return "hidden so that no menu shows it" if sheet.sheet_state == "veryHidden" else "hidden"


def _hidden_columns(sheet: Any) -> set[int]:
    out: set[int] = set()
    for shape in sheet.column_dimensions.values():
        if shape.hidden or (shape.customWidth and shape.width < _SEEN_CHARS):
            out.update(range(shape.min or 0, min(shape.max or 0, 20_000) + 1))
    return out


def _cells(sheet: Any) -> list[tuple[Any, str]]:
    """Cells with a value, row by row, and the value as text."""
    return [
        (cell, text)
        for cell in _held(sheet)
        if cell.value is not None and (text := shown(cell.value, cell.number_format))
    ]


def _held(sheet: Any) -> list[Any]:
    """The cells that the file holds, row by row: a sheet of two cells may be as wide as any."""
    return [sheet._cells[at] for at in sorted(sheet._cells)]


def _why_hidden(cell: Any, rows: set[int], columns: set[int]) -> str:
    if cell.row in rows:
        return "in a row that is hidden"
    if cell.column in columns:
        return "in a column that is hidden"
    if _EMPTY_FORMAT.match(cell.number_format or ""):
        return "formatted to show nothing"
    if cell.font is None:
        return ""
    if cell.font.sz is not None and cell.font.sz <= 1:
        return "letters too small to be read"
    letters = _hue(cell.font.color) or "000000"
    paper = "FFFFFF"
    if cell.fill is not None and cell.fill.fill_type == "solid":
        paper = _hue(cell.fill.fgColor) or ""
    elif cell.fill is not None and cell.fill.fill_type:
        return ""  # a pattern: its letters may be seen
    if letters == paper:
        return "white letters on white" if paper == "FFFFFF" else "letters in their cell's colour"
    return ""


def _hue(color: Any) -> str | None:
    """A colour as six digits, where it is plain: by value, by index, or the theme's first two."""
    if color is None:
        return None
    if color.type == "rgb" and isinstance(color.rgb, str):
        return color.rgb[-6:].upper()
    if color.type == "indexed" and 0 <= color.indexed < len(COLOR_INDEX):
        return str(COLOR_INDEX[color.indexed])[-6:].upper()
    if color.type == "theme" and color.theme in (0, 1) and not color.tint:
        return "FFFFFF" if color.theme == 0 else "000000"
    return f"theme {color.theme} {color.tint}" if color.type == "theme" else None


def shown(value: object, number_format: str = "General") -> str:
    """A cell's value as text; tabs and line ends inside it become spaces."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.datetime):
        if value.time() == dt.time():
            return value.date().isoformat()
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, int | float):
        return _number(value, number_format)
    return " ".join(str(value).split("\n")).replace("\t", " ").replace("\r", "").strip()


def _number(value: int | float, number_format: str) -> str:
    """A number in the common formats: thousands, fixed decimals, percent, a currency sign."""
    form = number_format.split(";")[0]
    if form.endswith("%"):
        digits = len(form.split(".")[1].rstrip("%")) if "." in form else 0
        return f"{value * 100:.{digits}f}%"
    grouped = "," if "#,##0" in form else ""
    if "0.00" in form:
        text = f"{value:{grouped}.2f}"
    elif grouped and "0." not in form:
        text = f"{value:{grouped}.0f}"
    else:
        return repr(value) if isinstance(value, int) or not value.is_integer() else str(int(value))
    for sign in "$€£₩¥":
        if sign in form:
            return f"-{sign}{text[1:]}" if text.startswith("-") else f"{sign}{text}"
    return text


def _say_uncalculated(sheet: Any, formulas: Any, draft: Draft) -> None:
    bare = [
        cell.coordinate
        for cell in _held(formulas)
        if cell.data_type == "f" and sheet[cell.coordinate].value is None
    ]
    if bare:
        some = ", ".join(bare[:5]) + (" and more" if len(bare) > 5 else "")
        number = len(draft.pages) + 1
        draft.warn(f"sheet {number}: formulas whose result is not stored were not read: {some}")


def _comments(sheet: Any, page: PageDraft) -> None:
    for cell in _held(sheet):
        if cell.comment is not None:
            text = " ".join(str(cell.comment.text).split())
            label = f"{sheet.title}!{cell.coordinate}, {cell.comment.author or 'unknown'}"
            page.add(f"[Comment on {cell.coordinate}: {text}]", PlaceKind.COMMENT, label)


def read_csv(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A CSV file: its text stays as it stands; the cells get addresses. Raises `Unread`."""
    decoded = decode(data)
    if decoded is None:
        raise Unread("the bytes are no text in an encoding known here")
    draft = Draft(kind="csv")
    if decoded.warning:
        draft.warn(decoded.warning)
    page = PageDraft()
    page.text = without_unseen(unix_lines(decoded.text).replace("\f", "\n"), page)
    draft.pages = [page]
    separator = "\t" if name.lower().endswith(".tsv") else _separator(page.text)
    _addresses(page, separator, draft)
    return draft


def _separator(text: str) -> str:
    try:
        return csv.Sniffer().sniff(text[:8192], delimiters=",;\t|").delimiter
    except csv.Error:
        return ","


def _addresses(page: PageDraft, separator: str, draft: Draft) -> None:
    """A place for every cell; quoted cells may hold separators and line ends."""
    text, at, row, column, count = page.text, 0, 1, 1, 0
    while at < len(text) and count < MOST_CELLS:
        start = at
        if text[at] == '"':
            at = _end_of_quoted(text, at)
        while at < len(text) and text[at] not in (separator, "\n"):
            at += 1
        if text[start:at].strip():
            page.place(PlaceKind.CELL, start, at, f"{_letters(column)}{row}")
            count += 1
        if at < len(text) and text[at] == "\n":
            row, column = row + 1, 1
        else:
            column += 1
        at += 1
    if count >= MOST_CELLS:
        draft.warn(f"only the first {MOST_CELLS:,} cells have addresses")


def _letters(column: int) -> str:
    """A column's letters, also beyond the last one that a workbook has."""
    out = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        out = chr(ord("A") + rest) + out
    return out


def _end_of_quoted(text: str, at: int) -> int:
    at += 1
    while at < len(text):
        if text[at] != '"':
            at += 1
        elif text.startswith('""', at):
            at += 2
        else:
            return at + 1
    return at
