"""Measures the PDF loader: speed beside other readers, and gold spans to rectangles.

Each function does its work when called and gives figures with the rows behind them; `bench/rag.py`
puts them in its report. OCR and damaged files have their own modules beside this one
(`loaders_ocr`, `loaders_fuzz`).
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.loaders import LoadOptions, load
from rag.loaders.pdf import PdfFile
from rag.loaders.pdf_boxes import find_boxes
from rag.loaders.pdf_hidden import look_through
from rag.loaders.pdf_reading import layer_of, read, read_page

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


def _words_inside(pdf: Path, boxes: Iterable[Any], gold: str) -> bool:
    """Whether the words that PDFium itself reads in the rectangles are those of the span."""
    import pypdfium2  # noqa: TID251 - the measure must not go through our own door

    document = pypdfium2.PdfDocument(pdf)
    said = ""
    for box in boxes:
        page = document[box.page - 1].get_textpage()
        said += page.get_text_bounded(box.left - 1, box.bottom - 1, box.right + 1, box.top + 1)
    document.close()
    inside, _ = _folded(said.replace("\x02", "-").replace("\ufffe", "-"))
    grams = [gold[at : at + 12] for at in range(0, max(1, len(gold) - 12), 12)]
    return sum(gram in inside for gram in grams) >= 0.9 * len(grams)


# --- speed beside other readers -------------------------------------------------------------------


def speed(data: Path, *, rounds: int = 3, slow_files: int = 2) -> Measured:
    """Pages per CPU-second of this loader and of other readers, on the same files, in one run.

    The figure is our text and boxes as a share of bare pypdfium2's text and boxes (``boxes_ratio``
    of the first row says the same); the other rows hold every reader's pages per CPU-second. The
    readers take turns, ``rounds`` times, and the median of the ratios counts: the machine's noise
    then hits all alike. Slow readers (pdfplumber, markitdown) read ``slow_files`` files only, once.
    """
    pdfs = _pdfs(data)
    names = ("pypdfium2 text", "pypdfium2 text+boxes", "text+boxes", "with hidden-text scan",
             "all, second reader too", "pypdf")  # fmt: skip
    readers: dict[str, Callable[[Path], int]] = dict(
        zip(names, (_bare_text, _bare_boxes, _our_boxes, _our_scan, _our_all, _pypdf), strict=True)
    )
    rates: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, reader in readers.items():
            rates[name].append(_rate(reader, pdfs))
    base = rates["pypdfium2 text+boxes"]
    rows: list[Row] = []
    for name in names:
        ratios = [ours / bare for ours, bare in zip(rates[name], base, strict=True)]
        rows.append(
            {
                "reader": name,
                "files": len(pdfs),
                "pages_per_cpu_s": round(statistics.median(rates[name]), 1),
                "of_bare_text_and_boxes": round(statistics.median(ratios), 3),
            }
        )
    for name, reader in (("pdfplumber", _pdfplumber), ("markitdown", _markitdown)):
        if importlib.util.find_spec(name) is None:
            rows.append({"reader": name, "files": 0, "pages_per_cpu_s": None})
        else:
            few = pdfs[:slow_files]
            rows.append(
                {"reader": name, "files": len(few), "pages_per_cpu_s": round(_rate(reader, few), 1)}
            )
    return Measured(figure=_row(rows, "text+boxes")["of_bare_text_and_boxes"], rows=rows)


def pages_per_cpu_s(measured: Measured) -> float:
    """Pages per CPU-second of a whole load with the hidden-text scan, out of `speed`'s rows."""
    return float(_row(measured.rows, "with hidden-text scan")["pages_per_cpu_s"])


def scan_ratio(measured: Measured) -> float:
    """The hidden-text scan as a share of bare pypdfium2's text and boxes, out of `speed`'s rows."""
    return float(_row(measured.rows, "with hidden-text scan")["of_bare_text_and_boxes"])


def _row(rows: list[Row], reader: str) -> Row:
    return next(row for row in rows if row["reader"] == reader)


def _rate(reader: Callable[[Path], int], pdfs: list[Path]) -> float:
    start = time.process_time()
    pages = sum(reader(pdf) for pdf in pdfs)
    return pages / (time.process_time() - start)


def _bare_text(pdf: Path) -> int:
    import pypdfium2  # noqa: TID251 - what the loader is measured against

    document = pypdfium2.PdfDocument(pdf)
    for page in document:
        page.get_textpage().get_text_range()
    return len(document)


def _bare_boxes(pdf: Path) -> int:
    import pypdfium2  # noqa: TID251 - what the loader is measured against

    document = pypdfium2.PdfDocument(pdf)
    for page in document:
        text = page.get_textpage()
        text.get_text_range()
        for index in range(text.count_chars()):
            text.get_charbox(index)
    return len(document)


def _our_boxes(pdf: Path) -> int:
    with PdfFile(pdf.read_bytes()) as file:
        for index in range(file.pages):
            with file.page(index) as page:
                layer_of(page, look_through(page, draw=False))
                _ = page.boxes
        return file.pages


def _our_scan(pdf: Path) -> int:
    options = LoadOptions(second_reader=False, ocr=False)
    with PdfFile(pdf.read_bytes()) as file:
        for index in range(file.pages):
            with file.page(index) as page:
                read_page(page, options)
                _ = page.boxes
        return file.pages


def _our_all(pdf: Path) -> int:
    return len(read(pdf.read_bytes(), pdf.name, LoadOptions(ocr=False)).pages)


def _pypdf(pdf: Path) -> int:
    import pypdf

    pages = pypdf.PdfReader(pdf).pages
    for page in pages:
        page.extract_text()
    return len(pages)


def _pdfplumber(pdf: Path) -> int:
    import pdfplumber

    with pdfplumber.open(pdf) as document:
        for page in document.pages:
            page.extract_text()
        return len(document.pages)


def _markitdown(pdf: Path) -> int:
    import pypdf
    from markitdown import MarkItDown

    MarkItDown(enable_plugins=False).convert(pdf)
    return len(pypdf.PdfReader(pdf).pages)
