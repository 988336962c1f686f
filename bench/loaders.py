"""Measures the loaders: speed beside other readers, gold spans to rectangles, OCR, damaged files.

Each function does its work when called and gives figures with the rows behind them; `bench/rag.py`
puts them in its report. Sizes are arguments, so a short and a full run differ in nothing else.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.loaders import LoadOptions, load
from rag.loaders.pdf_boxes import find_boxes

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One figure and its rows."""

    figure: float
    rows: list[Row] = field(repr=False, default_factory=list)


def _pdfs(data: Path) -> list[Path]:
    return sorted((data / "retrieval" / "pdf").glob("*.pdf"))


# --- gold spans to rectangles ---------------------------------------------------------------------

_FOLD = {
    "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "‐": "-", "‑": "-",
    "\u037e": ";", "\u00ad": "-", "ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff",
}  # fmt: skip


def _folded(text: str) -> tuple[str, list[int]]:
    """Text without white space, typography folded, and where each character came from."""
    out: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        if char.isspace():
            continue
        for folded in _FOLD.get(char, char):
            out.append(folded)
            places.append(at)
    return "".join(out), places


def gold_spans_mapped(data: Path) -> Measured:
    """Share of the gold spans of the 24 PDFs that map to a page and rectangles of our text.

    A span counts when its words stand in the canonical text, at least one rectangle comes back for
    every line of it, and the words that PDFium reads inside those rectangles hold the span's words.
    """
    wanted: dict[str, set[tuple[int, int]]] = {}
    for line in (data / "retrieval" / "queries-dev.jsonl").read_text("utf-8").splitlines():
        query = json.loads(line)
        wanted.setdefault(Path(query["document"]).stem, set()).update(
            (start, end) for start, end in query["spans"]
        )
    rows: list[Row] = []
    for pdf in _pdfs(data):
        paged = load(pdf)[0]
        text = (data / "retrieval" / "documents" / f"{pdf.stem}.txt").read_text("utf-8")
        folded, places = _folded(paged.text)
        for start, end in sorted(wanted.get(pdf.stem, ())):
            row: Row = {"file": pdf.name, "expected": [start, end], "came": None, "mapped": False}
            gold, _ = _folded(text[start:end])
            at = folded.find(gold)
            if at >= 0:
                span = places[at], places[at + len(gold) - 1] + 1
                boxes = find_boxes(pdf, paged, *span)
                row["pages"] = sorted({box.page for box in boxes})
                row["came"] = len(boxes)
                row["mapped"] = bool(boxes) and _words_inside(pdf, boxes, gold)
            rows.append(row)
    share = sum(row["mapped"] for row in rows) / len(rows) if rows else 0.0
    return Measured(figure=share, rows=rows)


def _words_inside(pdf: Path, boxes: tuple[Any, ...], gold: str) -> bool:
    """Whether the words that PDFium itself reads in the rectangles are those of the span."""
    import pypdfium2  # noqa: TID251 - the measure must not go through our own door

    document = pypdfium2.PdfDocument(pdf)
    said = ""
    for box in boxes:
        page = document[box.page - 1].get_textpage()
        said += page.get_text_bounded(box.left - 1, box.bottom - 1, box.right + 1, box.top + 1)
    document.close()
    inside = set(re.findall(r"\w{4,}", said.lower()))
    words = [word for word in re.findall(r"\w{4,}", "".join(said).lower()) if word in inside]
    folded, _ = _folded(said.replace("\x02", "-").replace("\ufffe", "-"))
    grams = [gold[at : at + 12] for at in range(0, max(1, len(gold) - 12), 12)]
    return bool(words) and sum(gram in folded for gram in grams) >= 0.9 * len(grams)
