"""PDF: text, boxes, labels, stamps, scans, margins. Files are drawn here, one feature each."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from pypdf import PdfReader, PdfWriter
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from protocol.record import Reading
from rag.loaders import LoadOptions, load, pdf_reading, scan, second
from rag.loaders.page_runs import joined, rows_of
from rag.loaders.pdf_boxes import find_boxes
from rag.paged import PagedText, PlaceKind

NO_OCR = LoadOptions(ocr=False)
Draw = Callable[[Canvas], None]


def pdf(*pages: Draw) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, 792), invariant=True)
    for draw in pages:
        canvas.setFont("Helvetica", 11)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def lines(*words: str, top: float = 700) -> Draw:
    def draw(canvas: Canvas) -> None:
        for at, line in enumerate(words):
            canvas.drawString(72, top - 16 * at, line)

    return draw


def both(*draws: Draw) -> Draw:
    def draw(canvas: Canvas) -> None:
        for one in draws:
            one(canvas)

    return draw


def read(tmp_path: Path, data: bytes, options: LoadOptions = NO_OCR) -> PagedText:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    return load(path, options=options)[0]


def noise() -> ImageReader:
    image = Image.new("L", (200, 260), 255)
    ImageDraw.Draw(image).ellipse((20, 20, 180, 240), outline=150, width=6)
    return ImageReader(image)


PROSE = [f"The tenant shall give notice number {n} in writing to the landlord." for n in range(6)]


def test_pages_and_lines(tmp_path: Path) -> None:
    paged = read(tmp_path, pdf(lines("first line", "second line"), lines("next page")))
    assert paged.text == "first line\nsecond line\fnext page"
    assert paged.kind == "pdf"
    assert not paged.findings


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_a_turned_page_reads_and_hides_nothing(tmp_path: Path, rotate: int) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(lines(*PROSE)))))
    writer.pages[0].rotate(rotate)
    writer.pages[0].cropbox.lower_left = (20, 30)
    out = io.BytesIO()
    writer.write(out)
    paged = read(tmp_path, out.getvalue())
    assert not paged.findings
    assert all(line in paged.text for line in PROSE)


def test_junk_before_the_header(tmp_path: Path) -> None:
    paged = read(tmp_path, b"\r\n" + pdf(lines("still a PDF")))
    assert paged.text == "still a PDF"


def test_a_locked_file_says_so(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(lines("secret")))))
    writer.encrypt("open sesame", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    paged = read(tmp_path, out.getvalue())
    assert paged.pages[0].reading is Reading.UNREADABLE
    assert "password" in paged.pages[0].reason
    assert not paged.text


def test_a_file_cut_short_is_unreadable_not_a_crash(tmp_path: Path) -> None:
    data = pdf(lines(*PROSE))
    for length in (20, 200, len(data) // 2):
        paged = read(tmp_path, data[:length])
        assert paged.pages
        assert paged.text or paged.pages[0].reason


def test_printed_numbers_win_and_need_company(tmp_path: Path) -> None:
    def page(number: int) -> Draw:
        return both(lines(*PROSE), lines(f"- {number} -", top=40))

    paged = read(tmp_path, pdf(*(page(n) for n in (7, 8, 9))))
    assert [page.label for page in paged.pages] == ["7", "8", "9"]
    alone = read(tmp_path, pdf(both(lines(*PROSE), lines("412", top=40))))
    assert alone.pages[0].label is None


def test_bates_stamps_with_a_gap(tmp_path: Path) -> None:
    def page(number: int) -> Draw:
        return both(lines(*PROSE), lines(f"CONFIDENTIAL  NG-{number:06d}", top=30))

    paged = read(tmp_path, pdf(*(page(n) for n in (212, 213, 216))))
    assert [page.bates for page in paged.pages] == ["NG-000212", "NG-000213", "NG-000216"]
    assert any("NG-000213" in words and "NG-000216" in words for words in paged.warnings)
    stamps = paged.places_of(PlaceKind.STAMP)
    assert [paged.text[stamp.start : stamp.end] for stamp in stamps] == [
        page.bates for page in paged.pages
    ]


def test_a_form_number_that_stays_the_same_is_no_bates_stamp(tmp_path: Path) -> None:
    paged = read(tmp_path, pdf(*[both(lines(*PROSE), lines("AO-000440", top=30))] * 3))
    assert all(page.bates is None for page in paged.pages)


def test_a_docket_number_is_no_bates_stamp(tmp_path: Path) -> None:
    paged = read(tmp_path, pdf(*[lines("Case No. CV2016123", *PROSE)] * 3))
    assert all(page.bates is None for page in paged.pages)


def test_a_stamp_on_a_scan_does_not_make_it_text(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        canvas.drawImage(noise(), 0, 0, 612, 792)
        canvas.drawString(20, 775, "Appeal: 17-2218 Doc: 17 Filed: 10/31/2017 Pg: 1 of 1")

    paged = read(tmp_path, pdf(page))
    assert paged.pages[0].reading is Reading.UNREADABLE
    assert "OCR" in paged.pages[0].reason


def test_two_long_stamps_on_a_scan_do_not_make_it_text(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        canvas.drawImage(noise(), 0, 0, 612, 792)
        canvas.setFont("Helvetica", 7)
        stamp = "Case 8:16-cv-01261-DOC Document 40 - 2 Filed 08 / 05 / 16 Page 1 of 4 Page ID"
        canvas.drawString(20, 775, stamp)
        canvas.drawString(20, 15, stamp)

    assert read(tmp_path, pdf(page)).pages[0].reading is Reading.UNREADABLE


def test_a_sticker_on_a_scan_does_not_make_it_text(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        canvas.drawImage(noise(), 0, 0, 612, 792)
        canvas.drawString(
            300, 60, "EXHIBIT 12 received in the clerk's office January 9 2024 by hand"
        )

    assert read(tmp_path, pdf(page)).pages[0].reading is Reading.UNREADABLE


def test_a_scan_keeps_the_stamps_that_were_printed_over_it(tmp_path: Path) -> None:
    def page(number: int) -> Draw:
        def draw(canvas: Canvas) -> None:
            canvas.drawImage(noise(), 0, 0, 612, 792)
            canvas.drawString(450, 20, f"NG-{number:06d}")

        return draw

    paged = read(tmp_path, pdf(*(page(n) for n in (501, 502, 503))))
    assert [page.reading for page in paged.pages] == [Reading.UNREADABLE] * 3
    assert [page.bates for page in paged.pages] == ["NG-000501", "NG-000502", "NG-000503"]
    assert not paged.text.strip("\f")


def test_a_page_of_any_size_is_looked_through(tmp_path: Path) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(9000, 9000))
    canvas.setFont("Helvetica", 40)
    canvas.drawString(72, 700, "a large drawing")
    canvas.setFillGray(1)
    canvas.drawString(72, 600, "white words")
    canvas.showPage()
    canvas.save()
    paged = read(tmp_path, out.getvalue())
    assert paged.text == "a large drawing"
    assert [found.text for found in paged.findings] == ["white words"]


def test_a_page_of_an_impossible_size_says_so(tmp_path: Path) -> None:
    data = pdf(lines(*PROSE)).replace(b"[ 0 0 612 792 ]", b"[ 0 0 612 999792 ]")
    paged = read(tmp_path, data)
    assert paged.pages[0].reading is Reading.UNREADABLE
    assert "size" in paged.pages[0].reason


def test_a_page_whose_check_fails_is_not_admitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(pdf_reading, "look_through", broken)
    paged = read(tmp_path, pdf(lines(*PROSE)))
    assert paged.pages[0].reading is Reading.UNREADABLE
    assert "checked" in paged.pages[0].reason
    assert not paged.text


def test_two_readers_that_disagree_mark_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        second.PdfCounter, "count", lambda self, index: second.Count(words=90, letters=500)
    )
    paged = read(tmp_path, pdf(lines(*PROSE)))
    assert paged.pages[0].readers_disagree
    assert "2 %" in paged.pages[0].reason


def test_without_the_program_a_scan_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    data = pdf(lambda canvas: canvas.drawImage(noise(), 0, 0, 612, 792))
    paged = read(tmp_path, data, LoadOptions())
    assert paged.pages[0].reading is Reading.UNREADABLE
    assert "tesseract-ocr" in paged.pages[0].reason


def test_a_letterhead_picture_behind_text_keeps_the_text_and_says_so(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        canvas.drawImage(noise(), 0, 0, 612, 792)
        lines(*PROSE)(canvas)

    paged = read(tmp_path, pdf(page))
    assert paged.pages[0].reading is Reading.TEXT
    assert PROSE[0] in paged.text
    assert "picture" in paged.pages[0].reason


def test_a_blank_page_is_read_and_empty(tmp_path: Path) -> None:
    paged = read(tmp_path, pdf(lines("one"), lambda canvas: None, lines("three")))
    assert paged.text == "one\f\fthree"
    assert paged.pages[1].reading is Reading.TEXT
    assert "blank" in paged.pages[1].reason


def test_margin_numbers_come_beside_their_lines(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        for number in range(1, 29):
            canvas.drawRightString(60, 760 - 24 * number, str(number))
        for at, line in enumerate(PROSE):
            canvas.drawString(80, 760 - 24 * (at + 3), line)

    paged = read(tmp_path, pdf(page))
    for at, line in enumerate(PROSE):
        assert f"{at + 3} {line}" in paged.text
        place = next(p for p in paged.places_of(PlaceKind.LINE) if p.label == str(at + 3))
        assert line in paged.text[place.start : place.end]
    numbers = [place.label for place in paged.places_of(PlaceKind.LINE)]
    assert numbers == [str(n) for n in range(1, 29)]


def test_a_numbered_list_is_no_margin(tmp_path: Path) -> None:
    paged = read(tmp_path, pdf(lines("1", "2", "3", *PROSE)))
    assert paged.text.startswith("1\n2\n3\n")


def test_a_form_field_and_a_comment_stand_after_the_text(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        lines(*PROSE)(canvas)
        canvas.acroForm.textfield(name="Tenant", value="Mara Reeves", x=72, y=300, relative=False)
        canvas.textAnnotation("Check this date", Rect=[300, 300, 320, 320])

    paged = read(tmp_path, pdf(page))
    assert "Tenant: Mara Reeves" in paged.text
    fields = paged.places_of(PlaceKind.FORM_FIELD)
    assert [field.label for field in fields] == ["Tenant"]
    notes = paged.places_of(PlaceKind.ANNOTATION)
    assert [paged.text[note.start : note.end] for note in notes] == ["Check this date"]


def test_files_inside_are_parts(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(lines("cover")))))
    writer.add_attachment("annex.txt", b"the annex says so")
    out = io.BytesIO()
    writer.write(out)
    path = tmp_path / "a.pdf"
    path.write_bytes(out.getvalue())
    cover, annex = load(path)
    assert (cover.text, annex.text) == ("cover", "the annex says so")
    assert (annex.name, annex.parent, annex.original) == ("annex.txt", 0, b"the annex says so")


def test_boxes_lie_where_the_words_are(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(lines("alpha beta gamma", "delta"), lines("epsilon")))
    paged = load(path)[0]
    start = paged.text.index("beta")
    boxes = find_boxes(path, paged, start, paged.text.index("epsilon") + 3)
    assert [(box.page, round(box.bottom) // 10 * 10) for box in boxes] == [
        (1, 690),
        (1, 680),
        (2, 690),
    ]
    assert 95 < boxes[0].left < 105  # after "alpha "
    assert boxes[0].right > boxes[0].left


def test_readers_that_only_space_words_apart_do_not_disagree() -> None:
    ours = second.count("the par ties agree on the rent of the pre mises")
    theirs = second.count("the parties agree on the rent of the premises")
    assert ours.words != theirs.words
    assert not second.apart(ours, theirs)
    assert second.apart(theirs, second.count("the parties agree on the rent"))


def test_boxes_of_another_file_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(lines("alpha beta")))
    paged = load(path)[0]
    path.write_bytes(pdf(lines("other words")))
    assert find_boxes(path, paged, 0, 5) == ()
    path.write_bytes(b"no PDF at all")
    assert find_boxes(path, paged, 0, 5) == ()


@settings(max_examples=300)
@given(st.text(alphabet="ab 1\r\n\t\x02\ufffe\x00é가", max_size=80), st.data())
def test_runs_map_every_character_back(chars: str, data: st.DataObject) -> None:
    mapped = joined(rows_of(chars))
    assert len(mapped.text) == sum(len(run.text) for run in mapped.runs)
    start = data.draw(st.integers(0, len(mapped.text)))
    end = data.draw(st.integers(start, len(mapped.text)))
    behind = mapped.chars(start, end)
    same = [char for char in mapped.text[start:end] if char in "ab1é가"]
    assert [chars[at] for at in behind if chars[at] in "ab1é가"] == same
    assert not set(mapped.text) & set("\r\x02\ufffe\x00")


@given(st.text(alphabet="abc \r\n", max_size=60), st.data())
def test_left_out_ranges_leave_the_rest(chars: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(chars)))
    end = data.draw(st.integers(start, len(chars)))
    mapped = joined(rows_of(chars, [(0, start), (end, len(chars))]))
    left = chars[:start] + chars[end:]
    assert "".join(mapped.text.split()) == "".join(left.split())
    assert 0 <= mapped.offset(start) <= len(mapped.text)


def test_a_hyphen_at_a_line_end_keeps_its_line_break() -> None:
    assert joined(rows_of("patent\x02protected")).text == "patent-\nprotected"
    assert joined(rows_of("patent\ufffe")).text == "patent-"


@pytest.mark.skipif(scan.program() is None, reason="tesseract-ocr is not installed")
def test_a_scan_is_recognised_with_confidence_and_boxes(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    words = "The landlord received notice of the leak on January 9, 2024."
    path.write_bytes(scanned(words))
    paged = load(path)[0]
    page = paged.pages[0]
    assert page.reading is Reading.OCR
    assert words in paged.text
    assert page.confidence is not None
    assert 0.8 < page.confidence <= 1
    start = paged.text.index("notice")
    (box,) = find_boxes(path, paged, start, start + 6)
    assert 680 < box.bottom < box.top < 720


def scanned(words: str) -> bytes:
    import pypdfium2  # noqa: TID251 - draws the page that is then a picture

    document = pypdfium2.PdfDocument(pdf(lines(words, *PROSE)))
    picture = document[0].render(scale=300 / 72, grayscale=True).to_pil()
    document.close()
    return pdf(lambda canvas: canvas.drawImage(ImageReader(picture), 0, 0, 612, 792))
