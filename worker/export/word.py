"""An answer as a Word file: its text, a footnote a mark, a comment for each that is not green.

Word's own means are used, so that a lawyer can go on working in it. The file names nobody and
nothing of this machine; `reopened.py` reads it again before it is handed out.
"""

from __future__ import annotations

import datetime as dt
import io
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Final

import docx  # noqa: TID251
from docx.document import Document  # noqa: TID251
from docx.enum.section import WD_ORIENT  # noqa: TID251
from docx.oxml import OxmlElement  # noqa: TID251
from docx.oxml.ns import qn  # noqa: TID251
from docx.shared import Pt  # noqa: TID251
from docx.text.run import Run  # noqa: TID251

from protocol.answers import GREEN, Answer, Finding
from worker.export import reading
from worker.export.footnotes import Footnotes
from worker.export.package import settled
from worker.export.visible import visible

AUTHOR: Final = "secondchair"
TEXT_STYLE: Final = "Reply"
"""The style of the approved text alone: by it the text is found again in the file."""
_TEMPLATE_PARTS: Final = ("customXml", "thumbnail")


def render(answer: Answer, title: str) -> bytes:
    """The file's bytes; the same for the same answer."""
    document = docx.Document()
    at = answer.decision.at if answer.decision else dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    _cleared(document, answer, at)
    _head(document, answer, title)
    notes = Footnotes(document)
    _body(document, answer, notes, at)
    if answer.table is not None:
        _landscape(document)
        document.add_heading("Table", 2)
        _table(document, answer.table.columns, answer.table.rows)
    shown = reading.exhibits(answer)
    if shown:
        document.add_heading("Documents cited", 2)
        _table(document, ("document", "Bates", "pages"), shown)
    law = reading.authorities(answer)
    if law:
        document.add_heading("Authorities (form checked only)", 2)
        _table(document, ("authority", "mark"), law)
    document.add_heading("What was read and checked", 2)
    checked = (reading.counts(answer), reading.opened(answer))
    for said in (*filter(None, checked), *reading.coverage_lines(answer.coverage), *answer.notes):
        document.add_paragraph(visible(said), style="List Bullet")
    notes.close()
    out = io.BytesIO()
    document.save(out)
    return settled(out.getvalue(), at)


def _cleared(document: Document, answer: Answer, at: dt.datetime) -> None:
    """Takes out what the empty template brings along and names nobody."""
    properties = document.core_properties
    for name in ("author", "last_modified_by", "comments", "keywords", "subject", "category"):
        setattr(properties, name, "")
    properties.title = str(answer.job)
    properties.revision = 1
    properties.created = properties.modified = at.astimezone(dt.UTC).replace(tzinfo=None)
    for rels in (document.part.rels, document.part.package.rels):
        for key in [k for k, rel in rels.items() if rel.reltype.endswith(_TEMPLATE_PARTS)]:
            del rels[key]
    document.styles.add_style(TEXT_STYLE, 1).base_style = document.styles["Normal"]


def _head(document: Document, answer: Answer, title: str) -> None:
    said = reading.state(answer)
    header = document.sections[0].header.paragraphs[0]
    header.text = f"{answer.matter} · {answer.job} · {said}"
    document.add_heading(visible(reading.plain(title)), 1)
    if answer.question:
        document.add_paragraph(visible(reading.plain(answer.question)), style="Intense Quote")


def _body(document: Document, answer: Answer, notes: Footnotes, at: dt.datetime) -> None:
    """The text, a paragraph a line, cut into runs where a mark or a commented sentence ends."""
    items = reading.marked(answer)
    open_items = [item for item in items if item.verdict not in GREEN]
    ranges = {item.number: _sentence(answer, item) for item in open_items}
    cuts = {edge for span in ranges.values() for edge in span} | {
        _end(answer, item) for item in items
    }
    runs: list[tuple[int, int, Run]] = []
    start = 0
    for line in answer.text.split("\n"):
        end = start + len(line)
        paragraph = document.add_paragraph(style=TEXT_STYLE)
        paragraph.paragraph_format.keep_with_next = line.isupper()
        if line.startswith("- "):
            paragraph.paragraph_format.left_indent = Pt(18)
            paragraph.paragraph_format.first_line_indent = Pt(-9)
        edges = [start, *sorted(cut for cut in cuts if start < cut < end), end]
        for left, right in itertools.pairwise(edges):
            if left == right:
                continue
            run = paragraph.add_run(visible(answer.text[left:right]))
            if line.isupper():
                run.bold = True
            runs.append((left, right, run))
            for item in items:
                if _end(answer, item) == right:
                    mark = notes.add(paragraph, visible(reading.footnote(item)))
                    runs.append((right, right, mark))
        start = end + 1
    for item in open_items:
        left, right = ranges[item.number]
        # With its footnotes: LibreOffice mixes up the notes that stand right behind a comment.
        inside = [run for a, b, run in runs if left <= a and b <= right and b > left]
        if inside:
            _commented(document, inside, visible(reading.comment(answer, item)), at)


def _end(answer: Answer, item: Finding) -> int:
    """Where an item's mark stands: behind its last character that is no line end."""
    return item.start + len(answer.text[item.start : item.end].rstrip("\n"))


def _sentence(answer: Answer, item: Finding) -> tuple[int, int]:
    """The sentence in which an item stands; the item itself where none was classed."""
    for claim in answer.sentences:
        if claim.start <= item.start and item.end <= claim.end:
            return claim.start, claim.end
    return item.start, item.end


def _commented(document: Document, runs: Sequence[Run], text: str, at: dt.datetime) -> None:
    comment: Any = document.add_comment(
        [runs[0], runs[-1]], text=text, author=AUTHOR, initials="2C"
    )
    comment._comment_elm.set(qn("w:date"), at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _table(document: Document, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = document.add_table(rows=1, cols=len(columns), style="Table Grid")
    for cell, name in zip(table.rows[0].cells, columns, strict=True):
        cell.text = visible(name)
    repeat: Any = OxmlElement("w:tblHeader")
    table.rows[0]._tr.get_or_add_trPr().append(repeat)
    for row in rows:
        for cell, words in zip(table.add_row().cells, row, strict=True):
            cell.text = visible(reading.plain(words))
    for row in table.rows:
        for cell in row.cells:
            for run in cell.paragraphs[0].runs:
                run.font.size = Pt(8)


def _landscape(document: Document) -> None:
    """A page across: a table of nine columns does not fit upright."""
    section = document.add_section()
    section.orientation = WD_ORIENT.LANDSCAPE
    section.page_width, section.page_height = section.page_height, section.page_width
