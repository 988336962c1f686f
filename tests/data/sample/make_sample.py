"""Makes the sample matter's files and its answer key, byte for byte the same every time.

    python tests/data/sample/make_sample.py            # into this folder
    python tests/data/sample/make_sample.py FOLDER     # somewhere else

Nothing that may differ between machines goes into the bytes: no dates or random ids, base-14 fonts,
no compression by a library, a bitmap font for the scanned pages (the other kinds: ``packing.py``).
"""

from __future__ import annotations

import datetime as dt
import io
import json
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import hartwell_more as more
import hartwell_text as words
import packing
import planted
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import letter
from reportlab.pdfgen.canvas import Canvas

FOLDER = "hartwell-v-northgate"
WIDTH_CHARS = 86
LEADING_PT = 15
LEFT_PT, TOP_PT = 72, 720


@dataclass(frozen=True)
class Line:
    """One printed line: its text, and how it stands on the page."""

    text: str
    centred: bool = False
    printed_number: int | None = None


@dataclass(frozen=True)
class Page:
    """One page as drawn; the stamp is the last line on it."""

    lines: tuple[Line, ...]
    bates: str | None = None


@dataclass(frozen=True)
class Document:
    """A document as drawn, and the numbers people cite it by."""

    name: str
    pages: tuple[Page, ...]
    font: str = "Times-Roman"
    unseen: tuple[str, ...] = ()
    """Words on the first page in white, and on the second in a mode that draws nothing."""


def prose(text: str) -> tuple[tuple[Line, ...], ...]:
    """Pages of wrapped paragraphs; see ``hartwell_text`` for the marks."""
    pages = []
    for page in text.split("\f"):
        lines: list[Line] = []
        for paragraph in page.splitlines():
            centred = paragraph.startswith("^")
            wrapped = textwrap.wrap(paragraph.removeprefix("^"), WIDTH_CHARS)
            lines += [Line(line, centred=centred) for line in wrapped]
        pages.append(tuple(lines))
    return tuple(pages)


def stamped(pages: Iterable[tuple[Line, ...]], first: int | None) -> tuple[Page, ...]:
    """The pages with Bates labels NG-nnnnnn from ``first``; None leaves them bare."""
    return tuple(
        Page(lines, None if first is None else f"NG-{first + offset:06d}")
        for offset, lines in enumerate(pages)
    )


def transcript() -> tuple[tuple[Line, ...], ...]:
    """The deposition, 25 numbered lines a page."""
    pages = []
    for page in words.TRANSCRIPT.split("\f"):
        rows = page.removeprefix("\n").splitlines()
        assert len(rows) <= 25, f"{len(rows)} lines on a transcript page"
        rows += [""] * (25 - len(rows))
        pages.append(tuple(Line(row, printed_number=n) for n, row in enumerate(rows, start=1)))
    return tuple(pages)


def invoices() -> tuple[tuple[Line, ...], ...]:
    """The statement: head, table in fixed columns, foot."""
    table = [Line(f"{'Invoice':<10}{'Date':<20}{'Work':<26}{'Amount':>14}")]
    table += [
        Line(f"{number:<10}{date:<20}{work:<26}{'$' + amount:>14}")
        for number, date, work, amount in words.INVOICE_ROWS
    ]
    return (prose(words.INVOICE_HEAD)[0] + tuple(table) + prose(words.INVOICE_FOOT)[0],)


def drawn_documents() -> tuple[Document, ...]:
    """The PDFs with a text layer."""
    return (
        Document(planted.COMPLAINT, stamped(prose(words.COMPLAINT), None)),
        Document(planted.LEASE, stamped(prose(words.LEASE), 1)),
        Document(planted.REEVES, stamped(transcript(), 211), "Courier"),
        Document(planted.REPORT, stamped(prose(words.INSPECTION), 301)),
        Document(planted.INVOICES, stamped(invoices(), 420), "Courier"),
        Document(planted.QUOTE, stamped(prose(more.QUOTE), 417)),
        Document(
            planted.PUMPS,
            tuple(
                Page(page, f"QD-{serial:06d}")
                for page, serial in zip(prose(more.PUMP_NOTE), more.PUMP_SERIALS, strict=True)
            ),
            unseen=(more.PUMP_WHITE, more.PUMP_UNDRAWN),
        ),
    )


def draw(document: Document) -> bytes:
    """One PDF with a text layer, one string a line, top to bottom, the stamp last."""
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=letter, pageCompression=0, invariant=1)
    canvas.setTitle(document.name.removesuffix(".pdf"))
    for at, page in enumerate(document.pages):
        size = 11 if document.font == "Times-Roman" else 10
        canvas.setFont(document.font, size)
        y = TOP_PT
        for line in page.lines:
            text = line.text
            if line.printed_number is not None:
                text = f"{line.printed_number:>2}  {text}".rstrip()
            if line.centred:
                canvas.drawCentredString(letter[0] / 2, y, text)
            else:
                canvas.drawString(LEFT_PT, y, text)
            y -= LEADING_PT
        for unseen in document.unseen[at : at + 1]:
            canvas.saveState()
            canvas.setFillColorRGB(1, 1, 1)
            canvas.drawString(LEFT_PT, 300, unseen, mode=3 if at else 0)
            canvas.restoreState()
        if page.bates:
            canvas.drawRightString(letter[0] - LEFT_PT, 40, page.bates)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


# --- scanned pages --------------------------------------------------------------------------------


def run_length(data: bytes) -> bytes:
    """PDF's RunLengthDecode form of ``data`` (ISO 32000-1, 7.4.5): the same on every machine."""
    out = bytearray()
    literal = bytearray()
    at = 0
    while at < len(data):
        run = 1
        while run < 128 and at + run < len(data) and data[at + run] == data[at]:
            run += 1
        if run > 2 or (run > 1 and not literal):
            if literal:
                out += bytes([len(literal) - 1]) + literal
                literal.clear()
            out += bytes([257 - run, data[at]])
        else:
            literal += data[at : at + run]
            if len(literal) >= 127:
                out += bytes([len(literal) - 1]) + literal
                literal.clear()
        at += run
    if literal:
        out += bytes([len(literal) - 1]) + literal
    return bytes(out) + b"\x80"


def photograph(lines: tuple[str, ...], *, smooth: bool) -> tuple[int, int, bytes]:
    """A black-and-white picture of a page: width, height and its packed rows.

    Args:
        lines: What stands on it.
        smooth: Round letters, which OCR reads; else large dots, which it half reads.
    """
    small = Image.new("1", (212, 275), 1)
    pen = ImageDraw.Draw(small)
    font = ImageFont.load_default_imagefont()
    for row, line in enumerate(lines):
        pen.text((24, 30 + 26 * row), line, fill=0, font=font)
    if smooth:
        grey = small.convert("L").resize((848, 1100), Image.Resampling.LANCZOS)
        page = grey.point([0] * 128 + [255] * 128, "1")
    else:
        page = small.resize((848, 1100), Image.Resampling.NEAREST)
    return page.width, page.height, page.tobytes()


def draw_scan(pages: tuple[tuple[str, ...], ...], *, smooth: bool = False) -> bytes:
    """A PDF whose pages are pictures and nothing else."""
    kids = " ".join(f"{3 + 3 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
    ]
    for number, lines in enumerate(pages):
        width, height, packed = photograph(lines, smooth=smooth)
        data = run_length(packed)
        first = 3 + 3 * number
        picture = (
            f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} "
            "/ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /RunLengthDecode "
            f"/Length {len(data)} >>\nstream\n"
        ).encode()
        placing = b"q 612 0 0 792 0 0 cm /Scan Do Q"
        objects += [
            (
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
                f"/Resources << /XObject << /Scan {first + 2} 0 R >> >> "
                f"/Contents {first + 1} 0 R >>"
            ).encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(placing), placing),
            picture + data + b"\nendstream",
        ]
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        table,
    )
    return bytes(out)


# --- other kinds of file --------------------------------------------------------------------------


def sheet_rows() -> list[tuple[packing.Cell, ...]]:
    """The invoice sheet: the statement's rows with real dates and numbers, and their true sum."""
    rows: list[tuple[packing.Cell, ...]] = [more.SHEET_HEAD]
    for number, date, work, amount in words.INVOICE_ROWS:
        day = dt.datetime.strptime(date, "%B %d, %Y").replace(tzinfo=dt.UTC).date()
        rows.append((number, day, work, float(amount.replace(",", ""))))
    return [*rows, more.SHEET_TOTAL]


def attachments() -> tuple[tuple[str, str, bytes], ...]:
    """What the message carries: name, media type, bytes."""
    (quote,) = (one for one in drawn_documents() if one.name == planted.QUOTE)
    table = "".join(",".join(row) + "\r\n" for row in more.PROBLEMS)
    return (
        (planted.QUOTE, "application/pdf", draw(quote)),
        (planted.PROBLEMS, "text/csv", table.encode()),
    )


def files() -> dict[str, bytes]:
    """Every file of the folder with its bytes."""
    return {
        **{one.name: draw(one) for one in drawn_documents() if one.name not in planted.INSIDE},
        **{name: text.encode() for name, text in mails().items()},
        planted.SCAN: draw_scan(words.SCANNED),
        planted.GUARD: draw_scan(more.GUARD_NOTE, smooth=True),
        planted.REPAIR: packing.message(more.REPAIR_HEADERS, more.REPAIR_BODY, attachments()),
        planted.SHEET: packing.workbook(
            [("Invoices", False, sheet_rows()), ("Markup", True, more.SHEET_HIDDEN)]
        ),
        planted.LETTER: packing.word_file(more.KOREAN_LETTER),
        planted.MEMO: packing.word_file(more.MEMO, more.MEMO_INSERTED, more.MEMO_STRUCK),
    }


# --- the answer key -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """One line of a document with the numbers it is cited by."""

    page: int
    number: int
    text: str
    bates: str | None


def placed_lines() -> dict[str, list[Placed]]:
    """Every line of every readable document. A line's number is the printed one, else its count."""
    placed: dict[str, list[Placed]] = {}
    for document in drawn_documents():
        placed[document.name] = [
            Placed(page_number, line.printed_number or count, line.text, page.bates)
            for page_number, page in enumerate(document.pages, start=1)
            for count, line in enumerate(page.lines, start=1)
        ]
    for name, text in mails().items():
        bates = text.rstrip().splitlines()[-1]
        placed[name] = [
            Placed(1, count, line, bates) for count, line in enumerate(text.splitlines(), start=1)
        ]
    for name, lines in unstamped().items():
        placed[name] = [Placed(1, count, line, None) for count, line in enumerate(lines, start=1)]
    return placed


def unstamped() -> dict[str, list[str]]:
    """The lines of the papers that are no PDF and no plain text, as a reader sees them."""
    cells = [[packing.shown(cell) for cell in row] for row in sheet_rows()]
    headers = [f"{key}: {value}" for key, value in more.REPAIR_HEADERS]
    return {
        planted.REPAIR: [*headers, "", *more.REPAIR_BODY.splitlines()],
        planted.PROBLEMS: [" ".join(row) for row in more.PROBLEMS],
        planted.SHEET: [" ".join(row) for row in cells],
        planted.LETTER: list(more.KOREAN_LETTER),
    }


def mails() -> dict[str, str]:
    """The two e-mails as plain text."""
    return {planted.OSEI_MAIL: words.OSEI_EMAIL, planted.REEVES_MAIL: words.REEVES_EMAIL}


def place(lines: list[Placed], wanted: str) -> dict[str, object]:
    """Where ``wanted`` first stands, line breaks read as one space."""
    joined, owners = "", list[Placed]()
    for line in lines:
        text = " ".join(line.text.split()) + " "
        joined += text
        owners += [line] * len(text)
    start = joined.index(wanted)
    first, last = owners[start], owners[start + len(wanted) - 1]
    return {
        "page": first.page,
        "end_page": last.page,
        "line_begin": first.number,
        "line_end": last.number,
        "bates": first.bates,
        "end_bates": last.bates,
    }


def answer_key() -> dict[str, object]:
    """Every planted item with its exact words and place."""
    lines = placed_lines()

    def at(document: str, exact: str) -> dict[str, object]:
        return {"document": document, "words": exact, **place(lines[document], exact)}

    items: list[dict[str, object]] = []
    for kind, document, exact, value in planted.FACTS:
        items.append({"kind": kind, "value": value, "places": [at(document, exact)]})
    for kind, pairs in (("contradiction", planted.CONTRADICTIONS), ("change", planted.CHANGES)):
        for about, sides in pairs:
            items.append({"kind": kind, "about": about, "places": [at(*side) for side in sides]})
    for quoting, misquoted, quoted, right in planted.MISQUOTATIONS:
        places = [at(quoting, misquoted), at(quoted, right)]
        items.append({"kind": "misquotation", "places": places})
    for kind, document, exact, why in planted.WRONG:
        items.append({"kind": kind, "why": why, "places": [at(document, exact)]})
    scans = ((planted.SCAN, words.SCANNED), (planted.GUARD, more.GUARD_NOTE))
    for name, page, rows in ((n, p, r) for n, scan in scans for p, r in enumerate(scan, start=1)):
        place_ = {"document": name, "page": page, "bates": rows[-1]}
        items.append({"kind": "unreadable", "why": "no text layer", "places": [place_]})
    for statement in planted.ABSENT:
        items.append({"kind": "absent", "statement": statement, "places": []})
    numbered = [{"id": f"sm-{n:03d}", **item} for n, item in enumerate(items, start=1)]
    counts = {document.name: len(document.pages) for document in drawn_documents()}
    counts |= dict.fromkeys([*mails(), *unstamped(), planted.MEMO], 1)
    counts |= {name: len(scan) for name, scan in scans} | {planted.SHEET: 2}
    unread = sum(len(scan) for _, scan in scans) + 1  # the hidden sheet
    return {
        "matter": FOLDER,
        "documents": counts,
        "attachments": planted.INSIDE,
        "pages": sum(counts.values()),
        "pages_readable": sum(counts.values()) - unread,
        "items": numbered,
        "handled": [
            dict(zip(("kind", "document", "page", "words", "wanted"), row, strict=True))
            for row in planted.HANDLED
        ],
    }


def make(target: Path) -> None:
    """Writes the matter's folder and ``answer-key.json`` under ``target``."""
    folder = target / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files().items():
        (folder / name).write_bytes(data)
    key = json.dumps(answer_key(), indent=1, ensure_ascii=False) + "\n"
    (target / "answer-key.json").write_bytes(key.encode())


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
