"""Reporter cites as they stand in a text, by their parts: "558 F.2d 105" and "558 F. 2d\\n105" are
one cite. Knows no authority: only whether and where the same cite is written."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REPORTER = re.compile(
    r"(?<![\w.,-])(?P<volume>\d{1,4})\s{1,12}"
    r"(?P<reporter>(?:[A-Z][A-Za-z]{0,6}\.?['’]?\s{0,4}){1,4}?(?:\s{0,4}(?:2d|3d|4th|5th)\s{0,4})?"
    r"(?:\(?(?:Supp|App|Ct)\.?\)?\s{0,4}(?:(?:2d|3d)\s{0,4})?)?)"
    r"(?P<page>\d{1,5}|_{2,4})(?!\d|[.,]\d)"
)
_PIN = re.compile(
    r",\s{0,40}(?:at\s+)?(?P<pin>\d{1,5})(?:\s?[-–]\s?\d{1,5})?(?!\s{1,12}(?:[A-Z][A-Za-z]{0,4}\.\s?|F\.))(?!\d)"
)
_PARENTHESIS = re.compile(r"[^()]{0,60}\((?:[^()]{0,40}\s)?(?P<year>1[6-9]\d\d|20\d\d)\)")
_WORDS_OF_PROSE = frozenset("the of in and at to by on for from or with days years pages".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReporterCite:
    """A cite to a reporter at ``[start, end)``: volume, reporter without spaces or dots, page."""

    start: int
    end: int
    volume: int
    reporter: str
    page: str
    pin: str = ""
    year: str = ""

    @property
    def key(self) -> tuple[int, str, str]:
        """What makes two cites the same."""
        return self.volume, self.reporter, self.page


def fold_reporter(written: str) -> str:
    """``F. 3d`` and ``F.3d`` alike: letters and digits only, lower case."""
    return re.sub(r"[^a-z0-9]", "", written.lower())


def find_reporter_cites(text: str) -> tuple[ReporterCite, ...]:
    """Every run of volume, reporter and page in a text; more than lawyers would call a cite.

    A pure function of the text, meant for looking up: a false find here can only be matched by the
    same volume, reporter and page.
    """
    found = []
    for match in _REPORTER.finditer(text):
        words = re.findall(r"[A-Za-z]+", match["reporter"])
        if not words or any(word.lower() in _WORDS_OF_PROSE for word in words):
            continue
        pin = _PIN.match(text, match.end())
        year = _PARENTHESIS.match(text, match.end(), match.end() + 120)
        found.append(
            ReporterCite(
                start=match.start(),
                end=match.end(),
                volume=int(match["volume"]),
                reporter=fold_reporter(match["reporter"]),
                page=match["page"],
                pin=pin["pin"] if pin else "",
                year=year["year"] if year else "",
            )
        )
    return tuple(found)
