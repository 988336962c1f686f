"""Words of a PDF that a person cannot see are found and kept out; words that show stay."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    TextStringObject,
)
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from protocol.record import Reading
from rag.loaders import LoadOptions, load, scan
from rag.paged import FindingKind, PagedText

Draw = Callable[[Canvas], None]
SECRET = "secret payment schedule"
SHOWN = [f"Line {n} of an ordinary letter about the roof and its drain." for n in range(8)]


def pdf(draw: Draw) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, 792), invariant=True)
    canvas.setFont("Helvetica", 11)
    for at, line in enumerate(SHOWN):
        canvas.drawString(72, 700 - 20 * at, line)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def read(tmp_path: Path, data: bytes) -> PagedText:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    return load(path, options=LoadOptions(ocr=False))[0]


def text_object(canvas: Canvas, words: str, mode: int) -> None:
    text = canvas.beginText(72, 400)
    text.setTextRenderMode(mode)
    text.textOut(words)
    canvas.drawText(text)


def invisible(canvas: Canvas) -> None:
    text_object(canvas, SECRET, 3)


def white_on_white(canvas: Canvas) -> None:
    canvas.setFillGray(1)
    canvas.drawString(72, 400, SECRET)


def nearly_white(canvas: Canvas) -> None:
    canvas.setFillGray(0.95)
    canvas.drawString(72, 400, SECRET)


def grey_on_grey(canvas: Canvas) -> None:
    canvas.setFillGray(0.5)
    canvas.rect(65, 394, 200, 18, stroke=0, fill=1)
    canvas.setFillGray(0.46)
    canvas.drawString(72, 400, SECRET)


def black_on_black(canvas: Canvas) -> None:
    canvas.rect(65, 394, 200, 18, stroke=0, fill=1)
    canvas.drawString(72, 400, SECRET)


def between_words(canvas: Canvas) -> None:
    canvas.drawString(72, 400, "before")
    canvas.setFillGray(1)
    canvas.drawString(108, 400, SECRET)
    canvas.setFillGray(0)
    canvas.drawString(240, 400, "after")


def white_over_black_words(canvas: Canvas) -> None:
    canvas.setFillGray(1)
    canvas.drawString(300, 700, SECRET)
    canvas.setFillGray(0)


def off_page(canvas: Canvas) -> None:
    canvas.drawString(800, 400, SECRET)


def tiny(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 0.8)
    canvas.drawString(72, 400, SECRET)


def transparent(canvas: Canvas) -> None:
    canvas.setFillAlpha(0)
    canvas.drawString(72, 400, SECRET)


def under_picture(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.drawImage(ImageReader(Image.new("RGB", (40, 10), (90, 140, 90))), 60, 390, 200, 25)


def clipped(canvas: Canvas) -> None:
    canvas.saveState()
    path = canvas.beginPath()
    path.rect(400, 100, 10, 10)
    canvas.clipPath(path, stroke=0)
    canvas.drawString(72, 400, SECRET)
    canvas.restoreState()


@pytest.mark.parametrize(
    "draw",
    [
        invisible,
        white_on_white,
        nearly_white,
        between_words,
        off_page,
        tiny,
        transparent,
        under_picture,
        clipped,
        white_over_black_words,
    ],
)
def test_hidden_words_are_found_and_kept_out(tmp_path: Path, draw: Draw) -> None:
    paged = read(tmp_path, pdf(draw))
    assert "secret" not in paged.text
    assert "payment" not in paged.text
    assert [found.kind for found in paged.findings] == [FindingKind.HIDDEN_TEXT]
    (found,) = paged.findings
    assert found.text == SECRET
    assert found.page == 1
    assert found.reason
    assert "secret" not in found.reason
    assert found.start == found.end <= len(paged.text)
    for line in SHOWN:
        assert line in paged.text


def test_words_around_hidden_ones_stay(tmp_path: Path) -> None:
    paged = read(tmp_path, pdf(between_words))
    assert "before" in paged.text
    assert "after" in paged.text


def test_lines_around_hidden_words_do_not_merge(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 400, "before")
        canvas.setFillGray(1)
        canvas.drawString(112, 400, "secret payment")
        canvas.drawString(72, 384, "secret schedule")
        canvas.setFillGray(0)
        canvas.drawString(160, 384, "after")

    paged = read(tmp_path, pdf(draw))
    assert paged.text.split("\n")[-2:] == ["before", " after"]
    assert {found.kind for found in paged.findings} == {FindingKind.HIDDEN_TEXT}


def black_box(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.rect(65, 394, 200, 18, stroke=0, fill=1)


def white_box(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.setFillGray(1)
    canvas.rect(65, 394, 200, 18, stroke=0, fill=1)


def box_in_a_form(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.beginForm("bar")
    canvas.rect(0, 0, 200, 18, stroke=0, fill=1)
    canvas.endForm()
    canvas.translate(65, 394)
    canvas.doForm("bar")


@pytest.mark.parametrize(
    "draw", [black_box, white_box, box_in_a_form, grey_on_grey, black_on_black]
)
def test_words_under_a_drawn_box_are_a_failed_redaction(tmp_path: Path, draw: Draw) -> None:
    paged = read(tmp_path, pdf(draw))
    assert "secret" not in paged.text
    assert [found.kind for found in paged.findings] == [FindingKind.FAILED_REDACTION]
    assert paged.findings[0].text == SECRET


def test_a_box_over_part_of_a_line_takes_that_part_only(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 400, "paid to")
        canvas.drawString(112, 400, "Mara Reeves")
        canvas.drawString(190, 400, "in March")
        canvas.rect(110, 394, 70, 18, stroke=0, fill=1)

    paged = read(tmp_path, pdf(draw))
    line = paged.text.split("\n")[-1]
    assert "paid to" in line
    assert "in March" in line
    assert "Mara" not in line
    assert [found.text for found in paged.findings] == ["Mara Reeves"]


@pytest.mark.parametrize("kind", ["Redact", "Square"])
def test_mark_up_that_never_removed_the_words(tmp_path: Path, kind: str) -> None:
    writer = PdfWriter(
        clone_from=PdfReader(io.BytesIO(pdf(lambda c: c.drawString(72, 400, SECRET))))
    )
    box = [65, 394, 265, 412]
    note = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject(f"/{kind}"),
            NameObject("/Rect"): ArrayObject([FloatObject(edge) for edge in box]),
            NameObject("/IC"): ArrayObject([FloatObject(0)] * 3),
            NameObject("/C"): ArrayObject([FloatObject(0)] * 3),
        }
    )
    writer.add_annotation(0, note)
    out = io.BytesIO()
    writer.write(out)
    paged = read(tmp_path, out.getvalue())
    assert [found.kind for found in paged.findings] == [FindingKind.FAILED_REDACTION]
    assert "secret" not in paged.text


def test_words_on_a_layer_that_is_switched_off(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas._code.append("/OC /MC0 BDC")
        canvas.drawString(72, 400, SECRET)
        canvas._code.append("EMC")

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(draw))))
    name, array = NameObject, ArrayObject
    group = writer._add_object(
        DictionaryObject({name("/Type"): name("/OCG"), name("/Name"): TextStringObject("x")})
    )
    shown = DictionaryObject({name("/OFF"): array([group]), name("/Order"): array([group])})
    writer._root_object[name("/OCProperties")] = DictionaryObject(
        {name("/OCGs"): array([group]), name("/D"): shown}
    )
    resources = writer.pages[0]["/Resources"].get_object()
    resources[name("/Properties")] = DictionaryObject({name("/MC0"): group})
    out = io.BytesIO()
    writer.write(out)
    paged = read(tmp_path, out.getvalue())
    assert "secret" not in paged.text
    assert [found.text for found in paged.findings] == [SECRET]


def white_on_black(canvas: Canvas) -> None:
    canvas.rect(65, 394, 200, 18, stroke=0, fill=1)
    canvas.setFillGray(1)
    canvas.drawString(72, 400, SECRET)


def grey(canvas: Canvas) -> None:
    canvas.setFillGray(0.75)
    canvas.drawString(72, 400, SECRET)


def over_picture(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(Image.new("RGB", (40, 10), (90, 140, 90))), 60, 390, 200, 25)
    canvas.drawString(72, 400, SECRET)


def struck_through(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.line(70, 404, 200, 404)


def outlined(canvas: Canvas) -> None:
    text_object(canvas, SECRET, 1)


def footnote_size(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 5)
    canvas.drawString(72, 400, SECRET)


def highlighted(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.setFillColorRGB(1, 1, 0, alpha=0.4)
    canvas.rect(65, 394, 200, 18, stroke=0, fill=1)


def framed(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.rect(65, 394, 200, 18, stroke=1, fill=0)


def twice_for_bold(canvas: Canvas) -> None:
    canvas.drawString(72, 400, SECRET)
    canvas.drawString(72.3, 400, SECRET)


def white_with_an_outline(canvas: Canvas) -> None:
    canvas.setFillGray(1)
    canvas.setStrokeGray(0)
    canvas.setFont("Helvetica", 24)
    text_object(canvas, SECRET, 2)


def in_a_form_twice(canvas: Canvas) -> None:
    canvas.beginForm("words")
    canvas.setFont("Helvetica", 11)
    canvas.drawString(0, 0, SECRET)
    canvas.endForm()
    for height in (400, 300):
        canvas.saveState()
        canvas.translate(72, height)
        canvas.doForm("words")
        canvas.restoreState()


@pytest.mark.parametrize(
    "draw",
    [
        white_with_an_outline,
        in_a_form_twice,
        white_on_black,
        grey,
        over_picture,
        struck_through,
        outlined,
        footnote_size,
        highlighted,
        framed,
        twice_for_bold,
    ],
)
def test_words_that_show_are_not_called_hidden(tmp_path: Path, draw: Draw) -> None:
    paged = read(tmp_path, pdf(draw))
    assert not paged.findings
    assert SECRET in paged.text


@pytest.mark.skipif(scan.program() is None, reason="tesseract-ocr is not installed")
@pytest.mark.parametrize("honest", [True, False])
def test_the_text_layer_of_a_scan_is_compared_with_the_picture(
    tmp_path: Path, honest: bool
) -> None:
    import pypdfium2  # noqa: TID251 - draws the page that is then a picture

    document = pypdfium2.PdfDocument(pdf(lambda canvas: None))
    picture = document[0].render(scale=300 / 72, grayscale=True).to_pil()
    document.close()
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, 792))
    canvas.drawImage(ImageReader(picture), 0, 0, 612, 792)
    layer = SHOWN if honest else ["The tenant owes nine million dollars and admits it"] * 8
    for at, line in enumerate(layer):
        text = canvas.beginText(72, 700 - 20 * at)
        text.setTextRenderMode(3)
        text.textOut(line)
        canvas.drawText(text)
    canvas.showPage()
    canvas.save()
    path = tmp_path / "scan.pdf"
    path.write_bytes(out.getvalue())
    paged = load(path)[0]
    assert paged.pages[0].reading is Reading.OCR
    assert "ordinary letter" in paged.text
    assert "million" not in paged.text
    assert bool(paged.findings) is not honest
