"""Paged text to passages, along headings, paragraphs and sentences, each with its exact span.

A passage never crosses from one section into the next, holds at most `MAX_CHARS` characters, and is
the very text between its offsets. What the encoder cannot take in one piece is given to it in
several windows (`windows`), so nothing of a passage is left out of its vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag.paged import PagedText, PlaceKind

CHUNKING_VERSION: Final = "5"
"""Stored with the index; passages made by another version are made anew."""

MAX_CHARS: Final = 1500
"""No passage is longer: what a person can take in at a glance, and a retrieval metric's bound."""
TARGET_CHARS: Final = 900
"""Paragraphs of one section are packed up to here."""
_LEAST_CHARS: Final = 40
"""Shorter leftovers join what stands before them."""

_SECTION: Final = re.compile(
    r"""
    (?:(?<=[\n\f])|(?<=\s\s)|(?<=[.;:]\s)|\A)[ \t]*
    (?:
        (?:ARTICLE|Article|SECTION|Section|Clause|CLAUSE|SCHEDULE|EXHIBIT|APPENDIX)[ \t]+
            (?:[IVXLC]+|\d+(?:\.\d+)*|[A-Z])\b\.?
      | \d{1,2}(?:\.\d{1,2}){1,3}\.?(?=\s+[A-Z"“(])
      | \d{1,3}\.(?=\s+[A-Z"“(])
      | 제\s?\d+\s?[조항장절](?:의\s?\d+)?
    )
    """,
    re.VERBOSE,
)
_TITLE_LINE: Final = re.compile(
    r"(?:(?<=[\n\f])|\A)[ \t]*(?![A-Z]{1,8}[- _]?\d{3,}[ \t]*(?:[\n\f]|\Z))"  # no Bates number
    r"(?P<t>[A-Z][A-Z0-9 ,.:'&/()-]{3,78})[ \t]*(?=[\n\f]|\Z)"
)
_OWN_TITLE: Final = re.compile(
    r"(?:(?:ARTICLE|Article|SECTION|Section|Clause|CLAUSE|SCHEDULE|EXHIBIT|APPENDIX)\s+)?\S+\s+"
    r"(?P<t>[^\s.:;\f\n](?:(?!\s\s)[^.:;\f\n]){0,78})(?=[.:;\f\n]|\s\s)"
)
_ARTICLE: Final = re.compile(r"제\s?\d+\s?조(?:의\s?\d+)?\s*(?:\([^)\n]{1,40}\))?")
_DEEPER: Final = re.compile(r"\d{1,2}\.\d")
"""A section inside a section: it keeps the outer one's title before its own."""
_HEADING_CHARS: Final = 80
_SHORT_TITLE: Final = 3
"""Words up to which a title may be written like a sentence; in longer ones each has a capital."""
_BREAK: Final = re.compile(
    r"\n[ \t]*\n|\f|\n(?=[ \t]*[(•·▪-])"
    r"|\n(?=[ \t]*(?:\d{1,2}[ \t]+)?Q[.:]?[ \t])"  # a transcript's question and its answer
)
_SENTENCE: Final = re.compile(r"(?<=[.;?!:])[\"”’)\]]*\s+|(?<=[다요음함]\.)\s*")
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, kw_only=True)
class Cut:
    """One passage before it has a document: ``[start, end)`` and the heading it stands under."""

    start: int
    end: int
    heading: str


def chunk(paged: PagedText) -> tuple[Cut, ...]:
    """The passages of a document, in order; together they hold every character but white space."""
    text = paged.text
    out: list[Cut] = []
    for start, end, heading in _sections(text, _marked_headings(paged)):
        pieces = _pieces(text, start, end)
        out.extend(Cut(start=s, end=e, heading=heading) for s, e in _pack(text, pieces))
    return tuple(out)


def _marked_headings(paged: PagedText) -> list[tuple[int, int]]:
    """Headings that the loader itself knows."""
    return [(place.start, place.end) for place in paged.places_of(PlaceKind.HEADING)]


def _sections(text: str, marked: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Start, end and heading of each section; a text without headings is one section.

    A heading that stands alone ("ARTICLE IV", "THE LEAK") opens the section after it and is named
    in the headings of its numbered paragraphs.
    """
    titles: dict[int, int] = {m.start("t"): m.end("t") for m in _TITLE_LINE.finditer(text)}
    titles.update(marked)
    numbered = {m.end() - len(m.group().lstrip()) for m in _SECTION.finditer(text)}
    order = sorted({0, *titles, *numbered})
    begin, title = 0, ""
    for at, here in enumerate(order):
        end = order[at + 1] if at + 1 < len(order) else len(text)
        if here in titles:
            title = _squeeze(text[here : titles[here]])[:_HEADING_CHARS]
            if end < len(text) and not text[titles[here] : end].strip():
                continue  # nothing but the heading: it belongs to what follows
        own = _heading(text, here, end) if here in numbered - titles.keys() else ""
        if own and not _DEEPER.match(own):
            title = ""
        yield begin, end, f"{title}: {own}"[:_HEADING_CHARS] if title and own else title or own
        if own and not title:
            title = own
        begin = end


def _heading(text: str, at: int, end: int) -> str:
    """The title a numbered section opens with; empty when it opens with its first sentence."""
    if article := _ARTICLE.match(text, at, end):
        return _squeeze(article.group())
    found = _OWN_TITLE.match(text, at, min(end, at + 2 * _HEADING_CHARS))
    if found is None:
        return ""
    words = found["t"].split()
    if len(words) > _SHORT_TITLE and any(len(word) > 3 and word[0].islower() for word in words):
        return ""
    return _squeeze(found.group())[:_HEADING_CHARS]


def _squeeze(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Paragraphs of a section, cut into sentences where they are long, then at white space."""
    out: list[tuple[int, int]] = []
    for s, e in _split(text, start, end, _BREAK):
        if e - s <= TARGET_CHARS:
            out.append((s, e))
            continue
        for s2, e2 in _split(text, s, e, _SENTENCE):
            out.extend(_hard(text, s2, e2))
    return out


def _split(text: str, start: int, end: int, at: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    begin = start
    for found in at.finditer(text, start, end):
        if found.end() > begin:
            yield begin, found.end()
            begin = found.end()
    if begin < end:
        yield begin, end


def _hard(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cuts a sentence that is itself too long, at white space where there is some."""
    while end - start > TARGET_CHARS:
        cut = max(
            text.rfind(" ", start, start + TARGET_CHARS),
            text.rfind("\n", start, start + TARGET_CHARS),
        )
        cut = cut + 1 if cut > start + TARGET_CHARS // 2 else start + TARGET_CHARS
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _pack(text: str, pieces: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Joins neighbouring pieces up to the target; short leftovers join what stands before."""
    begin: int | None = None
    last = 0
    for start, end in pieces:
        if begin is None:
            begin, last = start, end
        elif end - begin <= TARGET_CHARS or (
            end - start < _LEAST_CHARS and end - begin <= MAX_CHARS
        ):
            last = end
        else:
            yield from _trim(text, begin, last)
            begin, last = start, end
    if begin is not None:
        yield from _trim(text, begin, last)


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span without white space at its ends; nothing when nothing is left."""
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip())
    right = len(inner.rstrip())
    if right > left:
        yield start + left, start + right


def windows(
    header: str, text: str, *, count: Callable[[Sequence[str]], list[int]], max_tokens: int
) -> list[str]:
    """What to embed for one passage: header and text, in as many pieces as the encoder needs.

    Each piece fits ``max_tokens``; together they hold all of the text.
    """
    whole = f"{header}\n{text}" if header else text
    if count([whole])[0] <= max_tokens:
        return [whole]
    middle = len(text) // 2
    if middle == 0:
        return windows("", text, count=count, max_tokens=max_tokens) if header else [whole]
    cut = min(
        (m.start() for m in _SPACE.finditer(text, 1, len(text) - 1)),
        key=lambda at: abs(at - middle),
        default=middle,
    )
    return [
        piece
        for half in (text[:cut], text[cut:])
        if half.strip()
        for piece in windows(header, half, count=count, max_tokens=max_tokens)
    ]
