"""From a record cite to the document and the place in it, or to the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from protocol.ids import DocumentId
from protocol.record import DocumentInfo, PageInfo
from verify.judged import Stretch
from verify.locators import CiteKind, RecordCite, find_record_cites
from verify.sections import Part, Sections
from verify.source import Source
from verify.titles import Named
from verify.wordlists import DOCUMENT_TYPES

_WORD = re.compile(r"[^\W_]+")
_OF = re.compile(r"\s+(?:of|to|in|attached\s+to)\s+(?:the\s+)?")
_MOST_PAGES = 2_000
"""Longest Bates or page range followed, in pages."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Where a record cite points."""

    documents: tuple[DocumentId, ...] = ()
    places: tuple[Stretch, ...] = ()
    exact: bool = False
    """By a label or a whole title, not by the way people speak of a document."""
    certain: bool = False
    """One document, and the place named exists in it."""
    problem: str = ""
    """Why the place cannot be, in words."""
    doubt: str = ""
    """Why it is not certain, where it may still be."""
    nearest: tuple[Stretch, ...] = ()


def resolve(
    cite: RecordCite,
    reply: str,
    cites: Sequence[RecordCite],
    titles: Sequence[Named],
    infos: Sequence[DocumentInfo],
    source: Source,
) -> Resolved:
    """Resolves one cite of a reply.

    Args:
        cite: The cite.
        reply: The reply it stands in.
        cites: All record cites of the reply, for id. and supra.
        titles: The whole titles in the reply, for a page cited beside one.
        infos: The documents that may be meant.
        source: The record.
    """
    if cite.kind is CiteKind.BATES:
        return _bates(cite, infos, source)
    documents, exact, problem, doubt = _documents(cite, reply, cites, titles, infos, source)
    if problem or len(documents) != 1:
        return Resolved(documents=documents, exact=exact, problem=problem, doubt=doubt)
    return _place(cite, documents[0], exact, source)


# --- which document ---


def _documents(
    cite: RecordCite,
    reply: str,
    cites: Sequence[RecordCite],
    titles: Sequence[Named],
    infos: Sequence[DocumentInfo],
    source: Source,
) -> tuple[tuple[DocumentId, ...], bool, str, str]:
    """Documents, whether named exactly, the problem, the doubt."""
    if cite.kind is CiteKind.EXHIBIT:
        named, exact, problem, doubt = _exhibit(cite, infos)
        attached = () if named else _attached(cite, reply, titles, source)
        return (attached, True, "", "") if attached else (named, exact, problem, doubt)
    if cite.kind is CiteKind.DOCKET:
        return _docket(cite, infos, source)
    if cite.kind in (CiteKind.TRANSCRIPT, CiteKind.PAPER):
        documents = _paper(cite, infos)
        problem = "" if documents else f"No {cite.name} {cite.label}".replace("  ", " ")
        return documents, False, problem and f"{problem.strip()} is in the record", ""
    if cite.kind in (CiteKind.ID, CiteKind.SUPRA):
        return _back(cite, reply, cites, titles, infos, source)
    beside = [title for title in titles if title.end <= cite.start and cite.start - title.end < 200]
    after = [title for title in titles if title.start >= cite.end and title.start - cite.end < 60]
    if beside and "\n\n" not in reply[beside[-1].end : cite.start]:
        return beside[-1].documents, True, "", ""
    if after:
        return after[0].documents, True, "", ""
    return (), False, "", "No document is named beside this place"


def _exhibit(
    cite: RecordCite, infos: Sequence[DocumentInfo]
) -> tuple[tuple[DocumentId, ...], bool, str, str]:
    labels = [(info.id, _exhibit_label(info)) for info in infos]
    found = tuple(name for name, label in labels if label == cite.label)
    if found:
        return found, True, "", ""
    if any(label for _, label in labels):
        return (), False, f"No exhibit {cite.label} is in the record", ""
    return (), False, "", "No exhibit of this record carries a label"


def _attached(
    cite: RecordCite, reply: str, titles: Sequence[Named], source: Source
) -> tuple[DocumentId, ...]:
    """The document named beside an exhibit that it holds itself: "Exhibit A of the Lease"."""
    for title in titles:
        after = reply[cite.end : title.start] if title.start >= cite.end else None
        before = reply[title.end : cite.start] if title.end <= cite.start else None
        beside = after is not None and _OF.fullmatch(after)
        beside = beside or (before is not None and re.fullmatch(r",?\s*(?:at\s+)?", before))
        if beside and len(title.documents) == 1 and _exhibits(cite, title.documents[0], source):
            return title.documents
    return ()


def _exhibits(cite: RecordCite, document: DocumentId, source: Source) -> tuple[Part, ...]:
    """The parts of a document that stand under the heading of the exhibit cited."""
    return _sections(source.text(document)).parts("exhibit", (cite.label,))


@lru_cache(maxsize=16)
def _sections(text: str) -> Sections:
    """The parts of a text; kept, since each item of a reply asks for those of its document."""
    return Sections(text)


def _exhibit_label(info: DocumentInfo) -> str:
    for words in filter(None, (info.exhibit, info.title, info.name)):
        for found in find_record_cites(words):
            if found.kind is CiteKind.EXHIBIT:
                return found.label
    plain = (info.exhibit or "").strip()
    return plain if re.fullmatch(r"[A-Z]{1,3}|\d{1,4}(?:-\d+)?", plain) else ""


def _docket(
    cite: RecordCite, infos: Sequence[DocumentInfo], source: Source
) -> tuple[tuple[DocumentId, ...], bool, str, str]:
    stamp = re.compile(rf"(?i)\bdocument\s+(?:no\.\s*)?{re.escape(cite.label)}\s+filed\b")
    found, known = [], False
    for info in infos:
        labels = {c.label for c in find_record_cites(info.title) if c.kind is CiteKind.DOCKET}
        head = source.text(info.id)[:4_000]
        known = known or bool(labels) or " Filed " in head
        if cite.label in labels or stamp.search(head):
            found.append(info.id)
    if found or not known:
        return tuple(found), bool(found), "", "" if found else "No docket number is known here"
    return (), False, f"No document of the record carries docket number {cite.label}", ""


def _paper(cite: RecordCite, infos: Sequence[DocumentInfo]) -> tuple[DocumentId, ...]:
    kinds = {DOCUMENT_TYPES.get(word.lower()) for word in _WORD.findall(cite.label)} - {None}
    if cite.kind is CiteKind.TRANSCRIPT:
        kinds |= {"deposition", "transcript"}
    names = {word.lower() for word in _WORD.findall(cite.name)}
    found = []
    for info in infos:
        words = {word.lower() for word in _WORD.findall(info.title)}
        if kinds & {DOCUMENT_TYPES.get(word) for word in words} and names <= words:
            found.append(info.id)
    return tuple(found)


def _back(
    cite: RecordCite,
    reply: str,
    cites: Sequence[RecordCite],
    titles: Sequence[Named],
    infos: Sequence[DocumentInfo],
    source: Source,
) -> tuple[tuple[DocumentId, ...], bool, str, str]:
    """What id. or supra refers to; anything but one clear antecedent stays open."""
    earlier = [c for c in cites if c.end <= cite.start and c.kind is not CiteKind.PAGE]
    if cite.kind is CiteKind.SUPRA:
        earlier = [c for c in earlier if cite.name and c.name == cite.name]
    else:
        last_title = max((t.end for t in titles if t.end <= cite.start), default=-1)
        if not earlier or last_title > earlier[-1].end:
            beside = [t for t in titles if t.end == last_title]
            if beside:
                return beside[0].documents, True, "", ""
    if not earlier:
        return (), False, "", "Nothing before it that it could refer to"
    antecedent = resolve(earlier[-1], reply, cites, titles, infos, source)
    return antecedent.documents, antecedent.exact, "", antecedent.problem or antecedent.doubt


# --- which place ---


def _place(cite: RecordCite, document: DocumentId, exact: bool, source: Source) -> Resolved:
    pages = source.pages(document)
    text = source.text(document)
    answer = Resolved(documents=(document,), exact=exact, certain=True)
    if cite.paragraph is not None:
        return _paragraphs(cite, answer, text)
    inner = _exhibits(cite, document, source) if cite.kind is CiteKind.EXHIBIT else ()
    if cite.page is None and inner:
        places = [Stretch(document=document, start=part.start, end=part.end) for part in inner]
        return replace(answer, places=tuple(places))
    if cite.page is None:
        whole = Stretch(document=document, start=0, end=len(text))
        return replace(answer, places=(whole,))
    first = _page(pages, cite.page, cite.physical)
    last = _page(pages, cite.page_end, cite.physical) if cite.page_end else first
    if first is None or last is None:
        return replace(answer, certain=False, problem=_no_page(pages, cite))
    if cite.line is None:
        if last.start < first.start:
            return replace(answer, certain=False, problem="The range of pages runs backwards")
        return replace(
            answer, places=(Stretch(document=document, start=first.start, end=last.end),)
        )
    return _lines(cite, answer, text, first, last)


def _page(pages: Sequence[PageInfo], number: int, physical: bool) -> PageInfo | None:
    """The page with this printed label, else the physical one."""
    if not physical:
        for page in pages:
            if page.label == str(number):
                return page
    return pages[number - 1] if 1 <= number <= len(pages) else None


def _no_page(pages: Sequence[PageInfo], cite: RecordCite) -> str:
    wanted = cite.page_end or cite.page
    count = len(pages)
    return f"There is no page {wanted}: the document has {count} page{'' if count == 1 else 's'}"


def printed_lines(text: str, page: PageInfo) -> dict[int, tuple[int, int]]:
    """Line number to span on one page: as printed where the page prints numbers, else counted."""
    printed: dict[int, tuple[int, int]] = {}
    counted: dict[int, tuple[int, int]] = {}
    start = page.start
    for line in text[page.start : page.end].split("\n"):
        end = start + len(line)
        counted[len(counted) + 1] = (start, end)
        number = re.match(r"\s*(\d{1,2})(?=\s|$)", line)
        if number and int(number[1]) == len(printed) + 1:
            printed[int(number[1])] = (start, end)
        start = end + 1
    return printed if len(printed) >= 3 or len(printed) >= len(counted) - 2 > 0 else counted


def _lines(
    cite: RecordCite, answer: Resolved, text: str, first: PageInfo, last: PageInfo
) -> Resolved:
    opening, closing = printed_lines(text, first), printed_lines(text, last)
    assert cite.line is not None
    end_line = cite.line_end or cite.line
    for page, lines, line in ((first, opening, cite.line), (last, closing, end_line)):
        if line not in lines:
            highest = max(lines, default=0)
            problem = (
                f"There is no line {line} on page {page.label or page.number}: it has {highest}"
            )
            return replace(answer, certain=False, problem=problem)
    start, end = opening[cite.line][0], closing[end_line][1]
    if end < start:
        return replace(answer, certain=False, problem="The range of lines runs backwards")
    return replace(answer, places=(Stretch(document=answer.documents[0], start=start, end=end),))


def _paragraphs(cite: RecordCite, answer: Resolved, text: str) -> Resolved:
    assert cite.paragraph is not None
    wanted = range(cite.paragraph, (cite.paragraph_end or cite.paragraph) + 1)
    if not wanted or len(wanted) > _MOST_PAGES:
        return replace(answer, certain=False, problem="The range of paragraphs runs backwards")
    found = {
        int(match[1]): match.start()
        for match in re.finditer(r"(?m)^[ \t]*(?:¶\s?)?(\d{1,4})(?:[.)]|\s{2,}|\t)", text)
    }
    missing = [number for number in wanted if number not in found]
    if missing:
        problem = f"There is no paragraph {missing[0]} in the document"
        return replace(answer, certain=False, problem=problem)
    start = found[wanted[0]]
    following = [at for at in found.values() if at > found[wanted[-1]]]
    end = min(following, default=len(text))
    return replace(answer, places=(Stretch(document=answer.documents[0], start=start, end=end),))


# --- Bates ---


def _fold_prefix(prefix: str) -> str:
    return re.sub(r"[-_ ]", "", prefix).upper()


def bates_of(label: str) -> tuple[str, int] | None:
    """The folded prefix and serial of a printed label; None when it is not one."""
    found = re.fullmatch(r"\s*([A-Za-z][\w&.]*?(?:[-_ ][A-Za-z]+)*)[-_ ]*(\d{2,12})\s*", label)
    return (_fold_prefix(found[1]), int(found[2])) if found else None


def _bates(cite: RecordCite, infos: Sequence[DocumentInfo], source: Source) -> Resolved:
    assert cite.serial is not None
    last = cite.serial_end if cite.serial_end is not None else cite.serial
    if not 0 <= last - cite.serial < _MOST_PAGES:
        return Resolved(problem="The Bates range runs backwards or is too long")
    table: dict[tuple[str, int], tuple[DocumentId, PageInfo]] = {}
    for info in infos:
        for page in source.pages(info.id):
            label = bates_of(page.bates) if page.bates else None
            if label:
                table.setdefault(label, (info.id, page))
    prefix = _fold_prefix(cite.label)
    if not any(known == prefix for known, _ in table):
        return _bates_in_text(cite, last, infos, source)
    places = []
    for serial in range(cite.serial, last + 1):
        held = table.get((prefix, serial))
        if held is None:
            written = f"{cite.label}-{serial:0{cite.width}d}"
            return Resolved(problem=f"No page of the record carries {written}")
        places.append(Stretch(document=held[0], start=held[1].start, end=held[1].end))
    documents = tuple(dict.fromkeys(place.document for place in places))
    return Resolved(documents=documents, places=tuple(places), exact=True, certain=True)


def _bates_in_text(
    cite: RecordCite, last: int, infos: Sequence[DocumentInfo], source: Source
) -> Resolved:
    """Stamps that stand in the text of the pages, where no page table lists them."""
    assert cite.serial is not None
    places = []
    prefix = r"[-_ ]?".join(map(re.escape, re.split(r"[-_ ]", cite.label)))
    known = re.compile(rf"(?<![\w-]){prefix}[-_ ]?\d{{{cite.width}}}(?!\d)")
    held = [(info, source.text(info.id)) for info in infos]
    held = [(info, text) for info, text in held if known.search(text)]
    if not held:
        return Resolved(doubt="No page of this record carries such a label")
    for serial in range(cite.serial, last + 1):
        stamp = re.compile(rf"(?<![\w-]){prefix}[-_ ]?{serial:0{cite.width}d}(?!\d)")
        found = next(((info, m) for info, text in held if (m := stamp.search(text))), None)
        if found is None:
            label = f"{cite.label}-{serial:0{cite.width}d}"
            return Resolved(problem=f"No page of the record carries {label}")
        info, match = found
        page = next(page for page in reversed(source.pages(info.id)) if page.start <= match.start())
        places.append(Stretch(document=info.id, start=page.start, end=page.end))
    documents = tuple(dict.fromkeys(place.document for place in places))
    return Resolved(documents=documents, places=tuple(places), exact=True, certain=True)
