"""From a span of the canonical text to rectangles on the pages of the original PDF.

Nothing is stored for this: the page is read again in the same way, and its text must come out as
it stands in the record, else there are no rectangles rather than wrong ones.
"""

from __future__ import annotations

from pathlib import Path

from protocol.record import PageInfo, Reading
from rag.loaders import scan
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Unread
from rag.loaders.pdf import PdfFile, PdfPage
from rag.loaders.pdf_hidden import look_through
from rag.loaders.pdf_reading import layer_of
from rag.loaders.pdf_values import Grid
from rag.paged import Box, PagedText


def find_boxes(
    original: Path, paged: PagedText, start: int, end: int, options: LoadOptions | None = None
) -> tuple[Box, ...]:
    """Rectangles, one a line, behind ``start``-``end`` of a PDF's text, in reading order.

    Empty when the text does not stand in the page's own layer (a form field's value), when the
    original is no longer the file the text came from, or when it cannot be opened.
    """
    chosen = options or LoadOptions()
    out: list[Box] = []
    try:
        with PdfFile(original.read_bytes()) as file:
            for info in paged.pages:
                low, high = max(start, info.start), min(end, info.end)
                if low < high and info.number <= file.pages:
                    with file.page(info.number - 1) as page:
                        out += _on_page(page, paged, info, low, high, chosen)
    except (Unread, OSError):
        return ()
    return tuple(out)


def _on_page(
    page: PdfPage, paged: PagedText, info: PageInfo, low: int, high: int, options: LoadOptions
) -> list[Box]:
    text = paged.text[info.start : info.end]
    low, high = low - info.start, high - info.start
    if info.reading is Reading.OCR:
        return _of_scan(page, text, info.number, low, high, options)
    mapped = layer_of(page, look_through(page, draw=options.hidden_scan))
    if not text.startswith(mapped.text):
        return []
    out: list[Box] = []
    line_start = low
    for piece in mapped.text[low:high].split("\n"):
        chars = [
            at
            for at in mapped.chars(line_start, line_start + len(piece))
            if not page.chars[at].isspace()
        ]
        line_start += len(piece) + 1
        boxes = page.boxes[chars]
        boxes = boxes[(boxes[:, 2] > boxes[:, 0]) | (boxes[:, 3] > boxes[:, 1])]
        if len(boxes):
            out.append(_around(info.number, boxes))
    return out


def _around(number: int, boxes: Grid) -> Box:
    return Box(
        page=number,
        left=float(boxes[:, 0].min()),
        bottom=float(boxes[:, 1].min()),
        right=float(boxes[:, 2].max()),
        top=float(boxes[:, 3].max()),
    )


def _of_scan(
    page: PdfPage, text: str, number: int, low: int, high: int, options: LoadOptions
) -> list[Box]:
    """Boxes of recognised words; the page is recognised again and must give the same text."""
    picture = page.picture(options.ocr_dpi / 72)
    scanned = scan.read_picture(picture, options)
    if scanned.turned or not text.startswith(scanned.text):
        return []
    scale = 72 / options.ocr_dpi
    height = picture.height
    return [
        Box(
            page=number,
            left=word.left * scale,
            bottom=(height - word.bottom) * scale,
            right=word.right * scale,
            top=(height - word.top) * scale,
        )
        for word in scanned.words
        if word.start < high and word.end > low
    ]
