"""The cite-check report of an answer: one page, for a partner to sign.

What was checked, by which version, against how much of the record; every item that is not green
with its reason and the reviewer's; then the verified ones with their places; a line for the
signature. Items beyond one page are counted and stand in the Word file.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfgen.canvas import Canvas

from protocol.answers import GREEN, Answer, Finding
from worker.export import fonts, reading
from worker.export.visible import visible

_LATIN: Final = "Helvetica"
_LEFT, _TOP, _BOTTOM = 56.0, 790.0, 130.0
_WIDTH: Final = A4[0] - 2 * _LEFT
_SMALL: Final = 8.5
_LEADING: Final = 1.35
"""From line to line, in sizes of the letters."""
_MOST_LINES: Final = 4
"""Lines that what is said of an item may take, and its reason again as many."""

Entry = tuple[tuple[str, int], ...]
"""What is said of an item: paragraphs, each with the most lines it may take."""


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
    wanting, green = _open_entries(answer), _green_entries(answer)
    all_well = "Every item is verified." if green else "This reply holds nothing that was checked."
    page.line("Items that are not verified" if wanting else all_well, size=10)
    if page.entries(wanting, "further items stand") and green:
        page.gap()
        page.line("Verified items", size=10)
        page.entries(green, "more stand")
    page.signature()
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def _open_entries(answer: Answer) -> list[Entry]:
    """What must be looked at, and why the reviewer let it stand."""
    entries: list[Entry] = [((row, _MOST_LINES),) for row in reading.rows(answer, green=False)]
    for item in reading.marked(answer):
        if item.verdict not in GREEN:
            reason = reading.reason(answer, item)
            said = (f"{_words(answer, item)}: {reading.look_at(item)[2:]}", _MOST_LINES)
            entries.append((said, (f"The reviewer: {reason}", _MOST_LINES)) if reason else (said,))
    return entries


def _green_entries(answer: Answer) -> list[Entry]:
    """What the record proves; of a cite-check, in the paper that was checked."""
    if rows := reading.rows(answer, green=True):
        return [((row, 2),) for row in rows]
    if reading.rows(answer, green=False):
        return []  # the reply's own items are the paper's words, which prove nothing
    entries: list[Entry] = []
    for item in reading.marked(answer):
        if item.verdict in GREEN:
            places = "; ".join(place.pin_cite for place in item.places)
            shown = places or "; ".join(map(reading.plain, item.steps))
            entries.append(((f"{_words(answer, item)}: {reading.word(item.verdict)}. {shown}", 2),))
    return entries


def _words(answer: Answer, item: Finding) -> str:
    return f"{item.number}  “{reading.plain(answer.text[item.start : item.end])[:120]}”"


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
        self._korean = fonts.korean()

    def line(self, text: str, *, size: float, most: int = 3, last: bool = False) -> bool:
        """A paragraph; False when there is no room left for it."""
        lines = _lines(text, size, most)
        if self._y - len(lines) * size * _LEADING < _BOTTOM - (20 if last else 0):
            return False
        self._put(lines, size)
        return True

    def _put(self, lines: Sequence[str], size: float, indent: float = 0.0) -> None:
        for one in lines:
            self._y -= size * _LEADING
            self._draw(one, size, _LEFT + indent)

    def _draw(self, text: str, size: float, x: float) -> None:
        """One line; each stretch in the font that has its letters."""
        for latin, letters in itertools.groupby(text, _is_latin):
            stretch = "".join(letters)
            self._canvas.setFont(_LATIN if latin else self._korean, size)
            self._canvas.drawString(x, self._y, stretch)
            x += self._canvas.stringWidth(stretch, _LATIN if latin else self._korean, size)

    def entries(self, entries: Sequence[Entry], more: str) -> bool:
        """Items as long as there is room, then how many were left; whether all of them fit."""
        for at, entry in enumerate(entries):
            if not self._entry(entry):
                left = f"{len(entries) - at} {more} in the Word file."
                self.line(left, size=9, last=True)
                return False
        return True

    def _entry(self, entry: Entry) -> bool:
        """An item's paragraphs, all of them or none."""
        before = self._y
        drawn = [(_lines(said, _SMALL, most), at) for at, (said, most) in enumerate(entry)]
        height = sum(len(lines) for lines, _ in drawn) * _SMALL * _LEADING
        if before - height < _BOTTOM:
            return False
        for lines, at in drawn:
            self._put(lines, _SMALL, indent=12.0 * min(at, 1))
        return True

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
    """In points; a letter of the other font is at most as wide as it is high."""
    latin = "".join(character for character in text if _is_latin(character))
    return float(pdfmetrics.stringWidth(latin, _LATIN, size)) + size * (len(text) - len(latin))


def _lines(text: str, size: float, most: int) -> list[str]:
    """A paragraph's lines; what is cut off is seen to be."""
    lines = _wrapped(_printable(visible(reading.plain(text))), size)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][:-1]}…"]
    return lines


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
