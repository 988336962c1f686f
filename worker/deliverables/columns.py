"""`/extract columns: ...`: for every document, what stands in the columns that a lawyer has named.

Code alone fills them: a sentence that holds the column's words and a value of its kind gives the
value nearest to those words. Several values stay several rows. Where there is none, the row says
"not found"; nothing is guessed, no model is asked. That a value answers the column is for a person
to see, so a row is never green: what the check proves is that its words stand there.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from protocol.answers import Provenance
from protocol.events import Progress, Stage
from protocol.jobs import Extract
from protocol.record import DocumentInfo
from verify.amounts import find_figures
from verify.dates import find_dates
from verify.figure_search import figure_in_words
from verify.names import NameKind, find_names
from worker.deliverables import Desk, Draft, Row
from worker.deliverables.column_names import WORD, Column, columns, stem
from worker.deliverables.wording import line
from worker.quoting import Sentence
from worker.told import WORDS_SHOWN

NOT_FOUND: Final = "not found"
MOST_ROWS: Final = 400
_MOST_VALUES: Final = 5
"""Different values of one column in one document that are listed; the others are counted."""
_HEAD: Final = ("document", "column", "value", "how it was found", "words")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One value of one column in one document, with the sentence that holds it."""

    value: str
    how: str
    sentence: Sentence


@dataclass(frozen=True, kw_only=True)
class _Value:
    start: int
    end: int
    words: str


async def make(desk: Desk, request: Extract) -> Draft:
    """The draft of an extract with columns of its own."""
    wanted = columns(request.columns, desk.settings.state / "templates")
    documents, inside = desk.telling(request.documents)
    found: list[tuple[DocumentInfo, dict[str, list[Cell]], Sequence[Sentence]]] = []
    for at, info in enumerate(documents):
        await desk.context.say(Progress(stage=Stage.RETRIEVING, done=at, total=len(documents)))
        every = await desk.sentences(info.id)
        cells = await asyncio.to_thread(cells_of, every, wanted)
        found.append((info, cells, every))
    text, rows, left_out = _written(found, wanted)
    chosen = [info.id for info in documents] if request.documents else None
    covered = await desk.covered("all pages", chosen)
    return Draft(
        question=f"/extract columns: {', '.join(one.name for one in wanted)}"
        + (f"; {request.only}" if request.only else ""),
        text=text,
        coverage=covered,
        provenance=Provenance(composition="code"),
        columns=_HEAD,
        rows=rows,
        proof_columns=("place", WORDS_SHOWN),
        notes=(*inside, *_notes(found, left_out)),
    )


def cells_of(every: Sequence[Sentence], wanted: Sequence[Column]) -> dict[str, list[Cell]]:
    """The values of each column by its name, in the record's order; each value once."""
    cells: dict[str, dict[str, Cell]] = {column.name: {} for column in wanted}
    for sentence in every:
        spans = [(m.start(), m.end(), m.group().casefold()) for m in WORD.finditer(sentence.words)]
        for column in wanted:
            labels = _labels(column, spans)
            if labels and (cell := _cell(column, sentence, labels)) is not None:
                cells[column.name].setdefault(cell.value, cell)
    return {name: list(values.values()) for name, values in cells.items()}


def _labels(column: Column, spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """Where the column's words stand; empty unless every one of them does."""
    places = []
    for group in column.words:
        at = [(start, end) for start, end, word in spans if _is_one(word, group)]
        if not at:
            return []
        places += at
    return places


def _is_one(word: str, group: frozenset[str]) -> bool:
    if stem(word) in group:
        return True
    korean = [one for one in group if "가" <= one[0] <= "힣"]
    return any(word.startswith(one) for one in korean)  # a particle may follow


def _cell(column: Column, sentence: Sentence, labels: Sequence[tuple[int, int]]) -> Cell | None:
    if column.kind == "text":
        return Cell(value=sentence.words, how="the sentence with these words", sentence=sentence)
    values = [one for one in _VALUES[column.kind](sentence.words) if not _covers(one, labels)]
    if not values:
        return None
    defined = [one for one in values if _is_defined(one, values, sentence.words, labels)]
    nearest = min(defined or values, key=lambda one: _distance(one, labels))
    different = len({one.words for one in values})
    how = "in one sentence with these words"
    if defined:
        return Cell(value=nearest.words, how="the sentence calls it so", sentence=sentence)
    if different > 1:
        how = f"the nearest of {different} values in the sentence"
    return Cell(value=nearest.words, how=how, sentence=sentence)


def _is_defined(
    value: _Value, values: Sequence[_Value], words: str, labels: Sequence[tuple[int, int]]
) -> bool:
    """Whether a label in brackets and marks stands for this value, the last one before it, as in
    ``Hartwell Design Studio, Inc. ("Tenant")``."""
    return any(
        _DEFINES.search(words, value.end, start) is not None
        and not any(value.end <= other.start < start for other in values)
        for start, _ in labels
        if value.end < start
    )


_DEFINES: Final = re.compile(r"\((?:the |collectively,? |each,? an? )?[\"“‘'’]\Z")


def _covers(value: _Value, labels: Sequence[tuple[int, int]]) -> bool:
    """Whether the value is nothing but a label: the name "Tenant" is no tenant's."""
    return any(start <= value.start and value.end <= end for start, end in labels)


def _distance(value: _Value, labels: Sequence[tuple[int, int]]) -> tuple[int, bool]:
    """Characters to the nearest label; what stands after it comes first."""
    return min(
        (max(start - value.end, value.start - end, 0), value.start < start) for start, end in labels
    )


def _dates(text: str) -> Iterator[_Value]:
    for mention in find_dates(text):
        value = mention.value
        words = (
            value.in_words() if value else " or ".join(one.in_words() for one in mention.readings)
        )
        said = f"{mention.modifier} {words}".strip()
        yield _Value(start=mention.start, end=mention.end, words=said)


def _amounts(text: str) -> Iterator[_Value]:
    dates = [(mention.start, mention.end) for mention in find_dates(text)]
    for figure in find_figures(text, dates):
        if figure.money:
            per = f" per {figure.per}" if figure.per else ""
            said = f"{figure.bound} {figure_in_words(figure)}{per}".strip()
            yield _Value(start=figure.start, end=figure.end, words=said)


def _names(text: str) -> Iterator[_Value]:
    for name in find_names(text):
        place = name.words and name.words[-1] in _STREETS
        if not place and (name.kind is NameKind.COMPANY or len(name.words) > 1):
            said = " ".join(text[name.start : name.end].split())
            yield _Value(start=name.start, end=name.end, words=said)


_STREETS: Final = frozenset("street avenue road lane drive boulevard square court plaza".split())
"""A name that ends so is an address."""
_VALUES: Final = {"date": _dates, "amount": _amounts, "name": _names}


def _written(
    found: Sequence[tuple[DocumentInfo, dict[str, list[Cell]], Sequence[Sentence]]],
    wanted: Sequence[Column],
) -> tuple[str, tuple[Row, ...], int]:
    """The text by columns, the rows by documents, and how many rows were left out."""
    text = ""
    spans: dict[tuple[str, str, int], tuple[int, int]] = {}
    nowhere = [one.name for one in wanted if not any(cells[one.name] for _, cells, _ in found)]
    for column in wanted:
        if column.name in nowhere:
            continue
        text += ("\n\n" if text else "") + column.name
        for info, cells, every in found:
            asked = {one.start: one.words for one in every}
            for cell in cells[column.name][:_MOST_VALUES]:
                question = cell.sentence.question
                said = asked.get(question[0]) if question else None
                text += f"\n{line(info.title, cell.sentence, said)}"
                at = (column.name, info.id, cell.sentence.start)
                spans.setdefault(at, (text.rfind("“"), len(text)))
    if nowhere:
        said = f"The record as read holds no sentence for: {', '.join(nowhere)}."
        text += ("\n\n" if text else "") + said
    rows: list[Row] = []
    for info, cells, _ in found:
        if any(cells.values()):
            for column in wanted:
                rows += _rows(info, column, cells[column.name], spans)
    return text, tuple(rows[:MOST_ROWS]), max(0, len(rows) - MOST_ROWS)


def _rows(
    info: DocumentInfo,
    column: Column,
    cells: Sequence[Cell],
    spans: dict[tuple[str, str, int], tuple[int, int]],
) -> Iterator[Row]:
    if not cells:
        yield Row(cells=(info.title, column.name, NOT_FOUND, "", ""), start=0, end=0)
    several = f"; {len(cells)} different values" if len(cells) > 1 and column.kind != "text" else ""
    for cell in cells[:_MOST_VALUES]:
        start, end = spans[column.name, info.id, cell.sentence.start]
        shown = (info.title, column.name, cell.value, f"{cell.how}{several}", cell.sentence.words)
        yield Row(cells=shown, start=start, end=end)


def _notes(
    found: Sequence[tuple[DocumentInfo, dict[str, list[Cell]], Sequence[Sentence]]], left_out: int
) -> Iterator[str]:
    yield "Filled by code from sentences that hold a column's words; no model was asked."
    empty = [info.title for info, cells, _ in found if not any(cells.values())]
    if empty:
        yield f"No column was found in: {', '.join(empty)}."
    for info, cells, _ in found:
        for name, values in cells.items():
            if len(values) > _MOST_VALUES:
                yield f"{info.title}, {name}: {len(values) - _MOST_VALUES} more are not listed."
    if left_out:
        yield f"{left_out} further rows are not listed; name documents to see them in parts."
