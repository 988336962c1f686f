"""The grammar of record cites: what a lawyer writes to point into the record.

Only reads; `citations` resolves what was read to a document and a place. Knows Bates labels and
ranges, exhibits, docket entries, transcripts by page and line, declarations and pleadings by
paragraph, bare pages, Korean exhibits (갑 제3호증의 1 제5면), and the short forms id. and supra.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class CiteKind(StrEnum):
    """What sort of pointer a record cite is."""

    BATES = "bates"
    EXHIBIT = "exhibit"
    DOCKET = "docket"
    TRANSCRIPT = "transcript"
    """Page and line of testimony."""
    PAPER = "paper"
    """A declaration, pleading or brief, by page or paragraph."""
    PAGE = "page"
    """A page or paragraph of a document named by its title nearby."""
    ID = "id"
    SUPRA = "supra"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCite:
    """One record cite at ``[start, end)`` of a reply; numbers as written, None where absent."""

    start: int
    end: int
    kind: CiteKind
    label: str = ""
    """"A", "12", "52-1", "갑 3-1"; for a Bates label its prefix; for a paper its kind."""
    name: str = ""
    """The person before "Dep." or "Decl."."""
    page: int | None = None
    page_end: int | None = None
    line: int | None = None
    line_end: int | None = None
    paragraph: int | None = None
    paragraph_end: int | None = None
    serial: int | None = None
    serial_end: int | None = None
    width: int = 0
    """Digits of the serial as written: 6 in NG-000212."""
    physical: bool = False
    """The reply says it counts physical pages ("PDF page 7")."""


_DASH = r"\s?(?:-|–|—|to|through)\s?"
_NAME = r"(?:(?P<name>[A-Z][\w'’.-]{0,30}(?:\s(?:[A-Z]\.\s)?[A-Z][\w'’-]{1,30})?)\s{1,4})?"
_AT = (
    r"(?:,?\s{1,8}at\s{1,8}(?:pp?\.\s?|pages?\s)?(?P<page>\d{1,5})"
    rf"(?::(?P<line>\d{{1,2}})(?:{_DASH}(?:(?P<line_page>\d{{1,5}}):)?(?P<line_end>\d{{1,2}}))?"
    rf"|{_DASH}(?P<page_end>\d{{1,5}}))?(?![:\d]))"
)
_PARAGRAPH = (
    r"(?:,?\s+(?:at\s{1,8})?(?:¶¶?|paras?\.|paragraphs?)\s?(?P<paragraph>\d{1,4})"
    rf"(?:{_DASH}(?P<paragraph_end>\d{{1,4}}))?)"
)
_LINES = (
    r"(?P<page>\d{1,4}):(?P<line>\d{1,2})"
    rf"(?:{_DASH}(?:(?P<line_page>\d{{1,4}}):)?(?P<line_end>\d{{1,2}}))?(?!\d|:\d)"
)

_PATTERNS: tuple[tuple[CiteKind, re.Pattern[str]], ...] = (
    (
        CiteKind.EXHIBIT,
        re.compile(
            r"(?P<side>[갑을병])\s?제?\s?(?P<label>\d{1,4})\s?호증(?:\s?의\s?(?P<sub>\d{1,3}))?"
            r"(?:\s?(?:제\s?)?(?P<page>\d{1,4})\s?(?:면|쪽|페이지))?"
        ),
    ),
    (
        CiteKind.TRANSCRIPT,
        re.compile(
            rf"(?<!\w){_NAME}(?P<paper>Dep(?:\.|o\.|osition)?|(?:Hr['’]?g|Hearing|Trial"
            rf"|Oral\s+Arg\.)?\s?Tr(?:\.|anscript)"
            rf"|Test(?:\.|imony)|RT|R\.T\.)(?:\s+Tr\.)?,?\s+(?:at\s{{1,8}})?{_LINES}"
        ),
    ),
    (
        CiteKind.PAPER,
        re.compile(
            rf"(?<!\w){_NAME}(?:(?:First|Second|Third)\s)?(?:Am(?:\.|ended)\s)?"
            r"(?P<paper>Decl(?:\.|aration)|Aff(?:\.|idavit)|Compl(?:\.|aint)|Answer|Mot(?:\.|ion)"
            r"|Opp(?:\.|osition)|Br(?:\.|ief)"
            rf"|Reply|Dep(?:\.|osition)|Report|Rep\.|Tr\.)(?:{_PARAGRAPH}|{_AT})"
        ),
    ),
    (
        CiteKind.EXHIBIT,
        re.compile(
            r"(?<!\w)(?:Exs?\.|Exhs?\.|Exhibits?|EX\.|EXHIBIT|Anlage|Annex)\s?(?:No\.?\s?)?"
            rf"(?P<label>[A-Z]{{1,3}}(?![a-z\w])"
            rf"|\d{{1,4}}(?:[-.]\d{{1,3}})?)(?P<sub>-\d{{1,3}})?(?:{_PARAGRAPH}|{_AT})?"
        ),
    ),
    (
        CiteKind.DOCKET,
        re.compile(
            r"(?<!\w)(?:ECF|Dkt\.?|Docket|D\.E\.|Doc\.)\s?(?:Entry\s|No\.?\s?"
            r"|#)*(?P<label>\d{1,4}(?:-\d{1,3})?)"
            rf"(?:{_PARAGRAPH}|{_AT})?"
        ),
    ),
    (
        CiteKind.BATES,
        re.compile(
            r"(?<![\w.-])(?P<label>[A-Z][A-Z0-9&]{0,14}[A-Z&](?:[-_][A-Z]{2,12})*)(?P<glue>[-_ "
            r"]{0,1})(?P<serial>\d{3,10})(?![\d:]|[.,]\d)"
            r"(?:\s?(?:-|–|—|to|through)\s?(?:(?P=label)[-_ ]?)?(?P<serial_end>\d{2,10})(?![\d-]))?"
            r"(?:\s{1,8}at\s{1,8}-?(?P<inner>\d{2,10}))?"
        ),
    ),
    (
        CiteKind.ID,
        re.compile(rf"(?<!\w)(?:Id\.|id\.|Ibid\.|ibid\.)(?:{_PARAGRAPH}|{_AT})?"),
    ),
    (
        CiteKind.SUPRA,
        re.compile(
            rf"(?<!\w){_NAME}(?P<paper>Dep\.|Decl\.|Aff\.|Compl\.|Tr\.)?,?\s{{0,4}}supra(?:{_PARAGRAPH}"
            rf"|{_AT})?"
        ),
    ),
    (
        CiteKind.PAGE,
        re.compile(
            rf"(?<!\w)(?P<pdf>PDF\s+)?(?:pp?\.|[Pp]ages?|Seite"
            rf"|S\.)\s?(?P<page>\d{{1,5}})(?:{_DASH}(?P<page_end>\d{{1,5}}))?(?![\w.:]\d)"
            r"(?P<tail>\s+of\s+the\s+PDF)?"
        ),
    ),
    (CiteKind.PAGE, re.compile(r"제?\s?(?P<page>\d{1,5})\s?(?:면|쪽|페이지)(?![가-힣]*금)")),
    (
        CiteKind.PAGE,
        re.compile(
            rf"(?:¶¶?|(?<!\w)(?:[Pp]ara\."
            rf"|[Pp]aragraphs?))\s?(?P<paragraph>\d{{1,4}})(?!\d|\.\d|\()"
            rf"(?:{_DASH}(?P<paragraph_end>\d{{1,4}}))?"
        ),
    ),
    (
        CiteKind.PAGE,
        re.compile(rf"(?<![\w:.]){_LINES}(?!\s?(?:[AaPp]\.?[Mm]|[EPC][SD]T|UTC|KST|o['’]clock))"),
    ),
)

_SIGNALS = frozenset(
    "see cf accord but compare contra in the and also citing quoting from per".split()
)
_NEVER_BATES = frozenset(
    "ISO RFC USD EUR GBP KRW JPY CHF CAD AUD HIPAA ERISA ECF DKT WL LEXIS FY NO CV CR MD GAAP "
    "IFRS SOX IRC CFR USC COVID "
    "FORM RULE SECTION PART TITLE CASE PAGE EXHIBIT EX DOC".split()
)


def find_record_cites(text: str) -> tuple[RecordCite, ...]:
    """The record cites of a reply in order; spans do not overlap, fuller forms win."""
    read: list[RecordCite] = []
    taken = bytearray(len(text))
    for kind, pattern in _PATTERNS:
        for found in pattern.finditer(text):
            start, end = found.span()
            cite = None if any(taken[start:end]) else _read(kind, found)
            if cite is not None:
                taken[start:end] = b"\x01" * (end - start)
                read.append(cite)
    return tuple(sorted(read, key=lambda cite: cite.start))


def _number(found: dict[str, str | None], name: str) -> int | None:
    value = found.get(name)
    return int(value) if value else None


def _read(kind: CiteKind, match: re.Match[str]) -> RecordCite | None:
    found = match.groupdict()
    label = found.get("label") or ""
    if found.get("side"):
        label = f"{found['side']} {label}" + (f"-{found['sub']}" if found["sub"] else "")
    elif found.get("sub"):
        label += found["sub"] or ""
    serial = _number(found, "serial")
    digits = found.get("serial") or ""
    if kind is CiteKind.BATES and not _bates_shape(label, found.get("glue") or "", digits):
        return None
    page, page_end = _range(_number(found, "page"), found.get("page_end") or found.get("line_page"))
    line, line_end = _number(found, "line"), _number(found, "line_end")
    if line is None and kind is CiteKind.PAGE and not (page or found.get("paragraph")):
        return None
    paragraph, paragraph_end = _range(_number(found, "paragraph"), found.get("paragraph_end"))
    serial, serial_end = _range(serial, found.get("serial_end"))
    inner = found.get("inner")
    if inner and serial is not None:
        serial, serial_end = _range(serial, inner)
        serial, serial_end = serial_end, None
    name = found.get("name") or ""
    kept = _without_signal(name)
    skipped = name.find(kept) if kept else len(name)
    start = match.start("name") + skipped if name else match.start()
    while name and match.string[start].isspace():
        start += 1
    return RecordCite(
        start=start,
        end=match.end(),
        kind=kind,
        label=label or (found.get("paper") or ""),
        name=kept,
        page=page,
        page_end=page_end,
        line=line,
        line_end=line_end,
        paragraph=paragraph,
        paragraph_end=paragraph_end,
        serial=serial,
        serial_end=serial_end,
        width=len(digits),
        physical=bool(found.get("pdf") or found.get("tail")),
    )


def _without_signal(name: str) -> str:
    """ "See Reeves" is Reeves: a signal before a name is not part of it."""
    words = name.split()
    while words and words[0].strip(".,").lower() in _SIGNALS:
        words.pop(0)
    return " ".join(words)


def _bates_shape(prefix: str, glue: str, digits: str) -> bool:
    if prefix in _NEVER_BATES:
        return False
    if glue == " ":
        return len(digits) >= 5 or (digits.startswith("0") and len(digits) >= 4)
    return len(digits) >= 4 or digits.startswith("0")


def _range(first: int | None, last: str | None) -> tuple[int | None, int | None]:
    """Expands an abbreviated end: 212-13 is 212 to 213, 1234-36 is 1234 to 1236."""
    if first is None or not last:
        return first, None
    end = int(last)
    if end < first and len(last) < len(str(first)) + 8:
        head = str(first).zfill(len(last))
        end = int(head[: len(head) - len(last)] + last) if len(head) > len(last) else end
    return first, end
