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
from openpyxl.utils import get_column_letter

from rag.loaders import archive, second
from rag.loaders.hidden import without_unseen
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Unread
from rag.loaders.textual import decode, unix_lines
from rag.paged import FindingKind, PlaceKind

MOST_CELLS = 500_000
_WHITE = {"FFFFFFFF", "00FFFFFF"}


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
    if (sheet.max_row or 0) * (sheet.max_column or 0) > MOST_CELLS:
        draft.warn(f"a sheet has more than {MOST_CELLS:,} cells; cells with content were read")
    if sheet.sheet_state != "visible":
        page = PageDraft.unread(
            "the sheet is hidden; its cells are no evidence until somebody looks"
        )
        page.label = sheet.title
        words = "\n".join(text for _, text in _cells(sheet))
        page.find(FindingKind.HIDDEN_SHEET, 0, f"a sheet that is {_state(sheet)}", words)
        return page
    page = PageDraft(label=sheet.title)
    hidden_rows = {row for row, shape in sheet.row_dimensions.items() if shape.hidden}
    hidden_columns = _hidden_columns(sheet)
    row, kept_out = 0, 0
    for cell, text in _cells(sheet):
        why = _why_hidden(cell, hidden_rows, hidden_columns)
        if why:
            page.find(FindingKind.HIDDEN_SHEET, len(page.text), f"{cell.coordinate}: {why}", text)
            kept_out += 1
            continue
        if row:
            page.text += "\t" if cell.row == row else "\n"
        row = cell.row
        start = len(page.text)
        page.text += without_unseen(text, page, start)
        page.place(PlaceKind.CELL, start, len(page.text), f"{sheet.title}!{cell.coordinate}")
    _say_uncalculated(sheet, formulas, draft)
    _comments(sheet, page)
    return page


def _state(sheet: Any) -> str:
    return "hidden so that no menu shows it" if sheet.sheet_state == "veryHidden" else "hidden"


def _hidden_columns(sheet: Any) -> set[int]:
    out: set[int] = set()
    for shape in sheet.column_dimensions.values():
        if shape.hidden:
            out.update(range(shape.min or 0, min(shape.max or 0, 20_000) + 1))
    return out


def _cells(sheet: Any) -> list[tuple[Any, str]]:
    """Cells with a value, row by row, and the value as text."""
    return [
        (cell, text)
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None and (text := shown(cell.value, cell.number_format))
    ]


def _why_hidden(cell: Any, rows: set[int], columns: set[int]) -> str:
    if cell.row in rows:
        return "in a row that is hidden"
    if cell.column in columns:
        return "in a column that is hidden"
    if cell.number_format == ";;;":
        return "formatted to show nothing"
    color = cell.font.color.rgb if cell.font and cell.font.color else None
    fill = cell.fill.fill_type if cell.fill else None
    if isinstance(color, str) and color in _WHITE and not fill:
        return "white letters on white"
    return ""


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
        for row in formulas.iter_rows()
        for cell in row
        if cell.data_type == "f" and sheet[cell.coordinate].value is None
    ]
    if bare:
        some = ", ".join(bare[:5]) + (" and more" if len(bare) > 5 else "")
        number = len(draft.pages) + 1
        draft.warn(f"sheet {number}: formulas whose result is not stored were not read: {some}")


def _comments(sheet: Any, page: PageDraft) -> None:
    for row in sheet.iter_rows():
        for cell in row:
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
            page.place(PlaceKind.CELL, start, at, f"{get_column_letter(min(column, 18278))}{row}")
            count += 1
        if at < len(text) and text[at] == "\n":
            row, column = row + 1, 1
        else:
            column += 1
        at += 1
    if count >= MOST_CELLS:
        draft.warn(f"only the first {MOST_CELLS:,} cells have addresses")


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
