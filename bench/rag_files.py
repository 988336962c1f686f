"""Real awkward files, one by one: what was read and found, and whether the hard part came out.

    python -m bench rag_files --data DIR

The files lie in ``DIR/files``; what is hard about each is in its README there. Languages of OCR are
English and, for the one French scan, French where tesseract has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.harness import Arguments, Result
from protocol.record import Reading
from rag.loaders import LoadOptions
from rag.loaders.child import ChildReader
from rag.paged import FindingKind, PagedText, PlaceKind

Parts = tuple[PagedText, ...]
Check = Callable[[Parts], bool]


def _has(*words: str) -> Check:
    return lambda parts: all(word in " ".join(parts[0].text.split()) for word in words)


def _found(kind: FindingKind, least: int = 1) -> Check:
    return lambda parts: sum(one.kind is kind for one in parts[0].findings) >= least


def _places(kind: PlaceKind, least: int) -> Check:
    return lambda parts: len(parts[0].places_of(kind)) >= least


def _recognised(words: int) -> Check:
    return lambda parts: (
        all(page.reading is Reading.OCR for page in parts[0].pages)
        and len(parts[0].text.split()) >= words
    )


# What is hard about a file, and what must have come out.
WANTED: Final[dict[str, tuple[str, Check]]] = {
    "ca2_1-1.pdf": ("the court's stamp on each page is a place", _places(PlaceKind.STAMP, 2)),
    "ca4_17.pdf": ("a stamp alone is no text: OCR", _recognised(20)),
    "ca9_19.pdf": ("15 stamps; printed page labels", _places(PlaceKind.STAMP, 15)),
    "ca8_.pdf": ("text beside pictures", _has("Dear Mr. Gans,")),
    "gov.uscourts.cacd.652774.40.0.pdf": (
        "margin numbers stand beside their lines",
        _has("25 THUS, IT IS HEREBY ORDERED"),
    ),
    "gov.uscourts.azd.1085839.3.0.pdf": (
        "margin numbers are lines",
        lambda parts: (
            [place.label for place in parts[0].places_of(PlaceKind.LINE)][:28]
            == [str(number) for number in range(1, 29)]
        ),
    ),
    "image-pdf.pdf": ("pictures only: OCR", _recognised(400)),
    "vector-pdf.pdf": (
        "printed labels begin anew",
        lambda parts: [page.label for page in parts[0].pages[:6]] == list("123412"),
    ),
    "broken-mime.pdf": (
        "two bytes before the header",
        _has("GIFT SURPLUS, LLC V. STATE EX REL. COOPER"),
    ),
    "word-docx.docx": ("an opinion, whole", lambda parts: len(parts[0].text) > 20_000),
    "word-doc.doc": ("old binary Word", lambda parts: len(parts[0].text) > 5_000),
    "word-perfect.wpd": ("WordPerfect", lambda parts: len(parts[0].text) > 5_000),
    "rectangles_yes.pdf": (
        "text under black boxes is a finding",
        _found(FindingKind.FAILED_REDACTION),
    ),
    "hidden_text_on_visible_text.pdf": (
        "text under text is a finding",
        lambda parts: bool(parts[0].findings),
    ),
    "bad_cross_hatched_redactions.pdf": (
        "hatched boxes hide too",
        lambda parts: len(parts[0].findings) >= 8,
    ),
    "strangeDate.msg": (
        "no date is said, none made up",
        lambda parts: any("no date" in words for words in parts[0].warnings),
    ),
    "test_with_comment.docx": ("two comments are places", _places(PlaceKind.COMMENT, 2)),
    "MEDRPT-2024-PAT-3847_medical_report_scan.pdf": ("scanned tables: OCR", _recognised(500)),
    "test_outlook_msg.msg": ("Outlook", _has("Test Email Message")),
    "rotated_skew.pdf": ("turned and skewed: OCR", _recognised(500)),
    "francais.pdf": ("a French scan: OCR", _recognised(40)),
    "fake-email-attachment.eml": (
        "the attachment is a document of its own",
        lambda parts: len(parts) == 2 and parts[1].parent == 0,
    ),
    "email-replace-mime-encodings-error-4.eml": ("broken encodings", _has("Hi! I’m Ihor")),
    "fake-email-utf-16.eml": ("UTF-16", _has("Roses are red")),
    "docx-hdrftr.docx": ("headers and footers are places", _places(PlaceKind.HEADER, 1)),
}


def run(arguments: Arguments) -> Result:
    """Reads every file as an ingest does: in a child process with bounds."""
    result = Result(figures={})
    folder = None if arguments.data is None else arguments.data / "files"
    if folder is None or not folder.is_dir():
        result.notes.append("no folder with files/ given: nothing was read")
        return result
    head = ("file", "kind", "pages: text, OCR, unread", "words", "findings", "the hard part", "")
    result.lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    right = agreed = 0
    paths = sorted(path for path in folder.iterdir() if path.suffix != ".md")
    with ChildReader() as reader:
        for path in paths:
            row, cells = _read(reader, path)
            right += row["right"] is True
            agreed += row["readers_agree"] is True
            result.rows.append(row)
            result.lines.append("| " + " | ".join(cells) + " |")
    result.figures = {"files": len(paths), "files_right": right, "files_readers_agree": agreed}
    result.failed = right < len(paths)
    return result


def _read(reader: ChildReader, path: Path) -> tuple[dict[str, object], list[str]]:
    languages = ("fra", "eng") if path.name == "francais.pdf" else ("eng",)
    parts = reader.load(path, name=path.name, options=LoadOptions(languages=languages))
    first = parts[0]
    hard, check = WANTED.get(path.name, ("not in the key", lambda _: False))
    readings = Counter(page.reading for part in parts for page in part.pages)
    counts = [readings[one] for one in (Reading.TEXT, Reading.OCR, Reading.UNREADABLE)]
    words = sum(len(part.text.split()) for part in parts)
    kinds = Counter(found.kind.value for part in parts for found in part.findings)
    right = check(parts)
    row = {
        "file": path.name,
        "kind": first.kind,
        "documents": len(parts),
        "pages": counts,
        "words": words,
        "findings": dict(kinds),
        "warnings": [warning for part in parts for warning in part.warnings],
        "reasons": sorted({page.reason for part in parts for page in part.pages if page.reason}),
        "wanted": hard,
        "right": right,
        "readers_agree": not any(page.readers_disagree for part in parts for page in part.pages),
    }
    found = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(kinds.items()))
    cells = [path.name, first.kind, ", ".join(map(str, counts)), f"{words:,}", found or "none"]
    return row, [*cells, hard, "yes" if right else "NO"]
