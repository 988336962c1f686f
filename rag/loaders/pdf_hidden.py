"""Text of a PDF page that a person cannot see.

The test is the page's own picture: it is drawn once as it is and once without its text. Where the
two pictures agree, no letter can be seen, whatever the cause: white on white, under a box or a
picture, off the page, clipped away. What leaves no mark by declaration (invisible mode, wholly
transparent) or is too small to read is found without drawing. Only what looks suspicious at 54 dpi
is looked at again, larger and in colour.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from rag.loaders.hidden import unseen_runs
from rag.loaders.pdf import PdfPage
from rag.loaders.pdf_values import Grid, Note, Rect, Shape
from rag.paged import FindingKind

TINY = 1.1
"""Height in points below which letters cannot be read on paper."""
_SEEN = 26
"""Difference (of 255) from what lies behind that an eye notices; #E5E5E5 on white has it just."""
_QUICK = 0.75
_LARGER = 3.0
"""Pixels a point at the first and at the second look."""
_LIGHT = 225
_BEHIND = 0.8
"""Share of a light letter's box that must be darker than paper for the letter to show."""
_WHOLE = 0.85
"""A shape that covers more of the page than this is its background."""


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """One stretch that cannot be seen; indexes of PDF characters, half-open."""

    start: int
    end: int
    kind: FindingKind
    reason: str


@dataclass(frozen=True, kw_only=True)
class Cover:
    """What of a page can be seen."""

    hidden: tuple[Hidden, ...]
    keep: list[tuple[int, int]] | None = field(repr=False)
    """Ranges of characters that can be seen; None when all can."""
    share: float
    """Share of the letters and digits that cannot be seen."""


_LINE_END = re.compile("\r\n|\r|\n")
_REASONS = {
    1: "drawn in a way that leaves no mark",
    2: "too small to be read",
    3: "outside the visible page",
    4: "in the colour of what lies behind it",
    5: "under a picture",
    6: "under a drawn box",
    7: "under a mark-up box that did not remove the words",
    8: "marked for redaction, never carried out",
    9: "in a drawn box of the letters' own colour",
}
_REDACTIONS = {6, 7, 8, 9}
_MARKUP = {"box", "redact", "polygon", "circle", "ink", "stamp", "text box"}


def look_through(page: PdfPage, *, draw: bool = True) -> Cover:
    """What of the page's text can be seen; ``draw`` off finds only unseen characters."""
    chars = page.chars
    solid = np.frombuffer(bytes(map(str.isalnum, chars)) if draw else b"", dtype=np.bool_)
    found: list[Hidden] = []
    share = 0.0
    if solid.any():
        codes = np.zeros(len(chars), dtype=np.int8)
        _by_objects(page, codes, solid)
        _by_picture(page, codes, solid)
        _under_redact(page, codes)
        found = _runs(chars, codes, solid)
        share = float((codes[solid] > 0).mean())
    found += [
        Hidden(start=start, end=end, kind=FindingKind.HIDDEN_TEXT, reason=reason)
        for start, end, reason, _ in unseen_runs(chars)
    ]
    found.sort(key=lambda run: run.start)
    return Cover(hidden=tuple(found), keep=_keep(chars, found), share=share)


def _by_objects(page: PdfPage, codes: Grid, solid: Grid) -> None:
    """Invisible by declaration, or tiny."""
    invisible = {key for key, text in page.text_objects.items() if text.invisible}
    if invisible:
        drawn = np.array([key in invisible for key in page.drawn_by])
        codes[drawn] = 1
    heights = page.boxes[:, 3] - page.boxes[:, 1]
    widths = page.boxes[:, 2] - page.boxes[:, 0]
    small = solid & (np.maximum(heights, widths) < TINY) & (heights > 0)
    codes[small & (codes == 0)] = 2


def _by_picture(page: PdfPage, codes: Grid, solid: Grid) -> None:
    """No mark on the page where the letter should be."""
    keys = list(page.text_objects)
    wanted = solid & (codes == 0)
    if not wanted.any():
        return
    doubtful = wanted & ~_marked(page, keys, _QUICK, wanted)
    light = [key for key, text in page.text_objects.items() if min(text.color) >= _LIGHT]
    own = np.zeros_like(wanted)
    if light:  # light letters across dark ones: only their own marks count
        mine = set(light)
        own = wanted & np.array([key in mine for key in page.drawn_by])
        if own.any():
            doubtful |= own & ~_marked(page, light, _QUICK, own, light=True)
    if not doubtful.any():
        return
    doubtful = wanted  # at the first look a neighbour's ink may vouch for the edge of a word
    seen = _marked(page, keys, _LARGER, doubtful)
    if own.any():
        seen[own] = _marked(page, light, _LARGER, own, light=True)[own]
    unseen = doubtful & ~seen
    if unseen.any():
        _explain(page, unseen, codes)
        _whole_words(page.chars, codes)


def _marked(
    page: PdfPage, keys: list[int], scale: float, wanted: Grid, *, light: bool = False
) -> Grid:
    """Which of the wanted characters leave a mark when the objects ``keys`` are drawn.

    A light letter must also have something darker behind most of its box: where it merely crosses
    dark letters it changes a few dots, and nobody reads it.
    """
    color = scale > 1
    image = page.pixels(scale, color=color)
    with page.without(keys):
        bare = page.pixels(scale, color=color)
    marks = _difference(image, bare) > _SEEN
    boxes = page.to_pixels(page.boxes[wanted], marks.shape)
    # The second look stays a little inside the box, for a neighbour's edge must not vouch for a
    # covered letter; the first one looks around it, for thin stems fall between the pixels.
    inset = (boxes[:, 2:] - boxes[:, :2]) * 0.12 if scale > 1 else -0.5
    low = np.floor(boxes[:, :2] + inset).astype(np.int64)
    high = np.ceil(boxes[:, 2:] - inset).astype(np.int64)
    found = _inside(marks, low, high) > 0
    if light:
        darkest = bare if bare.ndim == 2 else bare.min(axis=2)
        found &= _inside(darkest < 255 - _SEEN, low, high) >= _BEHIND
    # A letter without a box (the second half of a ligature) cannot be judged: it counts as seen.
    boxless = (page.boxes[wanted, 2] - page.boxes[wanted, 0]) <= 0
    out: Grid = np.zeros(len(wanted), dtype=np.bool_)
    out[wanted] = found | boxless
    return out


def _inside(marks: Grid, low: Grid, high: Grid) -> Grid:
    """For every box (column, row corners) the share of its pixels that are marked.

    Sums run down the columns, which costs a fraction of a full table of areas; a box is then asked
    column by column, and letters are few columns wide.
    """
    height, width = marks.shape
    wide = np.uint16 if height < 1 << 16 else np.uint32
    sums = np.zeros((height + 1, width), dtype=wide)
    np.cumsum(marks, axis=0, dtype=wide, out=sums[1:])
    left, right = np.clip(low[:, 0], 0, width), np.clip(high[:, 0], 0, width)
    top, bottom = np.clip(low[:, 1], 0, height), np.clip(high[:, 1], 0, height)
    count = np.zeros(len(low), dtype=np.int64)
    open_ = np.flatnonzero(right > left)
    step = 0
    while len(open_):
        column = left[open_] + step
        count[open_] += sums[bottom[open_], column].astype(np.int64) - sums[top[open_], column]
        step += 1
        open_ = open_[left[open_] + step < right[open_]]
    area = (high - low).prod(axis=1)
    shares: Grid = count / np.maximum(area, 1)
    return shares


def _difference(one: Grid, two: Grid) -> Grid:
    """By how much two pictures differ, pixel by pixel; of three colours the largest."""
    gap: Grid = np.maximum(one, two)
    gap -= np.minimum(one, two)
    if gap.ndim == 3:
        gap = np.maximum(np.maximum(gap[..., 0], gap[..., 1]), gap[..., 2])
    return gap


def _explain(page: PdfPage, unseen: Grid, codes: Grid) -> None:
    """Say for every unseen letter what hides it."""
    width, height = page.size
    area = max(1.0, width * height)
    shapes = [shape for shape in page.shapes if _area(shape.rect) < _WHOLE * area]
    pictures = [shape for shape in page.shapes if shape.picture and shape not in shapes]
    notes = [note for note in page.notes() if note.kind in _MARKUP and not note.hidden]
    pixels = page.to_pixels(page.boxes, (round(height), round(width)))
    orders = {key: text.order for key, text in page.text_objects.items()}
    for at in np.flatnonzero(unseen):
        left, bottom, right, top = page.boxes[at]
        x, y = (left + right) / 2, (bottom + top) / 2
        px, py = (pixels[at, 0] + pixels[at, 2]) / 2, (pixels[at, 1] + pixels[at, 3]) / 2
        if not (0 <= px <= width and 0 <= py <= height):
            codes[at] = 3
        else:
            order = orders.get(page.drawn_by[at], -1)
            codes[at] = _cause(x, y, order, [*shapes, *pictures], notes)


def _cause(x: float, y: float, order: int, shapes: list[Shape], notes: list[Note]) -> int:
    """What hides the letter at ``x``, ``y`` whose turn in the drawing is ``order``."""
    if any(_holds(note.rect, x, y) for note in notes):
        return 7
    here = [shape for shape in shapes if _holds(shape.rect, x, y)]
    if any(shape.order > order and not shape.picture for shape in here):
        return 6
    if any(not shape.picture and min(shape.color) < _LIGHT for shape in here):
        return 9
    return 5 if any(shape.order > order for shape in here) else 4


def _under_redact(page: PdfPage, codes: Grid) -> None:
    """Words that are marked for redaction but still there."""
    rects = [note.rect for note in page.notes() if note.kind == "redact"]
    for left, bottom, right, top in rects:
        x = (page.boxes[:, 0] + page.boxes[:, 2]) / 2
        y = (page.boxes[:, 1] + page.boxes[:, 3]) / 2
        inside = (left <= x) & (x <= right) & (bottom <= y) & (y <= top)
        codes[inside & (codes == 0)] = 8


def _holds(rect: Rect, x: float, y: float) -> bool:
    return rect[0] <= x <= rect[2] and rect[1] <= y <= rect[3]


def _area(rect: Rect) -> float:
    return max(0.0, rect[2] - rect[0]) * max(0.0, rect[3] - rect[1])


def _whole_words(chars: str, codes: Grid) -> None:
    """A letter or two that vanish inside a word that shows are a matter of drawing, not hidden."""
    at = 0
    for word in chars.split():
        start = chars.index(word, at)
        at = start + len(word)
        part = codes[start:at]
        unseen = int(((part == 4) | (part == 5)).sum())
        if 0 < unseen * 2 < sum(map(str.isalnum, word)):
            part[(part == 4) | (part == 5)] = 0


def _runs(chars: str, codes: Grid, solid: Grid) -> list[Hidden]:
    """Neighbouring hidden letters as one stretch; marks and spaces between them go along."""
    out: list[Hidden] = []
    start, end, code = -1, -1, 0
    for at in np.flatnonzero(codes).tolist():
        here = int(codes[at])
        joined = start >= 0 and here == code and not solid[end:at].any()
        if joined:
            end = at + 1
            continue
        if start >= 0:
            out.append(_hidden(chars, start, end, code))
        start, end, code = at, at + 1, here
    if start >= 0:
        out.append(_hidden(chars, start, end, code))
    return [run for run in out if solid[run.start : run.end].any()]


def _hidden(chars: str, start: int, end: int, code: int) -> Hidden:
    """A stretch with the punctuation that hangs on its end."""
    while end < len(chars) and not chars[end].isalnum() and not chars[end].isspace():
        end += 1
    kind = FindingKind.FAILED_REDACTION if code in _REDACTIONS else FindingKind.HIDDEN_TEXT
    return Hidden(start=start, end=end, kind=kind, reason=_REASONS[code])


def _keep(chars: str, found: list[Hidden]) -> list[tuple[int, int]] | None:
    """What is left; line ends inside a hidden stretch stay, so the lines around it do not merge."""
    if not found:
        return None
    out: list[tuple[int, int]] = []
    done = 0
    for run in found:
        if run.start > done:
            out.append((done, run.start))
        ends = _LINE_END.finditer(chars, max(done, run.start), run.end)
        out += [match.span() for match in ends]
        done = max(done, run.end)
    out.append((done, len(chars)))
    return out
