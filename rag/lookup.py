"""Exact look-ups without a model, and what their silence proves.

A look-up reads every readable page of the selection, so "no page mentions X" is a statement about
the whole of it, with the pages that could not be searched named beside it.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from protocol.ids import DocumentId, passage_id
from protocol.record import Coverage, DocumentInfo, Hit, Passage, Reading
from protocol.spans import SourceSpan
from rag import patterns
from rag.coverage import coverage
from rag.lookalikes import folded
from rag.matters import OpenMatter
from rag.retrieve import Filters, selection
from rag.terms import terms

DEFAULT_LIMIT: Final = 200
_CONTEXT_CHARS: Final = 160


class LookupKind(StrEnum):
    """How the text to find was understood."""

    PHRASE = "phrase"
    DATE = "date"
    AMOUNT = "amount"
    BATES = "bates"
    NAME = "name"
    WORDS = "words"
    """Nothing stands exactly so; these passages hold all of the words."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """One place that was found."""

    span: SourceSpan
    words: str
    """The record's own words at the place."""
    hit: Hit
    """The words around it, with the reasons."""


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """What a look-up found, and what it looked through."""

    kind: LookupKind
    matches: tuple[Match, ...]
    total: int
    """All places; more than ``matches`` when the limit cut the list."""
    coverage: Coverage
    reading: str
    """How the text was read, in words: "the day 9 January 2024"."""


def find(
    matter: OpenMatter, text: str, *, filters: Filters | None = None, limit: int = DEFAULT_LIMIT
) -> Lookup:
    """Every place where a phrase, number, date, Bates label or name stands.

    Args:
        matter: The open matter.
        text: As the person typed it; quotation marks around it mean exactly these words.
        filters: Where to look.
        limit: Places given; all are counted.
    """
    documents = selection(matter, filters or Filters())
    infos = {info.id: info for info in matter.documents()}
    wanted = unicodedata.normalize("NFC", text).strip()
    kind, reading, tests = _understand(wanted, matter)
    places: list[Place] = []
    for document in documents:
        if kind is LookupKind.BATES:
            places.extend(_stamped(matter, document, wanted))
        places.extend(_places(matter, document, tests, besides=places))
    if not places and kind in (LookupKind.PHRASE, LookupKind.NAME) and not _quoted(wanted):
        places = [found for document in documents for found in _together(matter, document, wanted)]
        if places:
            kind, reading = LookupKind.WORDS, "all of the words in one passage"
    matches = tuple(_match(matter, infos[place[0]], place) for place in places[:limit])
    return Lookup(
        kind=kind,
        matches=matches,
        total=len(places),
        coverage=_searched(matter, documents, len(documents) == len(infos)),
        reading=reading,
    )


def _quoted(text: str) -> bool:
    return len(text) > 2 and text[0] in "\"“„«'‘" and text[-1] in "\"”“»'’"


Place = tuple[DocumentId, int, int, str]
"""Document, start, end and the reason in words."""
Test = tuple[str, Callable[[bool], re.Pattern[str]]]
"""A reason in words, and the pattern for it (given whether words broken at line ends count)."""


def _understand(text: str, matter: OpenMatter) -> tuple[LookupKind, str, list[Test]]:
    if not text:
        return LookupKind.PHRASE, "nothing", []
    if _quoted(text):
        inner = text[1:-1].strip() or text
        return LookupKind.PHRASE, "exactly these words", [_phrase_test(inner)]
    if days := patterns.parse_date(text, matter.date_order):
        tests = [_date_test(day, matter) for day in days]
        return LookupKind.DATE, "the day " + " or ".join(_say(day) for day in days), tests
    if patterns.parse_bates(text):
        return LookupKind.BATES, "a Bates label", [_phrase_test(text)]
    if money := patterns.parse_amount(text):
        value, currency = money
        shown = f"{value:,f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:,f}"
        why = f"the number {shown}" + (f" {currency}" if currency else "")
        return LookupKind.AMOUNT, why, [(why, lambda _: patterns.amount(value))]
    if re.fullmatch(r"[A-Z][\w’'-]+ [A-Z][\w’'-]+", text):
        return (
            LookupKind.NAME,
            "a name, also as last name first and with an initial",
            [("the name", lambda _: patterns.name(text))],
        )
    return LookupKind.PHRASE, "these words in this order", [_phrase_test(text)]


def _phrase_test(text: str) -> Test:
    return ("the words", lambda broken: patterns.phrase(text, broken=broken))


def _date_test(day: dt.date, matter: OpenMatter) -> Test:
    return (f"the day {_say(day)}", lambda _: patterns.date(day, matter.date_order))


def _say(day: dt.date) -> str:
    return f"{day.day} {patterns.MONTHS[day.month - 1]} {day.year}"


def _places(
    matter: OpenMatter, document: DocumentId, tests: Sequence[Test], *, besides: Sequence[Place]
) -> list[Place]:
    """Where the patterns stand in one document, in order, outside the places known already."""
    text = matter.text(document)
    broken = "-\n" in text or "\u00ad" in text
    known = [(start, end) for name, start, end, _ in besides if name == document]
    found: dict[tuple[int, int], str] = {}
    alike = folded(text)
    for why, make in tests:
        for pattern in _forms(make(broken), text):
            for match in pattern.finditer(text):
                if not any(start <= match.start() < end for start, end in known):
                    found.setdefault(match.span(), why)
            for match in pattern.finditer(alike) if alike is not text else ():
                if not any(start <= match.start() < end for start, end in known):
                    found.setdefault(match.span(), f"{why}, in letters that only look like them")
    return [(document, *span, why) for span, why in sorted(found.items())]


def _stamped(matter: OpenMatter, document: DocumentId, wanted: str) -> list[Place]:
    """The pages that carry a Bates label of the wanted range: each as a whole."""
    asked = patterns.parse_bates(wanted)
    out: list[Place] = []
    for page in matter.pages(document):
        stamp = patterns.serial(page.bates) if page.bates else None
        if asked and stamp and stamp[0] == asked[0] and asked[1] <= stamp[1] <= asked[2]:
            out.append((document, page.start, page.end, f"Bates {page.bates}"))
    return out


def _forms(pattern: re.Pattern[str], text: str) -> Iterator[re.Pattern[str]]:
    """The pattern, and for a text with decomposed Hangul the same decomposed."""
    yield pattern
    decomposed = unicodedata.normalize("NFD", pattern.pattern)
    if decomposed != pattern.pattern and not unicodedata.is_normalized("NFC", text):
        yield re.compile(decomposed, pattern.flags)


def _together(matter: OpenMatter, document: DocumentId, wanted: str) -> Iterator[Place]:
    """Passages of a document that hold every word, in whatever order and inflection."""
    needed = set(terms(wanted))
    if not needed:
        return
    for row in matter.store.rows(
        "SELECT starts, ends FROM passages WHERE document = ? ORDER BY starts", (document,)
    ):
        words = matter.text(document)[row["starts"] : row["ends"]]
        if needed <= set(terms(words)):
            yield document, row["starts"], row["ends"], "all of the words"


def _match(matter: OpenMatter, info: DocumentInfo, place: Place) -> Match:
    document, start, end, why = place
    text = matter.text(document)
    pages = matter.pages(document)
    page = pages[bisect_right([each.start for each in pages], start) - 1]
    left, right = _around(text, start, end)
    reasons = [why]
    if page.bates and not why.startswith("Bates"):
        reasons.append(f"Bates {page.bates}")
    if page.reading is Reading.OCR:
        reasons.append("a page read by OCR: look at it")
    passage = Passage(
        id=passage_id(document, left, right),
        span=SourceSpan(document=document, start=left, end=right, page=page.number),
        text=text[left:right],
        heading="",
    )
    return Match(
        span=SourceSpan(document=document, start=start, end=end, page=page.number),
        words=text[start:end],
        hit=Hit(passage=passage, score=1.0, why=tuple(reasons)),
    )


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """The place with the words around it, cut at white space or at a page's end."""
    left = max(text.rfind("\f", 0, start) + 1, start - _CONTEXT_CHARS)
    if left > 0 and not text[left - 1].isspace():
        cut = re.compile(r"\s").search(text, left, start)
        left = cut.end() if cut else start
    stop = text.find("\f", end)
    right = min(len(text) if stop < 0 else stop, end + _CONTEXT_CHARS)
    if right < len(text) and not text[right].isspace():
        cut_at = max(text.rfind(" ", end, right), text.rfind("\n", end, right))
        right = cut_at if cut_at > 0 else end
    return left, max(right, end)


def _searched(matter: OpenMatter, documents: Sequence[DocumentId], everything: bool) -> Coverage:
    """Coverage with the sentence that an absence rests on."""
    found = coverage(matter, documents=None if everything else documents)
    by_ocr = sum(
        page.reading is Reading.OCR for document in documents for page in matter.pages(document)
    )
    blank = found.pages - found.pages_read
    said = f"searched {found.pages_read} of {found.pages} pages"
    said += f", {blank} unreadable" if blank else ""
    said += f", {by_ocr} read by OCR, where words may be misread" if by_ocr else ""
    return msgspec.structs.replace(found, searched=said)
