"""Real, awkward files: what is hard about each must come out right.

The small ones lie in `tests/data/files` (their sources in its README). The whole set of 25 is read
too when SECONDCHAIR_DATA names the folder that holds it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.record import Reading
from rag.loaders import LoadOptions, load, scan
from rag.loaders.pdf_boxes import find_boxes
from rag.paged import FindingKind, PagedText, PlaceKind

HERE = Path(__file__).parent.parent / "data" / "files"
DATA = os.environ.get("SECONDCHAIR_DATA", "")
ALL = Path(DATA) / "files"
NO_OCR = LoadOptions(ocr=False)
needs_all = pytest.mark.skipif(
    not (DATA and ALL.is_dir()), reason="SECONDCHAIR_DATA names no folder with files/"
)
needs_ocr = pytest.mark.skipif(scan.program() is None, reason="tesseract-ocr is not installed")


def read(name: str, options: LoadOptions = NO_OCR) -> PagedText:
    return load(HERE / name, options=options)[0]


def kinds(paged: PagedText) -> set[FindingKind]:
    return {found.kind for found in paged.findings}


def test_failed_redactions_are_found_and_kept_out() -> None:
    paged = read("rectangles_yes.pdf")
    found = [one for one in paged.findings if one.kind is FindingKind.FAILED_REDACTION]
    assert len(found) == 3
    for one in found:
        assert one.text
        assert one.text not in paged.text
        assert one.text not in one.reason
    assert "Responses in the Application Did Not Reflect" in paged.text


def test_words_under_a_text_box_are_found_and_kept_out() -> None:
    paged = read("hidden_text_on_visible_text.pdf")
    (found,) = paged.findings
    assert found.kind is FindingKind.FAILED_REDACTION
    assert found.text not in paged.text
    assert "NATURE OF THE ACTION" in paged.text


def test_a_stamp_alone_does_not_make_a_scan_readable() -> None:
    paged = read("ca4_17.pdf")
    assert paged.pages[0].reading is Reading.UNREADABLE
    assert paged.text == ""


@needs_ocr
def test_the_stamped_scan_is_recognised() -> None:
    paged = read("ca4_17.pdf", LoadOptions())
    page = paged.pages[0]
    assert page.reading is Reading.OCR
    assert page.confidence is not None
    assert page.confidence > 0.8
    assert len(paged.text.split()) > 150


def test_pleading_numbers_stand_beside_their_lines() -> None:
    paged = read("gov.uscourts.cacd.652774.40.0.pdf")
    assert len(paged.pages) == 4
    second = paged.page_text(2)
    assert "\n25 THUS, IT IS HEREBY ORDERED THAT:\n" in second
    assert "1\n2\n3\n4\n5\n" not in second
    on_page = [
        place for place in paged.places_of(PlaceKind.LINE) if paged.page_at(place.start).number == 2
    ]
    assert [place.label for place in on_page] == [str(number) for number in range(1, 29)]
    line = next(place for place in on_page if place.label == "25")
    assert paged.text[line.start : line.end] == "25 THUS, IT IS HEREBY ORDERED THAT:"
    assert [page.label for page in paged.pages] == ["1", "2", "3", "4"]
    stamps = paged.places_of(PlaceKind.STAMP)
    assert len(stamps) == 4
    assert all("Document 40" in stamp.label for stamp in stamps)


def test_boxes_of_a_moved_line_are_that_line() -> None:
    path = HERE / "gov.uscourts.cacd.652774.40.0.pdf"
    paged = load(path, options=NO_OCR)[0]
    start = paged.text.index("THUS, IT IS HEREBY")
    (box,) = find_boxes(path, paged, start, start + len("THUS, IT IS HEREBY ORDERED"), NO_OCR)
    assert box.page == 2
    assert 135 < box.bottom < box.top < 155
    assert box.left > 130  # the words, not the number in the margin


def test_mail_in_utf16() -> None:
    paged = read("fake-email-utf-16.eml")
    assert paged.text.startswith("From: Matthew Robinson")
    assert "Date: Fri, 16 Dec 2022 17:04:16 -0500" in paged.text
    assert "Roses are red" in paged.text


def test_mail_with_an_attachment() -> None:
    mail, attached = load(HERE / "fake-email-attachment.eml")
    assert attached.name == "fake-attachment.txt"
    assert attached.parent == 0
    assert attached.text.startswith("Hey this is a fake attachment")
    assert mail.text.endswith("[Attachment: fake-attachment.txt]")


def test_an_outlook_message() -> None:
    paged = read("test_outlook_msg.msg")
    assert paged.kind == "msg"
    assert "Subject: Test Email Message" in paged.text
    assert "Date: Sun, 22 Dec 2024 11:23:00 +0300" in paged.text
    assert paged.text.endswith("This is the body of the test email message")


def test_headers_and_footers_of_a_word_file() -> None:
    paged = read("docx-hdrftr.docx")
    (header,) = paged.places_of(PlaceKind.HEADER)
    (footer,) = paged.places_of(PlaceKind.FOOTER)
    assert paged.text[header.start : header.end].startswith("First header para\nTable cell1")
    assert paged.text[footer.start : footer.end].endswith("para2")
    assert "Main document" in paged.text


def test_comments_of_a_word_file() -> None:
    paged = read("test_with_comment.docx")
    comments = [paged.text[p.start : p.end] for p in paged.places_of(PlaceKind.COMMENT)]
    assert len(comments) == 2
    assert "This is a test comment. 12df-321a" in comments[0]


def test_the_command_reads_and_says_what_it_found(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rag", "read", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(str(HERE / "rectangles_yes.pdf"), "--json")
    value = json.loads(done.stdout)
    assert done.returncode == 0
    assert value["kind"] == "pdf"
    assert value["pages"][0].items() >= {"number": 1, "class": "text", "confidence": None}.items()
    assert value["characters"] == value["pages"][0]["chars"] > 1500
    assert {found["kind"] for found in value["findings"]} == {"failed_redaction"}
    (tmp_path / "x.xyz").write_bytes(bytes(range(256)))
    done = run(str(tmp_path / "x.xyz"), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["pages"][0]["class"] == "unreadable"
    assert run(str(tmp_path / "none"), "--json").returncode == 2
    assert "fake-attachment" in run(str(HERE / "fake-email-attachment.eml")).stdout


def test_every_small_file_reads_twice_the_same() -> None:
    for path in sorted(HERE.iterdir()):
        if path.suffix != ".md":
            assert load(path, options=NO_OCR) == load(path, options=NO_OCR)


# --- the whole set --------------------------------------------------------------------------------


def _has(*words: str) -> Callable[[PagedText], bool]:
    return lambda paged: all(word in " ".join(paged.text.split()) for word in words)


FACTS: dict[str, tuple[str, int, Callable[[PagedText], bool]]] = {
    "ca2_1-1.pdf": ("pdf", 2, lambda p: len(p.places_of(PlaceKind.STAMP)) == 2),
    "ca4_17.pdf": ("pdf", 1, lambda p: p.pages[0].reading is not Reading.TEXT),
    "ca9_19.pdf": (
        "pdf",
        15,
        lambda p: len(p.places_of(PlaceKind.STAMP)) == 15 and p.pages[2].label == "1",
    ),
    "ca8_.pdf": (
        "pdf",
        2,
        lambda p: "picture" in p.pages[0].reason and _has("Dear Mr. Gans,")(p),
    ),
    "gov.uscourts.cacd.652774.40.0.pdf": ("pdf", 4, _has("25 THUS, IT IS HEREBY ORDERED")),
    "gov.uscourts.azd.1085839.3.0.pdf": (
        "pdf",
        5,
        lambda p: (
            [x.label for x in p.places_of(PlaceKind.LINE)][:28] == [str(n) for n in range(1, 29)]
        ),
    ),
    "image-pdf.pdf": ("pdf", 2, lambda p: all(x.reading is not Reading.TEXT for x in p.pages)),
    "vector-pdf.pdf": (
        "pdf",
        30,
        lambda p: [x.label for x in p.pages[:6]] == ["1", "2", "3", "4", "1", "2"],
    ),
    "broken-mime.pdf": ("pdf", 23, _has("GIFT SURPLUS, LLC V. STATE EX REL. COOPER")),
    "word-docx.docx": ("docx", 1, lambda p: len(p.text) > 20_000),
    "rectangles_yes.pdf": ("pdf", 1, lambda p: kinds(p) == {FindingKind.FAILED_REDACTION}),
    "hidden_text_on_visible_text.pdf": ("pdf", 1, lambda p: bool(kinds(p))),
    "bad_cross_hatched_redactions.pdf": (
        "pdf",
        1,
        lambda p: len(p.findings) >= 8 and "electronic devices" in p.text.replace("\n", " "),
    ),
    "strangeDate.msg": ("msg", 1, lambda p: any("no date" in words for words in p.warnings)),
    "test_with_comment.docx": ("docx", 1, lambda p: len(p.places_of(PlaceKind.COMMENT)) == 2),
    "MEDRPT-2024-PAT-3847_medical_report_scan.pdf": (
        "pdf",
        3,
        lambda p: all(x.reading is not Reading.TEXT for x in p.pages),
    ),
    "test_outlook_msg.msg": ("msg", 1, _has("Test Email Message")),
    "rotated_skew.pdf": ("pdf", 1, lambda p: p.pages[0].reading is not Reading.TEXT),
    "francais.pdf": ("pdf", 1, lambda p: p.pages[0].reading is not Reading.TEXT),
    "fake-email-attachment.eml": ("eml", 1, _has("fake-attachment.txt")),
    "email-replace-mime-encodings-error-4.eml": ("eml", 1, _has("Hi! I’m Ihor")),
    "fake-email-utf-16.eml": ("eml", 1, _has("Roses are red")),
    "docx-hdrftr.docx": ("docx", 1, lambda p: bool(p.places_of(PlaceKind.HEADER))),
}


@needs_all
@pytest.mark.parametrize("name", sorted(FACTS))
def test_every_file_of_the_set(name: str) -> None:
    kind, pages, fact = FACTS[name]
    paged = load(ALL / name, options=NO_OCR)[0]
    assert (paged.kind, len(paged.pages)) == (kind, pages)
    assert all(page.reading is not Reading.UNREADABLE or page.reason for page in paged.pages)
    assert not any(page.readers_disagree for page in paged.pages)
    assert fact(paged)


@needs_all
@pytest.mark.parametrize(("name", "kind"), [("word-doc.doc", "doc"), ("word-perfect.wpd", "wpd")])
def test_old_office_files_are_read_or_say_what_to_install(name: str, kind: str) -> None:
    paged = load(ALL / name)[0]
    assert paged.kind == kind
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office or (kind == "doc" and (shutil.which("antiword") or shutil.which("catdoc"))):
        assert len(paged.text) > 5_000
    else:
        assert "install" in paged.pages[0].reason


@needs_all
@needs_ocr
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("francais.pdf", 40),
        ("rotated_skew.pdf", 500),
        ("image-pdf.pdf", 500),
        ("MEDRPT-2024-PAT-3847_medical_report_scan.pdf", 500),
    ],
)
def test_scans_of_the_set_are_recognised(name: str, words: int) -> None:
    paged = load(ALL / name)[0]
    assert len(paged.text.split()) > words
    for page in paged.pages:
        assert page.reading is Reading.OCR
        assert page.confidence is not None
        assert page.confidence > 0.8


@needs_all
def test_no_file_of_the_set_is_left_without_a_check() -> None:
    checked = {*FACTS, "word-doc.doc", "word-perfect.wpd", "README.md"}
    assert {path.name for path in ALL.iterdir()} == checked
