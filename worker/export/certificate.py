"""The cite-check report of an answer: one page, for a partner to sign.

What was checked, by which version, against how much of the record; every item that is not green
with its reason; a line for the signature. Items beyond one page are counted and stand in the Word
file.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import Final

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from protocol.answers import GREEN, Answer
from worker.export import reading
from worker.export.visible import visible

_LATIN: Final = "Helvetica"
_KOREAN: Final = "HYGothic-Medium"
_LEFT, _TOP, _BOTTOM = 56.0, 790.0, 130.0
_WIDTH: Final = A4[0] - 2 * _LEFT
_MOST_LINES: Final = 4
"""Lines an item may take."""


def render(answer: Answer, title: str) -> bytes:
    """The file's bytes; the same for the same answer."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, invariant=1, pageCompression=0)
    canvas.setTitle(str(answer.job))
    canvas.setAuthor("")
    canvas.setCreator("")
    canvas.setProducer("")
    page = _Page(canvas)
    page.line(f"Cite-check report: {title}", size=14)
    page.line(f"{answer.matter} · {answer.job} · {answer.kind}", size=9)
    page.line(reading.state(answer), size=10)
    page.gap()
    for said in _facts(answer):
        page.line(said, size=9)
    page.gap()
    items = [*reading.open_rows(answer), *_open_items(answer)]
    page.line("Items that are not verified" if items else "Every item is verified.", size=10)
    for at, said in enumerate(items):
        if not page.line(said, size=8.5, most=_MOST_LINES):
            page.line(f"{len(items) - at} further items stand in the Word file.", size=9, last=True)
            break
    page.signature()
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def _open_items(answer: Answer) -> Iterator[str]:
    for item in reading.marked(answer):
        if item.verdict not in GREEN:
            words = reading.plain(answer.text[item.start : item.end])
            yield f"{item.number}  “{words[:120]}”: {reading.comment(item)[2:]}"


def _facts(answer: Answer) -> Iterator[str]:
    yield f"Text checked (SHA-256): {answer.text_sha256}"
    yield f"Checker: {answer.provenance.checker_version or 'did not run'}"
    made = answer.provenance
    yield f"Made by: {made.composition or 'unknown'} {made.model}".rstrip()
    yield reading.counts(answer)
    if said := reading.opened(answer):
        yield said
    yield from reading.coverage_lines(answer.coverage)


class _Page:
    """One page that is filled from the top; what does not fit is refused."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._y = _TOP
        pdfmetrics.registerFont(UnicodeCIDFont(_KOREAN))

    def line(self, text: str, *, size: float, most: int = 3, last: bool = False) -> bool:
        """A paragraph; False when there is no room left for it."""
        shown = _printable(visible(reading.plain(text)))
        lines = _wrapped(shown, size)
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1][:-1]}…"]
        height = len(lines) * size * 1.35
        if self._y - height < _BOTTOM - (20 if last else 0):
            return False
        for one in lines:
            self._y -= size * 1.35
            self._draw(one, size)
        return True

    def _draw(self, text: str, size: float) -> None:
        """One line; each stretch in the font that has its letters."""
        x = _LEFT
        for latin, letters in itertools.groupby(text, _is_latin):
            stretch = "".join(letters)
            self._canvas.setFont(_LATIN if latin else _KOREAN, size)
            self._canvas.drawString(x, self._y, stretch)
            x += _width(stretch, size)

    def gap(self) -> None:
        """A blank line."""
        self._y -= 8

    def signature(self) -> None:
        """The lines for name and date at the foot."""
        self._canvas.setFont(_LATIN, 9)
        self._canvas.line(_LEFT, 80, _LEFT + 220, 80)
        self._canvas.drawString(_LEFT, 68, "Reviewed by (name, signature)")
        self._canvas.line(_LEFT + 260, 80, _LEFT + 400, 80)
        self._canvas.drawString(_LEFT + 260, 68, "Date")


def _printable(text: str) -> str:
    """Signs that the page's fonts lack, in words; the verdict's word stands beside them anyway."""
    for sign, said in (("✔", ""), ("≈", ""), ("✘", ""), ("⟨", "<"), ("⟩", ">")):
        text = text.replace(sign, said)
    return text


def _is_latin(character: str) -> bool:
    try:
        character.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _width(text: str, size: float) -> float:
    """In points; a letter of the other font is as wide as it is high."""
    latin = "".join(character for character in text if _is_latin(character))
    return float(pdfmetrics.stringWidth(latin, _LATIN, size)) + size * (len(text) - len(latin))


def _wrapped(text: str, size: float) -> list[str]:
    lines = [""]
    for token in text.split(" "):
        rest = token
        if lines[-1] and _width(f"{lines[-1]} {rest}", size) > _WIDTH:
            lines.append("")
        while _width(rest, size) > _WIDTH:  # one endless word
            cut = max(1, int(len(rest) * _WIDTH / _width(rest, size)) - 1)
            lines[-1] = rest[:cut]
            lines.append("")
            rest = rest[cut:]
        lines[-1] = f"{lines[-1]} {rest}".strip()
    return lines
