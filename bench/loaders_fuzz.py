"""Damaged and hostile files through every loader, in a child process with limits.

A file fails when reading it raises, hangs, ends the child, or gives a document that hides what
became of it: no page, or an unreadable page without a reason.
"""

from __future__ import annotations

import io
import random
import re
import tempfile
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import docx  # noqa: TID251 - makes the files that are damaged here
import openpyxl
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from bench.loaders import Measured, Row
from protocol.record import Reading
from rag.loaders import LoadOptions
from rag.loaders.child import ChildReader
from rag.paged import PagedText

Change = Callable[[bytes, random.Random], bytes]


def fuzz(files: int, *, seeds: Path | None = None, seed: int = 1) -> Measured:
    """The number of failures over ``files`` damaged files; rows hold them, and counts a kind.

    ``seeds`` is a folder of real files to damage beside those made here.
    """
    chance = random.Random(seed)
    sources = dict(_made())
    if seeds is not None:
        for path in sorted(seeds.iterdir()):
            if path.is_file() and path.suffix != ".md" and path.stat().st_size < 300_000:
                sources[path.name] = path.read_bytes()
    names = sorted(sources)
    counts: dict[str, Row] = {}
    failures: list[Row] = []
    options = LoadOptions(ocr=False, tool_seconds=20)
    with tempfile.TemporaryDirectory() as folder, ChildReader(seconds=60) as reader:
        path = Path(folder) / "damaged"
        for number in range(files):
            name = names[number % len(names)]
            data = sources[name]
            # A container that is damaged outside is seldom opened: mostly its inside is changed.
            inside = data.startswith(b"PK") and chance.random() < 0.85
            for _ in range(1 if inside else chance.randint(1, 3)):
                data = (_inside if inside else chance.choice(_CHANGES))(data, chance)
            path.write_bytes(data)
            try:
                came = reader.load(path, name=name, options=options)
                problem = _problem(came)
            except Exception as error:  # whatever it is, it is a failure and is counted
                came, problem = (), f"raised {type(error).__name__}"
            row = counts.setdefault(
                Path(name).suffix, {"kind": Path(name).suffix, "tried": 0, "read": 0, "failed": 0}
            )
            row["tried"] += 1
            row["read"] += bool(came) and came[0].readable
            row["failed"] += bool(problem)
            if problem:
                failures.append({"file": name, "number": number, "expected": "", "came": problem})
    return Measured(figure=len(failures), rows=[*counts.values(), *failures])


def _problem(came: tuple[PagedText, ...]) -> str:
    """What is wrong with an answer; empty when it says plainly what became of the file."""
    if not came:
        return "no document"
    for paged in came:
        for page in paged.pages:
            if page.reading is Reading.UNREADABLE and not page.reason:
                return "unreadable without a reason"
            if "the reader ended" in page.reason or "took longer" in page.reason:
                return page.reason
    return ""


def _flip(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, max(1, len(out) // 500))):
        if out:
            out[chance.randrange(len(out))] = chance.randrange(256)
    return bytes(out)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _drop(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + data[at + chance.randint(1, 2000) :]


def _repeat(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    piece = data[at : at + chance.randint(1, 400)]
    return data[:at] + piece * chance.randint(2, 60) + data[at:]


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(_ODD) + data[at:]


def _number(data: bytes, chance: random.Random) -> bytes:
    """Another number where one stands: lengths, counts, offsets."""
    out = bytearray(data)
    digits = [at for at, byte in enumerate(out[:200_000]) if 48 <= byte <= 57]
    for at in chance.sample(digits, min(len(digits), chance.randint(1, 8))):
        out[at : at + 1] = chance.choice((b"0", b"9", b"-1", b"99999999999", b"4294967295"))
    return bytes(out)


def _swap(data: bytes, chance: random.Random) -> bytes:
    """An element or value moved to another place; XML stays well formed more often than not."""
    matches = list(re.finditer(rb"<[^<>]{1,400}/>|\"[^\"<>]{0,60}\"", data))
    if len(matches) < 2:
        return _number(data, chance)
    one, two = sorted(chance.sample(matches, 2), key=lambda match: match.start())
    middle = data[one.end() : two.start()]
    return data[: one.start()] + two.group() + middle + one.group() + data[two.end() :]


def _inside(data: bytes, chance: random.Random) -> bytes:
    """A change inside a zip container, whose checksum is then right again."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            entries = {info.filename: old.read(info) for info in old.infolist()}
    except Exception:  # no container (any more): damage it as it is
        return _flip(data, chance)
    if not entries:
        return data
    name = chance.choice(sorted(entries))
    change = chance.choice((_flip, _drop, _repeat, _insert, _number, _number, _swap, _swap, _cut))
    entries[name] = change(entries[name], chance)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry, body in entries.items():
            new.writestr(entry, body)
    return out.getvalue()


_CHANGES: tuple[Change, ...] = (_flip, _cut, _drop, _repeat, _insert, _number, _inside, _inside)
_ODD = (
    b"\x00" * 64,
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"%PDF-1.7",
    b"PK\x03\x04",
    b"<" * 3000,
    b"(" * 3000,
    b"[" * 3000,
    b"<div>" * 2000,
    b"=?utf-8?b?////?=",
    b"\r" * 500,
    b"\f" * 500,
    b"endobj\nendstream\n",
    "\U000e0041\u202e\u200b".encode() * 40,
)


def _made() -> list[tuple[str, bytes]]:
    """One small sound file of every kind."""
    text = "Dear Ms. Reeves,\nthe rent of $3,850.00 is due on 5 March 2024.\n" * 5
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@b.example", "c@d.example", "Leak 누수"
    mail["Date"] = "Tue, 23 Jan 2024 09:12:00 -0500"
    mail.set_content(text)
    mail.add_alternative(f"<p>{text}</p><p style='display:none'>no</p>", subtype="html")
    mail.add_attachment(text, filename="a.txt")
    eml = mail.as_bytes()
    pages = "\f".join(
        "\n".join(f"{n:2d}  {'QA'[n % 2]}  words of line {n}" for n in range(1, 26)) for _ in "abc"
    )
    html = f"<html><head><title>x</title></head><body><table><tr><td>{text}</td></tr></table>"
    section = (
        '<s xmlns:hp="http://www.hancom.co.kr/hwpml/2011/paragraph"><hp:p><hp:run><hp:t>계약'
        "</hp:t></hp:run></hp:p></s>"
    )
    return [
        ("a.txt", text.encode()),
        ("wide.txt", text.encode("utf-16")),
        ("hearing.txt", pages.encode()),
        ("a.md", f"# Title\n\n{text}".encode()),
        ("a.csv", b'a,b,c\n1,"2\n3",4\n' * 40),
        ("a.html", html.encode()),
        ("a.eml", eml),
        ("a.mbox", (b"From a@b.example Tue Jan 23 09:12:00 2024\n" + eml + b"\n") * 3),
        ("a.pdf", _pdf(text)),
        ("a.docx", _docx(text)),
        ("a.xlsx", _xlsx()),
        ("a.zip", _zip({"a.txt": text.encode(), "b.eml": eml})),
        (
            "a.hwpx",
            _zip({"mimetype": b"application/hwp+zip", "Contents/section0.xml": section.encode()}),
        ),
        ("a.png", _picture("PNG")),
        ("a.jpg", _picture("JPEG")),
        ("a.tif", _picture("TIFF")),
    ]


def _pdf(text: str) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out)
    for page in range(3):
        for at, line in enumerate(text.split("\n")):
            canvas.drawString(72, 700 - 14 * at, f"{page} {line}")
        canvas.rect(70, 690, 60, 12, fill=1)
        canvas.acroForm.textfield(name=f"f{page}", value="v", x=72, y=100)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def _docx(text: str) -> bytes:
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "head"
    for line in text.split("\n"):
        document.add_paragraph(line, style="List Number")
    document.add_table(3, 3).cell(1, 1).text = "cell"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _xlsx() -> bytes:
    book = openpyxl.Workbook()
    for row in range(1, 30):
        book.active.append([row, row * 1.5, "words", None, f"=A{row}"])
    book.create_sheet("hidden").sheet_state = "hidden"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _zip(entries: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def _picture(form: str) -> bytes:
    out = io.BytesIO()
    Image.effect_mandelbrot((200, 200), (-2, -1, 1, 1), 20).save(out, form)
    return out.getvalue()
