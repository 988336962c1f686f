"""`/extract`: every date, amount or party of the record with the sentence it stands in.

Found and read by code; no model is asked. A row is one value in one sentence of one document, so
two documents that disagree stay two rows. The text holds the record's words of every row and only
those: what stands in the text is checked, and the values stand beside it in the table.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from protocol.answers import Provenance, Timings
from protocol.events import Progress, Stage
from protocol.jobs import Extract
from protocol.record import DocumentInfo
from verify.amounts import find_figures
from verify.dates import find_dates
from verify.figure_search import figure_in_words
from verify.names import NameKind, find_names
from worker.deliverables import Desk, Draft, Row, columns
from worker.deliverables.events import weekday_clash
from worker.deliverables.wording import line
from worker.quoting import Sentence

MOST_ROWS: Final = 400
"""Rows a reply lists; what is beyond is counted in a note, never dropped in silence."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """One value as it stands in a sentence."""

    kind: str
    """date, amount or party."""
    words: str
    """The value in one unmistakable form: "9 January 2024", "$1,200,000.00"."""
    order: tuple[object, ...]
    """Sorts values of one kind; places of equal values stay in the record's order."""
    note: str = ""
    """What is wrong with it in the record itself: a weekday that does not fit."""


async def make(desk: Desk, request: Extract) -> Draft:
    """The draft of an extract."""
    kinds = ("dates", "amounts", "parties") if request.what in ("all", "facts") else (request.what,)
    desk = await desk.narrowed(request.only)
    if request.columns:
        return await columns.make(desk, request)
    documents, inside = desk.telling(request.documents)
    rows: list[tuple[Value, DocumentInfo, Sentence, str | None]] = []
    for at, info in enumerate(documents):
        await desk.context.say(Progress(stage=Stage.RETRIEVING, done=at, total=len(documents)))
        every = await desk.sentences(info.id)
        rows.extend(await asyncio.to_thread(_rows_of, info, every, kinds))
    rows.sort(key=lambda row: (row[0].kind, row[0].order))
    left_out = max(0, len(rows) - MOST_ROWS)
    text, table = _written(rows[:MOST_ROWS], kinds)
    notes = [*inside, *(f"{info.title}: {value.note}" for value, info, _, _ in rows if value.note)]
    if left_out:
        notes.append(
            f"{left_out} further rows are not listed; name documents to see them in parts."
        )
    chosen = [info.id for info in documents] if request.documents else None
    covered = await desk.covered("all pages", chosen)
    return Draft(
        question=f"/extract {request.what} {request.only}".rstrip(),
        text=text,
        coverage=covered,
        timings=Timings(),
        provenance=Provenance(composition="code"),
        columns=("kind", "value", "words"),
        rows=table,
        notes=tuple(dict.fromkeys(notes)),
    )


def _rows_of(
    info: DocumentInfo, every: Sequence[Sentence], kinds: Sequence[str]
) -> list[tuple[Value, DocumentInfo, Sentence, str | None]]:
    """Rows of one document. Values are read in the sentences, not in the raw text, where a printed
    line number may stand before a month and look like its day."""
    words_at = {sentence.start: sentence.words for sentence in every}
    rows = []
    met: set[str] = set()
    for sentence in every:
        asked = words_at.get(sentence.question[0]) if sentence.question else None
        for kind in kinds:
            for value in dict.fromkeys(_FINDERS[kind](sentence.words)):
                if kind == "parties" and value.words in met:
                    continue  # where a name first stands in a document is enough
                met.add(value.words)
                rows.append((value, info, sentence, asked))
    return rows


def _written(
    rows: Sequence[tuple[Value, DocumentInfo, Sentence, str | None]], kinds: Sequence[str]
) -> tuple[str, tuple[Row, ...]]:
    """The text, a line a row, and the rows with where their proof stands in it."""
    if not rows:
        return (
            f"The record as read holds no {' and no '.join(map(_SOUGHT.__getitem__, kinds))}.",
            (),
        )
    text, table, kind = "", [], ""
    printed: dict[tuple[str, str, int], tuple[int, int]] = {}
    for value, info, sentence, asked in rows:
        if value.kind != kind:
            kind = value.kind
            text += ("\n\n" if text else "") + _HEADINGS[kind]
        stands = (kind, info.id, sentence.start)
        if stands not in printed:  # two dates of one sentence are two rows with one quotation
            text += f"\n{line(info.title, sentence, asked)}"
            printed[stands] = (text.rfind("“"), len(text))
        start, end = printed[stands]
        table.append(Row(cells=(value.kind, value.words, sentence.words), start=start, end=end))
    return text, tuple(table)


def _dates(text: str) -> Iterator[Value]:
    for mention in find_dates(text):
        value = mention.value
        shown = value or mention.readings[0]
        words = (
            value.in_words() if value else " or ".join(one.in_words() for one in mention.readings)
        )
        yield Value(
            kind="date",
            words=f"{mention.modifier} {words}".strip(),
            order=(shown.year or 9999, shown.month or 0, shown.day or 0),
            note=weekday_clash(mention),
        )


def _amounts(text: str) -> Iterator[Value]:
    dates = [(mention.start, mention.end) for mention in find_dates(text)]
    for figure in find_figures(text, dates):
        if figure.money:
            shown = figure_in_words(figure)
            per = f" per {figure.per}" if figure.per else ""
            yield Value(
                kind="amount",
                words=f"{figure.bound} {shown}{per}".strip(),
                order=(-figure.value,),
            )


def _parties(text: str) -> Iterator[Value]:
    for name in find_names(text):
        if name.kind is NameKind.COMPANY or len(name.words) > 1:
            words = " ".join(text[name.start : name.end].split())
            yield Value(kind="party", words=words, order=name.words)
    for found in _KOREAN_PERSON.finditer(text):
        yield Value(kind="party", words=found["name"], order=(found["name"],))


_FINDERS: Final[dict[str, Callable[[str], Iterator[Value]]]] = {
    "dates": _dates,
    "amounts": _amounts,
    "parties": _parties,
}
_KOREAN_PERSON: Final = re.compile(
    r"(?:대표이사|대표|이사|사장|부장|차장|과장|변호사|증인|담당자?)\s{1,2}(?P<name>[가-힣]{2,4})(?![가-힣])"
)
"""A Korean name is one word: it is known as a person's by the office before it."""
_SOUGHT: Final = {
    "dates": "date with a day, a month or a year of its own",
    "amounts": "amount written with its currency (bare numbers are not listed)",
    "parties": "company and no person of two names or more",
}
"""What each kind looks for, so that "none" is not taken for more than it says."""
_HEADINGS: Final = {"date": "Dates", "amount": "Amounts", "party": "People and parties"}
