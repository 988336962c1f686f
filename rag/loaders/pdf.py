"""The door to PDFium: an open PDF as plain Python values.

Nothing here decides what a page says; it gives characters by index, their boxes, the objects they
were drawn by, pictures of the page, and annotations. Coordinates are PDF points in the page's own
space (origin lower left, before the page's rotation). PDFium is not safe for threads: one process
reads one file at a time.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np
import pypdfium2 as pdfium  # noqa: TID251
import pypdfium2.raw as raw  # noqa: TID251
from PIL.Image import Image, fromarray

from rag.loaders.parts import Unread
from rag.loaders.pdf_values import Grid, Note, Rect, Shape, TextObject

_MAX_PAGES = 50_000
_MAX_PIXELS = 30_000_000
"""Of one picture of a page; a sheet of A3 at 300 dots per inch has 17 million."""
_DEPTH = 6
_MAX_OBJECTS = 400_000
"""Of one page, over all its forms; a page of more is not read rather than read in part."""
_MOST_TRIED = 200
_MAX_DECODED = 200_000_000
"""Dots of a picture that is decoded only to see whether it can be."""
_MAX_SIDE = 50_000.0
"""Points; some seventeen metres."""
_INVISIBLE = {3, 7}
_OUTLINED = {1, 2, 5, 6}
"""Text rendering modes (PDF 32000-1, table 106) that draw nothing; that draw an outline."""
_SAME_LETTER = str.maketrans("\u037e\u0387\u2126\u212a\u212b", ";\u00b7\u03a9K\u00c5")
"""Characters that Unicode holds for the very same as another one; fonts name them by mistake."""
_HIDDEN_FLAGS = 0x02 | 0x20  # Hidden, NoView: PDF 32000-1, table 165


class PdfFile:
    """An open PDF. Close it; its pages must not be used afterwards."""

    def __init__(self, data: bytes) -> None:
        """Open ``data``. Raises `Unread` when it is locked or cannot be parsed."""
        try:
            self._document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            code = raw.FPDF_GetLastError()
            if code == raw.FPDF_ERR_PASSWORD or "assword" in str(error):
                reason = "the PDF is locked with a password: save a copy without it"
            else:
                reason = "the PDF is damaged and could not be opened"
            raise Unread(reason) from error
        self.pages = len(self._document)
        if self.pages > _MAX_PAGES:
            self.close()
            raise Unread(
                f"the PDF says it has {self.pages} pages, more than are read from one file"
            )

    def close(self) -> None:
        """Give everything back."""
        self._document.close()

    def __enter__(self) -> PdfFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def page(self, index: int) -> Iterator[PdfPage]:
        """Page ``index`` (from 0). Raises `Unread` when it cannot be parsed."""
        try:
            page = self._document[index]
        except pdfium.PdfiumError as error:
            raise Unread("the page is damaged") from error
        try:
            text = page.get_textpage()
        except pdfium.PdfiumError as error:
            page.close()
            raise Unread("the text of the page is damaged") from error
        try:
            yield PdfPage(page, text)
        finally:
            text.close()
            page.close()

    def label(self, index: int) -> str | None:
        """The page's label from the file's own table; None when there is none."""
        return self._document.get_page_label(index) or None

    @property
    def title(self) -> str:
        """The title the file states about itself; often wrong, often empty."""
        return str(self._document.get_metadata_value("Title"))

    @property
    def has_xfa(self) -> bool:
        """Whether the file is a form whose fields stand outside its pages."""
        return bool(self._document.get_formtype() == raw.FORMTYPE_XFA_FULL)

    def attachments(self) -> list[tuple[str, bytes | None]]:
        """Files embedded in the document: name and bytes; None where they are damaged."""
        out: list[tuple[str, bytes | None]] = []
        for index in range(min(self._document.count_attachments(), 10_000)):
            name, data = f"attachment {index + 1}", None
            with suppress(pdfium.PdfiumError):
                attached = self._document.get_attachment(index)
                name = attached.get_name() or name
                data = bytes(attached.get_data())
            out.append((name, data))
        return out


class PdfPage:
    """One page while it is open."""

    def __init__(self, page: Any, text: Any) -> None:
        self._page = page
        self._text = text

    @cached_property
    def chars(self) -> str:
        """The page's characters; index here is the index of every other method.

        A character without a meaning in Unicode stands as U+FFFD.
        """
        count = self._text.count_chars()
        if count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (count + 1))()
        written = raw.FPDFText_GetText(self._text.raw, 0, count, buffer)
        quick = bytes(memoryview(buffer)[: max(0, written - 1)]).decode("utf-16-le", "replace")
        if len(quick) == count:
            return quick.translate(_SAME_LETTER)
        get = raw.FPDFText_GetUnicode
        handle = self._text.raw
        return "".join(_char(get(handle, index)) for index in range(count)).translate(_SAME_LETTER)

    @cached_property
    def boxes(self) -> Grid:
        """Left, bottom, right, top of every character, one row each; zeros for made-up ones."""
        count = len(self.chars)
        left, right = ctypes.c_double(), ctypes.c_double()
        bottom, top = ctypes.c_double(), ctypes.c_double()
        get, handle = raw.FPDFText_GetCharBox, self._text.raw
        rows: list[Rect] = []
        add = rows.append
        for index in range(count):
            if get(handle, index, left, right, bottom, top):
                add((left.value, bottom.value, right.value, top.value))
            else:
                add((0.0, 0.0, 0.0, 0.0))
        return np.array(rows, dtype=np.float64).reshape(count, 4)

    @cached_property
    def drawn_by(self) -> list[int]:
        """For every character the key of its text object; 0 for a made-up one."""
        get, handle = raw.FPDFText_GetTextObject, self._text.raw
        cast, void = ctypes.cast, ctypes.c_void_p
        return [cast(get(handle, index), void).value or 0 for index in range(len(self.chars))]

    @cached_property
    def text_objects(self) -> dict[int, TextObject]:
        """Every text object of the page by key, those inside form objects among them."""
        return self._objects[1]

    @property
    def shapes(self) -> list[Shape]:
        """Pictures and filled paths in the order they are drawn, those inside forms among them."""
        return self._objects[0]

    @cached_property
    def _objects(self) -> tuple[list[Shape], dict[int, TextObject]]:
        shapes: list[Shape] = []
        texts: dict[int, TextObject] = {}
        walk = (raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject)
        _collect(self._page.raw, walk, None, shapes, texts, 0, [_MAX_OBJECTS])
        return shapes, texts

    def has_undrawn_pictures(self) -> bool:
        """Whether a picture on the page cannot be decoded, or is larger than is drawn."""
        kinds = [raw.FPDF_PAGEOBJ_IMAGE]
        for count, each in enumerate(self._page.get_objects(filter=kinds, max_depth=_DEPTH)):
            try:
                width, height = each.get_px_size()
                if count >= _MOST_TRIED or width * height > _MAX_DECODED:
                    return True
                each.get_bitmap().close()
            except pdfium.PdfiumError:
                return True
        return False

    @contextmanager
    def without(self, keys: list[int]) -> Iterator[None]:
        """Within it, the named text objects are not drawn."""
        handles = [ctypes.cast(key, raw.FPDF_PAGEOBJECT) for key in keys]
        for handle in handles:
            raw.FPDFPageObj_SetIsActive(handle, False)
        try:
            yield
        finally:
            for handle in handles:
                raw.FPDFPageObj_SetIsActive(handle, True)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height as shown, in points."""
        width, height = self._page.get_size()
        return float(width), float(height)

    def pixels(self, scale: float, *, color: bool = False) -> Grid:
        """The page as a person sees it: bytes of (row, column) in grey, or with three colours.

        ``scale`` is pixels per point; a page too large for it is drawn smaller. Raises `Unread`
        when the page has no size.
        """
        scale = self.scale_that_fits(scale)
        bitmap = self._page.render(scale=scale, grayscale=not color, draw_annots=True)
        drawn: Grid = bitmap.to_numpy()[..., :3].copy() if color else bitmap.to_numpy().copy()
        bitmap.close()
        return drawn.reshape(drawn.shape[:2]) if not color else drawn

    def scale_that_fits(self, scale: float) -> float:
        """``scale``, or the largest at which the page's picture stays within bounds."""
        width, height = self.size
        if not (1 <= width <= _MAX_SIDE and 1 <= height <= _MAX_SIDE):
            raise Unread("the page states a size that no paper has")
        return min(scale, math.sqrt(_MAX_PIXELS / (width * height)))

    def picture(self, scale: float) -> Image:
        """The page as a grey picture; see `pixels`."""
        return fromarray(self.pixels(scale))

    def to_pixels(self, boxes: Grid, shape: tuple[int, int]) -> Grid:
        """Boxes in points as pixel boxes (left, top, right, bottom) of a picture of that shape.

        ``shape`` is (height, width). The page's rotation and crop are in it.
        """
        height, width = shape
        x, y = ctypes.c_int(), ctypes.c_int()
        corners = []
        unit = 1000.0  # far points, for the call gives whole pixels
        for px, py in ((0.0, 0.0), (unit, 0.0), (0.0, unit)):
            raw.FPDF_PageToDevice(self._page.raw, 0, 0, width * 64, height * 64, 0, px, py, x, y)
            corners.append((x.value / 64, y.value / 64))
        (ox, oy), (ax, ay), (bx, by) = corners
        matrix = np.array([[ax - ox, ay - oy], [bx - ox, by - oy]]) / unit
        one = boxes[:, :2] @ matrix + (ox, oy)
        two = boxes[:, 2:] @ matrix + (ox, oy)
        return np.hstack([np.minimum(one, two), np.maximum(one, two)])

    def notes(self) -> list[Note]:
        """Annotations that say something, and form fields with a value."""
        out = []
        for index in range(min(raw.FPDFPage_GetAnnotCount(self._page.raw), 5_000)):
            handle = raw.FPDFPage_GetAnnot(self._page.raw, index)
            if not handle:
                continue
            try:
                if (note := _note(handle)) is not None:
                    out.append(note)
            finally:
                raw.FPDFPage_CloseAnnot(handle)
        return out


_NOTES = {
    raw.FPDF_ANNOT_TEXT: "note",
    raw.FPDF_ANNOT_FREETEXT: "text box",
    raw.FPDF_ANNOT_HIGHLIGHT: "highlight",
    raw.FPDF_ANNOT_UNDERLINE: "underline",
    raw.FPDF_ANNOT_STRIKEOUT: "strike-out",
    raw.FPDF_ANNOT_SQUARE: "box",
    raw.FPDF_ANNOT_CIRCLE: "circle",
    raw.FPDF_ANNOT_POLYGON: "polygon",
    raw.FPDF_ANNOT_INK: "ink",
    raw.FPDF_ANNOT_STAMP: "stamp",
    raw.FPDF_ANNOT_CARET: "caret",
    raw.FPDF_ANNOT_REDACT: "redact",
    raw.FPDF_ANNOT_WIDGET: "field",
}


def _note(handle: Any) -> Note | None:
    kind = _NOTES.get(raw.FPDFAnnot_GetSubtype(handle))
    if kind is None:
        return None
    rect = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(handle, rect)
    bounds = (
        min(rect.left, rect.right),
        min(rect.bottom, rect.top),
        max(rect.left, rect.right),
        max(rect.bottom, rect.top),
    )
    field = kind == "field"
    return Note(
        kind=kind,
        rect=bounds,
        text=_string(handle, b"V" if field else b"Contents").strip(),
        label=_string(handle, b"T").strip(),
        hidden=bool(raw.FPDFAnnot_GetFlags(handle) & _HIDDEN_FLAGS),
    )


def _string(handle: Any, key: bytes) -> str:
    length = raw.FPDFAnnot_GetStringValue(handle, key, None, 0)
    if length <= 2 or length > 1 << 20:
        return ""
    buffer = (ctypes.c_ushort * (length // 2))()
    raw.FPDFAnnot_GetStringValue(handle, key, buffer, length)
    return bytes(memoryview(buffer)).decode("utf-16-le", "replace").rstrip("\x00")


def _char(code: int) -> str:
    if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000:
        return chr(code)
    return "\ufffd" if code else " "


_IN_FORM = (raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject)


def _collect(
    holder: Any,
    walk: tuple[Callable[[Any], int], Callable[[Any, int], Any]],
    matrix: Grid | None,
    shapes: list[Shape],
    texts: dict[int, TextObject],
    depth: int,
    budget: list[int],
) -> None:
    """Walk the objects of a page or form; ``matrix`` places the form (None: as it is).

    ``budget`` holds how many objects may still be looked at, over all forms of the page.
    """
    count, get = walk
    for index in range(min(max(0, count(holder)), _MAX_OBJECTS)):
        budget[0] -= 1
        if budget[0] < 0:
            raise Unread("the page is drawn of more pieces than are looked through")
        handle = get(holder, index)
        kind = raw.FPDFPageObj_GetType(handle)
        order = len(shapes) + len(texts)
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            text = _text_object(handle, order)
            texts[text.key] = text
        elif kind == raw.FPDF_PAGEOBJ_PATH:
            if (color := _fill(handle)) is not None:
                rect = _bounds(handle, matrix)
                shapes.append(Shape(rect=rect, order=order, picture=False, color=color))
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _DEPTH:
            inner = _matrix_of(handle) if matrix is None else _matrix_of(handle) @ matrix
            _collect(handle, _IN_FORM, inner, shapes, texts, depth + 1, budget)
        elif kind in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_SHADING):
            rect = _bounds(handle, matrix)
            shapes.append(Shape(rect=rect, order=order, picture=True, color=(0, 0, 0)))


def _text_object(handle: Any, order: int) -> TextObject:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    mode = raw.FPDFTextObj_GetTextRenderMode(handle)
    outlined = mode in _OUTLINED
    color = raw.FPDFPageObj_GetStrokeColor if outlined else raw.FPDFPageObj_GetFillColor
    told = color(handle, red, green, blue, alpha)
    return TextObject(
        key=ctypes.cast(handle, ctypes.c_void_p).value or 0,
        order=order,
        invisible=mode in _INVISIBLE or (bool(told) and alpha.value < 8 and mode == 0),
        color=(red.value, green.value, blue.value) if told else (0, 0, 0),
    )


def _bounds(handle: Any, matrix: Grid | None) -> Rect:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    raw.FPDFPageObj_GetBounds(handle, left, bottom, right, top)
    if matrix is None:
        return left.value, bottom.value, right.value, top.value
    corners = [[x, y, 1.0] for x in (left.value, right.value) for y in (bottom.value, top.value)]
    placed = (np.array(corners) @ matrix)[:, :2]
    (x0, y0), (x1, y1) = placed.min(axis=0), placed.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _matrix_of(handle: Any) -> Grid:
    m = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(handle, m):
        return np.eye(3)
    return np.array([[m.a, m.b, 0.0], [m.c, m.d, 0.0], [m.e, m.f, 1.0]])


def _fill(handle: Any) -> tuple[int, int, int] | None:
    """The colour a path is filled with; None when it is not filled, or so thinly that all shows."""
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    if not raw.FPDFPath_GetDrawMode(handle, mode, stroke) or not mode.value:
        return None
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not raw.FPDFPageObj_GetFillColor(handle, red, green, blue, alpha) or alpha.value < 128:
        return None
    return red.value, green.value, blue.value
