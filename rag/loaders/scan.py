"""Pages that are pictures: the door to the OCR program.

tesseract reads one page at a time in a child with one thread and gives every word with its box and
its confidence. Without the program a page is unreadable, and the reason names the package.
"""

from __future__ import annotations

import csv
import io
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL.Image import Image

from protocol.record import Reading
from rag.loaders.options import LoadOptions
from rag.loaders.parts import PageDraft, Unread
from rag.loaders.tools import run_tool

MISSING = "a picture without text: install tesseract-ocr to have it read"
POOR = 0.6
"""Mean word confidence below which the page is tried turned, and is called doubtful."""
_TURNS = (90, 270, 180)


@dataclass(frozen=True, kw_only=True)
class Word:
    """One recognised word; pixels of the picture, origin at the top left."""

    start: int
    end: int
    confidence: float
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """The text of a picture, and its words."""

    text: str
    words: tuple[Word, ...]
    confidence: float
    turned: int = 0
    """Degrees, counter-clockwise, by which the picture was turned before it was read."""


def program() -> str | None:
    """The OCR program, if it is there."""
    return shutil.which("tesseract")


@lru_cache(maxsize=4)
def _languages(path: str) -> frozenset[str]:
    with TemporaryDirectory(prefix="ocr-") as folder:
        out = run_tool([path, "--list-langs"], folder=Path(folder), options=LoadOptions())
    return frozenset(out.decode("utf-8", "replace").split("\n")[1:]) - {""}


def read_picture(picture: Image, options: LoadOptions) -> Scanned:
    """The words of a picture. Raises `Unread` when there is no program, or it fails."""
    path = program()
    if path is None:
        raise Unread(MISSING)
    missing = [name for name in options.languages if name not in _languages(path)]
    if missing:
        wanted = ", ".join(f"tesseract-ocr-{name.replace('_', '-')}" for name in missing)
        raise Unread(f"a picture without text, and OCR lacks its language: install {wanted}")
    best = _once(path, picture, options)
    if best.confidence < POOR:
        for turn in _TURNS:
            tried = _once(path, picture.rotate(turn, expand=True), options)
            if _worth(tried) > _worth(best) * 1.2:
                best = Scanned(
                    text=tried.text, words=tried.words, confidence=tried.confidence, turned=turn
                )
            if best.confidence >= 0.8:
                break
    return best


def _worth(scanned: Scanned) -> float:
    return sum(word.confidence for word in scanned.words if word.confidence > 0.5)


def _once(path: str, picture: Image, options: LoadOptions) -> Scanned:
    image = io.BytesIO()
    picture.save(image, "PNG", dpi=(options.ocr_dpi, options.ocr_dpi), compress_level=1)
    # The picture goes through a pipe: nothing of a document is written to disk for this.
    with TemporaryDirectory(prefix="ocr-") as folder:
        out = run_tool(
            [
                path,
                "stdin",
                "stdout",
                "-l",
                "+".join(options.languages),
                "--dpi",
                str(options.ocr_dpi),
                "--psm",
                "3",
                "tsv",
            ],
            folder=Path(folder),
            options=options,
            seconds=options.ocr_seconds,
            stdin=image.getvalue(),
            extra={"OMP_THREAD_LIMIT": "1"},
        )
    return _parse(out.decode("utf-8", "replace"))


def _parse(table: str) -> Scanned:
    """Lines and paragraphs of the TSV as text; every word keeps its span."""
    text = ""
    words: list[Word] = []
    before: tuple[str, ...] = ()
    rows = csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
    for row in rows:
        said = (row.get("text") or "").strip()
        if row.get("level") != "5" or not said:
            continue
        line = (row["block_num"], row["par_num"], row["line_num"])
        if before:
            text += " " if line == before else "\n" if line[:2] == before[:2] else "\n\n"
        before = line
        left, top = int(row["left"]), int(row["top"])
        words.append(
            Word(
                start=len(text),
                end=len(text) + len(said),
                confidence=max(0.0, float(row["conf"]) / 100),
                left=left,
                top=top,
                right=left + int(row["width"]),
                bottom=top + int(row["height"]),
            )
        )
        text += said
    mean = sum(word.confidence for word in words) / len(words) if words else 0.0
    return Scanned(text=text, words=tuple(words), confidence=mean)


def page_of(picture: Image, options: LoadOptions) -> PageDraft:
    """A picture as a page: recognised, or unreadable with the reason."""
    if not options.ocr:
        return PageDraft.unread("a picture without text; OCR is switched off for this matter")
    try:
        scanned = read_picture(picture, options)
    except Unread as error:
        return PageDraft.unread(str(error))
    if not scanned.words:
        return PageDraft.unread("a picture in which no words were recognised")
    return draft_of(scanned)


def draft_of(scanned: Scanned) -> PageDraft:
    """A recognised page."""
    reason = ""
    if scanned.confidence < POOR:
        reason = f"recognised with low confidence ({scanned.confidence:.0%}): read it by eye"
    if scanned.turned:
        reason = "; ".join(filter(None, [reason, "the picture was turned to be read"]))
    return PageDraft(
        text=scanned.text, reading=Reading.OCR, confidence=scanned.confidence, reason=reason
    )
