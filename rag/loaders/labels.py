"""What a page is called: the number printed on it, its Bates stamp, the court's stamp.

Nothing is taken from one page alone where several can be compared: a number in the margin is a page
number when it moves with the pages, a stamp is a production's when its serial does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from rag.loaders.lines import lines_of
from rag.loaders.parts import Draft, PageDraft
from rag.paged import PlaceKind

_EDGE = 5
"""Lines from the top and from the bottom of a page where its number may stand."""
_BARE = re.compile(
    r"^[-–—\s\[(]*(?:page\s+|p\.\s*|제\s*)?(\d{1,5}|[ivxlc]{1,8})(?:\s*[쪽면])?"
    r"[-–—\s\])]*$",
    re.IGNORECASE,
)
_OF = re.compile(r"\bpage\s+(\d{1,5})\s+of\s+(\d{1,5})\b", re.IGNORECASE)
_ENDS = re.compile(r"^(\d{1,5})\s{2,}\S|\S\s{2,}(\d{1,5})$")
_TAIL = re.compile(r"^(\d{1,5})\s+\S|\s(\d{1,5})$")
_BATES = re.compile(
    r"(?<![\w-])(?P<prefix>[A-Z][A-Z0-9&.]{0,14}(?:[-_][A-Z][A-Z0-9&.]{0,11}){0,2}[-_ ]{0,1}?)"
    r"(?P<serial>\d{4,10})(?![\w/-]|\.\d)"
)
_COURT = re.compile(
    r"^[ \t]*(?:Appellate )?(?:USCA\w*(?: |$))?(?:Case|Appeal):?[ \t]?\d[\w:.-]*[^\n]{0,60}?"
    r"\b(?:Doc(?:ument)?\b|Filed|Entry|Page|Pg|DktEntry|ID)[^\n]{0,120}$",
    re.MULTILINE,
)
_WORDS = frozenset(
    "PAGE LINE NO CASE DOC DOCUMENT FILED ENTRY ID FAX TEL PHONE ROOM BOX SUITE".split()
)


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """One candidate for a Bates stamp."""

    start: int
    """Where it stands in the page's text; -1 when it stands in a scan's text layer only."""
    end: int
    text: str
    prefix: str
    serial: int
    width: int
    alone: bool
    """Whether it has a line to itself (a designation such as CONFIDENTIAL may stand beside it)."""


def mark(draft: Draft) -> None:
    """Set labels, Bates stamps and stamp places on every page of ``draft``."""
    for page in draft.pages:
        for match in _COURT.finditer(page.text):
            page.place(PlaceKind.STAMP, *match.span(), match.group().strip())
    _number(draft.pages)
    _bates(draft)


def court_stamps(text: str) -> list[tuple[int, int]]:
    """Where a court's own stamp line stands in ``text``."""
    return [match.span() for match in _COURT.finditer(text)]


def _edges(text: str) -> list[tuple[int, int]]:
    return _outer([(start, end) for start, end in lines_of(text) if text[start:end].strip()])


def _outer(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return spans if len(spans) <= 2 * _EDGE else spans[:_EDGE] + spans[-_EDGE:]


def _number(pages: list[PageDraft]) -> None:
    """Printed page numbers: they move with the pages.

    A document may count anew (contents in Roman numerals, then the text from 1), so each stretch of
    neighbouring pages whose numbers all lie the same way off the physical page counts by itself;
    short stretches count only when they are the whole document.
    """
    seen = [_numbers(page) for page in pages]
    enough = min(3, max(2, sum(bool(page.text.strip()) for page in pages)))
    for start, end, shift in _stretches(seen):
        if end - start >= enough:
            for at in range(start, end):
                pages[at].label = seen[at].get(at + 1 + shift, pages[at].label)
    for page in pages:
        if page.label is None:
            page.label = _of_many(page.text)


def _of_many(text: str) -> str | None:
    """The number of a "Page 3 of 10" that is no court's stamp; None when there is not just one."""
    told = set()
    for start, end in _edges(text):
        line = text[start:end]
        if not _COURT.match(line) and (match := _OF.search(line)):
            told.add(match.group(1))
    return told.pop() if len(told) == 1 else None


def _stretches(seen: list[dict[int, str]]) -> list[tuple[int, int, int]]:
    """Stretches of pages with one shift: start, end, shift; the longest first claim their pages.

    One page inside a stretch may lack its number (a picture, a blank).
    """
    pages_of: dict[int, list[int]] = {}
    for at, numbers in enumerate(seen):
        for value in numbers:
            pages_of.setdefault(value - at - 1, []).append(at)
    found: list[tuple[int, int, int]] = []
    for shift, on in pages_of.items():
        start = on[0]
        for one, two in pairwise([*on, len(seen) + 9]):
            if two - one > 2:
                found.append((start, one + 1, shift))
                start = two
    found.sort(key=lambda item: (item[0] - item[1], abs(item[2])))
    taken = [False] * len(seen)
    out = []
    for start, end, shift in found:
        if not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            out.append((start, end, shift))
    return out


def _numbers(page: PageDraft) -> dict[int, str]:
    """Numbers at the edges of a page that may be its own: value to the form printed."""
    found: dict[int, str] = {}
    text = page.text if page.text.strip() else page.layer
    lines = {place.start for place in page.places if place.kind is PlaceKind.LINE}
    spans = [(start, end) for start, end in lines_of(text) if start not in lines]
    for start, end in _outer([span for span in spans if text[span[0] : span[1]].strip()]):
        line = text[start:end].strip()
        if _COURT.match(line):
            continue
        for pattern in (_OF, _BARE, _ENDS, _TAIL):
            match = pattern.search(line)
            if match is None:
                continue
            form = next(group for group in match.groups() if group)
            value = int(form) if form.isdigit() else _roman(form.lower())
            if value:
                found.setdefault(value, form)
            break
    return found


def _roman(form: str) -> int:
    """The value of a Roman numeral; 0 when it is none."""
    values = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
    total = 0
    for one, two in pairwise([*form, "i"]):
        total += -values[one] if values[one] < values[two] else values[one]
    if form and form[-1] in values and total > 0 and _to_roman(total) == form:
        return total
    return 0


def _to_roman(value: int) -> str:
    out = ""
    for size, form in (
        (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
        (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
    ):  # fmt: skip
        while value >= size:
            out += form
            value -= size
    return out


def stamps(text: str) -> list[Stamp]:
    """Candidates for a Bates stamp near the edges of a page."""
    out = []
    for start, end in _edges(text):
        line = text[start:end]
        if _COURT.match(line):
            continue
        for match in _BATES.finditer(line):
            prefix = match.group("prefix")
            if prefix.strip(" -_.") in _WORDS:
                continue
            rest = (line[: match.start()] + line[match.end() :]).strip(" -–—|[]()\t")
            alone = not rest or (rest.isupper() and len(rest) <= 60)
            out.append(
                Stamp(
                    start=start + match.start(),
                    end=start + match.end(),
                    text=match.group(),
                    prefix=prefix,
                    serial=int(match.group("serial")),
                    width=len(match.group("serial")),
                    alone=alone,
                )
            )
    return out


def _unplaced(found: list[Stamp]) -> list[Stamp]:
    return [replace(stamp, start=-1, end=-1) for stamp in found]


def _bates(draft: Draft) -> None:
    """One stamp a page: of all runs, the one on most pages whose serial moves with the page."""
    seen = [stamps(page.text) or _unplaced(stamps(page.layer)) for page in draft.pages]
    pages_of: dict[tuple[str, int], dict[int, Stamp]] = {}
    for at, found in enumerate(seen):
        for stamp in found:
            if stamp.alone:
                pages_of.setdefault((stamp.prefix, stamp.width), {})[at] = stamp
    best: dict[int, Stamp] = {}
    for run in pages_of.values():
        if _is_production(run, len(draft.pages)) and len(run) > len(best):
            best = run
    for at, stamp in best.items():
        page = draft.pages[at]
        page.bates = stamp.text
        if stamp.start >= 0:
            page.place(PlaceKind.STAMP, stamp.start, stamp.end, page.bates)
    _gaps(draft, best)


def _is_production(run: dict[int, Stamp], pages: int) -> bool:
    ordered = [run[at] for at in sorted(run)]
    if len(run) == 1:
        stamp = ordered[0]
        zeros = len(str(stamp.serial)) < stamp.width
        return pages == 1 and (zeros or stamp.width >= 6) and len(stamp.prefix.strip(" -_")) >= 2
    rising = sum(two.serial > one.serial for one, two in pairwise(ordered))
    return rising == len(ordered) - 1 and len(run) * 2 >= pages


def _gaps(draft: Draft, run: dict[int, Stamp]) -> None:
    """Say where the serials jump and which pages of a stamped document carry none."""
    if not run:
        return
    for one, two in pairwise(sorted(run)):
        step = run[two].serial - run[one].serial
        if step != two - one:
            first, second = draft.pages[one].bates, draft.pages[two].bates
            draft.warn(
                f"the stamps go from {first} (page {one + 1}) to {second} (page {two + 1}): "
                f"{step - 1} numbers for {two - one - 1} pages between"
            )
    bare = [at + 1 for at in range(len(draft.pages)) if at not in run]
    if bare:
        draft.warn("no stamp found on page " + ", ".join(map(str, bare)))
