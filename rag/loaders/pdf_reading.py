"""A PDF into paged text: which pages have words, which are pictures, what else stands on them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from protocol.record import Reading
from rag.loaders import labels, scan, second, transcript
from rag.loaders.options import LoadOptions
from rag.loaders.page_runs import Mapped, joined, rows_of
from rag.loaders.parts import Draft, PageDraft, Part, Unread
from rag.loaders.pdf import PdfFile, PdfPage
from rag.loaders.pdf_hidden import Cover, look_through
from rag.loaders.pdf_margin import put_back
from rag.paged import FindingKind, PlaceKind

DARK = 64
"""Mean brightness, 0 to 255, below which a page of one colour is no blank sheet of paper."""
FEW_WORDS = 25
"""A page with fewer words than this (stamps left out) under a large picture is a scan."""
LARGE = 0.4
"""Share of the page that pictures must cover for it to be a scan."""
LAYER = 0.8
"""Share of letters that must be unseen for the text to be the layer of a scan."""
SAME = 0.6
"""Share of a scan's text layer that our own OCR must find, or the layer is reported."""
_WORD = re.compile(r"\w{3,}")


def read(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A PDF file. Raises `Unread` when it is locked or cannot be opened."""
    draft = Draft(kind="pdf")
    with PdfFile(data) as file:
        counter = second.PdfCounter(data) if options.second_reader else None
        for index in range(file.pages):
            theirs = counter.count(index) if counter else None
            try:
                with file.page(index) as page:
                    made = read_page(page, options)
                    if theirs is not None and made.reading is Reading.TEXT:
                        made.readers_disagree = second.apart(second.count(page.chars), theirs)
            except Unread as error:
                made = PageDraft.unread(str(error))
            except MemoryError:
                raise
            except Exception as error:  # what is not looked through is not admitted as text
                made = _unchecked(file, index, options, type(error).__name__)
            made.label = file.label(index)
            draft.pages.append(made)
            options.done(index + 1, file.pages)
        for title, attached in file.attachments():
            problem = "" if attached is not None else "it is damaged inside the PDF"
            draft.parts.append(
                Part(name=title, data=attached or b"", parent_at=None, problem=problem)
            )
        if file.has_xfa:
            draft.warn("a form of the XFA kind: what its fields hold is not read; print it to PDF")
    if counter is not None and not counter.opened:
        draft.warn("the second reader could not open this file: its pages were counted once only")
    _say_disagreements(draft)
    transcript.mark(draft.pages)
    labels.mark(draft)
    return draft


def _unchecked(file: PdfFile, index: int, options: LoadOptions, error: str) -> PageDraft:
    """A page on which the check failed: not read, unless a person has admitted the file."""
    if options.admitted:
        try:
            with file.page(index) as page:
                made = read_page(page, replace(options, hidden_scan=False))
        except MemoryError:
            raise
        except Exception as again:  # it is the page itself that cannot be read
            error = type(again).__name__
        else:
            made.readers_disagree = True
            made.reason = "admitted by hand: it could not be looked through for hidden text"
            return made
    return PageDraft.unread(f"the page is damaged and could not be checked ({error})")


def read_page(page: PdfPage, options: LoadOptions) -> PageDraft:
    """One page of a PDF that is open."""
    cover = look_through(page, draw=options.hidden_scan)
    mapped = layer_of(page, cover)
    pictured = picture_share(page)
    if pictured >= LARGE and page.chars.strip() and cover.share >= LAYER:
        return _layered(page, options)
    if is_scan(page, mapped.text, pictured):
        made = _recognised(page, options)
        made.layer = mapped.text
        for run in cover.hidden:
            made.find(run.kind, 0, run.reason, " ".join(page.chars[run.start : run.end].split()))
    else:
        made = PageDraft(text=mapped.text)
        if not page.chars.strip():
            made = _blank(page)
        if pictured >= LARGE:
            made.reason = f"pictures cover {pictured:.0%} of the page; words in them are not read"
        _note_hidden(page, mapped, cover, made)
    _add_notes(page, made)
    return made


def layer_of(page: PdfPage, cover: Cover) -> Mapped:
    """The canonical text of a page's text layer without what is hidden, and the way back."""
    rows = rows_of(page.chars, cover.keep)
    if _may_have_margin(page.chars):
        rows = put_back(rows, page.boxes)
    return joined(rows)


def _may_have_margin(chars: str) -> bool:
    """A cheap look before any box is asked for: a few lines that are a short number alone."""
    lines = (line.strip() for line in chars.splitlines())
    return sum(line.isdigit() and len(line) < 3 for line in lines) >= 3


def picture_share(page: PdfPage) -> float:
    """Share of the page under its pictures, 0 to 1; overlaps count once (a coarse grid)."""
    width, height = page.size
    rects = [shape.rect for shape in page.shapes if shape.picture]
    if not rects or width <= 0 or height <= 0:
        return 0.0
    steps = 16
    hit = 0
    for column in range(steps):
        for row in range(steps):
            x, y = (column + 0.5) * width / steps, (row + 0.5) * height / steps
            hit += any(r[0] <= x <= r[2] and r[1] <= y <= r[3] for r in rects)
    return hit / steps**2


def is_scan(page: PdfPage, text: str, pictured: float) -> bool:
    """Whether a page's words are in its picture and not in its text.

    A stamp that a court or a production printed over a scan is no text of the page. A page without
    any words is a scan when something is drawn on it.
    """
    words = len(_without_stamps(text).split())
    if words >= FEW_WORDS:
        return False
    if pictured >= LARGE:
        return True
    return words == 0 and _something_drawn(page)


def _without_stamps(text: str) -> str:
    for start, end in reversed(labels.court_stamps(text)):
        text = text[:start] + text[end:]
    return text


def _something_drawn(page: PdfPage) -> bool:
    drawn = page.pixels(0.5)
    return int(drawn.max()) - int(drawn.min()) > 24


def _recognised(page: PdfPage, options: LoadOptions) -> PageDraft:
    if not _something_drawn(page):
        return _blank(page)
    return scan.page_of(page.picture(options.ocr_dpi / 72), options)


def _blank(page: PdfPage) -> PageDraft:
    """A page of one colour: blank, unless it is dark or a picture on it could not be drawn."""
    if page.has_undrawn_pictures():
        return PageDraft.unread("a picture on this page is damaged or too large to be drawn")
    if float(page.pixels(0.1).mean()) < DARK:
        return PageDraft.unread("the page is one dark area: nothing on it can be read")
    return PageDraft(reason="the page is blank")


def _layered(page: PdfPage, options: LoadOptions) -> PageDraft:
    """A scan that brings a text layer nobody sees: what counts is what the picture shows."""
    layer = joined(rows_of(page.chars)).text
    made = _recognised(page, options)
    made.layer = layer
    if made.reading is not Reading.OCR:
        why = made.reason
        made = PageDraft(text=layer, reading=Reading.OCR)
        made.reason = f"text layer of a scan, not compared with the picture ({why})"
        return made
    theirs, ours = Counter(_WORD.findall(layer.lower())), Counter(_WORD.findall(made.text.lower()))
    total = sum(theirs.values())
    if total and sum((theirs & ours).values()) < SAME * total:
        made.find(
            FindingKind.HIDDEN_TEXT,
            0,
            "the text layer under this scan says other words than the picture",
            layer,
        )
    return made


def _note_hidden(page: PdfPage, mapped: Mapped, cover: Cover, made: PageDraft) -> None:
    for run in cover.hidden:
        words = " ".join(page.chars[run.start : run.end].split())
        made.find(run.kind, mapped.offset(run.start), run.reason, words)


def _add_notes(page: PdfPage, made: PageDraft) -> None:
    """Form fields and comments, after the page's own words."""
    for note in page.notes():
        if not note.text:
            continue
        if note.hidden:
            made.find(
                FindingKind.HIDDEN_TEXT,
                len(made.text),
                f"a {note.kind} that is not shown",
                note.text,
            )
            continue
        field = note.kind == "field"
        kind = PlaceKind.FORM_FIELD if field else PlaceKind.ANNOTATION
        label = note.label if field else " by ".join(filter(None, [note.kind, note.label]))
        text = " ".join(note.text.split())
        made.add(f"{note.label}: {text}" if field and note.label else text, kind, label)


def _say_disagreements(draft: Draft) -> None:
    for page in draft.pages:
        if page.readers_disagree and not page.reason:
            page.reason = "two readers count the words of this page more than 2 % apart"
