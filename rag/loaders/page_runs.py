"""From the characters PDFium gives to a page's canonical text, with the way back.

A page is a list of runs: a stretch of text and the index of the PDF character it begins with (-1
for characters that stand for none). One list serves both directions, so a span found in the text
can be drawn on the page later from the original alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

_LINE_END = re.compile("\r\n|\r|\n|\x0b|\x0c|\u2028|\u2029")
_CHANGED = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]|\t")
_HYPHENS = "\x02\ufffe"


@dataclass(frozen=True)
class Run:
    """A stretch of text; ``at`` is its first PDF character, or -1. Longer runs go one by one."""

    text: str
    at: int


@dataclass(frozen=True)
class Row:
    """One line of a page in the order PDFium read it; runs have no line end."""

    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        """The words of the line."""
        return "".join(run.text for run in self.runs)

    def chars(self) -> list[int]:
        """The PDF characters of the line that are not white space."""
        return [
            run.at + step
            for run in self.runs
            if run.at >= 0
            for step, char in enumerate(run.text)
            if not char.isspace()
        ]


def rows_of(chars: str, keep: list[tuple[int, int]] | None = None) -> list[Row]:
    """The lines of a page.

    ``keep`` lists the index ranges that a person can see (None: all of them). A hyphen that PDFium
    marks as made by a line break ends its line as "-".
    """
    rows: list[Row] = []
    current: list[Run] = []
    for start, end in keep if keep is not None else [(0, len(chars))]:
        at = start
        while at < end:
            match = _LINE_END.search(chars, at, end)
            stop = match.start() if match else end
            for run, broken in _runs(chars, at, stop):
                current.append(run)
                if broken:
                    rows.append(Row(tuple(current)))
                    current = []
            if match:
                rows.append(Row(_trimmed(current)))
                current = []
                at = match.end()
            else:
                at = end
    rows.append(Row(_trimmed(current)))
    while rows and not rows[-1].text.strip():
        rows.pop()
    return rows


def _runs(chars: str, start: int, end: int) -> Iterable[tuple[Run, bool]]:
    """Runs of one line; the flag says that the line breaks after this one."""
    at = start
    for match in _CHANGED.finditer(chars, start, end):
        if match.start() > at:
            yield Run(chars[at : match.start()], at), False
        char = match.group()
        at = match.end()
        if char in _HYPHENS:
            yield Run("-", match.start()), at < end
        else:
            yield Run(" " if char != "\x1f" else "-", match.start()), False
    if end > at:
        yield Run(chars[at:end], at), False


def _trimmed(runs: list[Run]) -> tuple[Run, ...]:
    """Without the white space at the end of the line."""
    kept = list(runs)
    while kept:
        text = kept[-1].text.rstrip()
        if text:
            kept[-1] = Run(text, kept[-1].at)
            break
        kept.pop()
    return tuple(kept)


@dataclass(frozen=True)
class Mapped:
    """A page's canonical text and where each of its characters was drawn."""

    text: str
    starts: tuple[int, ...]
    runs: tuple[Run, ...]

    def chars(self, start: int, end: int) -> list[int]:
        """The PDF characters behind ``start``-``end`` of the text."""
        out: list[int] = []
        at = max(0, bisect_right(self.starts, start) - 1)
        while at < len(self.runs) and self.starts[at] < end:
            run, base = self.runs[at], self.starts[at]
            if run.at >= 0:
                low, high = max(start, base) - base, min(end, base + len(run.text)) - base
                out += range(run.at + low, run.at + high)
            at += 1
        return out

    def offset(self, char: int) -> int:
        """Where in the text a PDF character that was left out would have stood."""
        best, where = -1, 0
        for base, run in zip(self.starts, self.runs, strict=True):
            if 0 <= run.at < char and run.at > best:
                best, where = run.at, base + min(len(run.text), char - run.at)
        return where


def joined(rows: Iterable[Row]) -> Mapped:
    """The rows as one text, a line end between every two."""
    runs: list[Run] = []
    for row in rows:
        if runs:
            runs.append(Run("\n", -1))
        runs += row.runs or (Run("", -1),)
    starts = list(accumulate((len(run.text) for run in runs), initial=0))
    return Mapped("".join(run.text for run in runs), tuple(starts[:-1]), tuple(runs))
