"""An answer's table as a sheet: CSV or XLSX, in which no cell is ever a formula."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import openpyxl
from openpyxl.cell.cell import TYPE_STRING
from openpyxl.worksheet.worksheet import Worksheet

from protocol.answers import Answer, Table
from protocol.errors import BadRequest
from worker.export import reading
from worker.export.package import settled
from worker.export.visible import visible

_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""A sheet program takes a cell that begins so for a formula."""
_LONGEST_CELL: Final = 32_000


def render_csv(answer: Answer, title: str) -> bytes:
    """The rows as CSV in UTF-8 with a byte order mark, as office programs expect it."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerows(_rows(answer))
    return out.getvalue().encode("utf-8-sig")


def render_xlsx(answer: Answer, title: str) -> bytes:
    """The rows as a workbook of text cells with a second sheet for state, coverage and notes."""
    book = openpyxl.Workbook()
    book.properties.creator = ""
    sheet = book.active
    sheet.title = "Table"
    _fill(sheet, _rows(answer))
    if by_document := _by_document(_table(answer)):
        _fill(book.create_sheet("By document"), by_document)
    about = book.create_sheet("About")
    said = (reading.state(answer), reading.counts(answer), *answer.notes)
    for at, words in enumerate((*said, *reading.coverage_lines(answer.coverage)), start=1):
        about.cell(row=at, column=1).value = _cell(words)
        about.cell(row=at, column=1).data_type = TYPE_STRING
    out = io.BytesIO()
    book.save(out)
    at_time = answer.decision.at if answer.decision else dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    return settled(out.getvalue(), at_time)


def _fill(sheet: Worksheet, rows: Iterable[Sequence[str]]) -> None:
    for at, row in enumerate(rows, start=1):
        for column, words in enumerate(row, start=1):
            cell = sheet.cell(row=at, column=column)
            cell.value = words
            cell.data_type = TYPE_STRING
    sheet.freeze_panes = "A2"


def _by_document(table: Table) -> list[list[str]]:
    """An extract with columns of its own once more, a row a document, each value with its place;
    empty for any other table."""
    if table.columns[:3] != ("document", "column", "value") or "place" not in table.columns:
        return []
    at = table.columns.index("place")
    heads = list(dict.fromkeys(row[1] for row in table.rows))
    cells: dict[str, dict[str, list[str]]] = {}
    for row in table.rows:
        said = f"{row[2]} ({row[at]})" if row[at] else row[2]
        cells.setdefault(row[0], {}).setdefault(row[1], []).append(said)
    body = [
        [title, *("; ".join(of.get(head, [])) for head in heads)] for title, of in cells.items()
    ]
    return [[_cell(words) for words in row] for row in (["document", *heads], *body)]


def _rows(answer: Answer) -> Iterator[list[str]]:
    yield [_cell(name) for name in _table(answer).columns]
    for row in _table(answer).rows:
        yield [_cell(words) for words in row]


def _table(answer: Answer) -> Table:
    if answer.table is None:
        raise BadRequest("this reply has no table", next_step="choose md, docx, pdf or json")
    return answer.table


def _cell(words: str) -> str:
    shown = visible(reading.plain(words))[:_LONGEST_CELL]
    return f"'{shown}" if shown.startswith(_STARTS) else shown
