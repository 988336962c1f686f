"""Word documents: everything a reader sees stands in the text, nothing else does."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import docx  # noqa: TID251 - makes the files that are read here
import pytest
from docx.oxml import parse_xml  # noqa: TID251
from docx.oxml.ns import nsdecls  # noqa: TID251
from docx.shared import Pt, RGBColor  # noqa: TID251
from PIL import Image

from protocol.record import Reading
from rag.loaders import LoadOptions, load
from rag.loaders.word_numbers import shown
from rag.paged import FindingKind, PagedText, PlaceKind


def saved(document: Any) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def read(tmp_path: Path, data: bytes, name: str = "a.docx") -> PagedText:
    path = tmp_path / name
    path.write_bytes(data)
    return load(path)[0]


def changed(kind: str, words: str) -> Any:
    tag = "delText" if kind == "del" else "t"
    return parse_xml(
        f'<w:{kind} {nsdecls("w")} w:id="9" w:author="Mara Reeves" '
        'w:date="2024-03-05T10:00:00Z">'
        f'<w:r><w:{tag} xml:space="preserve">{words}</w:{tag}></w:r></w:{kind}>'
    )


def test_paragraphs_tables_headers_and_footers(tmp_path: Path) -> None:
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Lease of Suite 400"
    document.sections[0].footer.paragraphs[0].text = "page foot"
    document.add_heading("Article 1", 1)
    document.add_paragraph("The rent is $3,850.00.")
    table = document.add_table(2, 2)
    for at, words in enumerate(["month", "sum", "January", "$100"]):
        table.cell(at // 2, at % 2).text = words
    paged = read(tmp_path, saved(document))
    assert paged.text == (
        "Lease of Suite 400\nArticle 1\nThe rent is $3,850.00.\n"
        "month\tsum\nJanuary\t$100\npage foot"
    )
    cells = {p.label: paged.text[p.start : p.end] for p in paged.places_of(PlaceKind.CELL)}
    assert cells == {
        "Table 1!A1": "month",
        "Table 1!B1": "sum",
        "Table 1!A2": "January",
        "Table 1!B2": "$100",
    }
    assert [place.label for place in paged.places_of(PlaceKind.HEADING)] == ["Article 1"]
    assert paged.places_of(PlaceKind.HEADER)
    assert paged.places_of(PlaceKind.FOOTER)
    assert not paged.pages[0].readers_disagree


def test_tracked_changes_are_marked(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The term is ")
    paragraph._p.append(changed("del", "five"))
    paragraph._p.append(changed("ins", "seven"))
    paragraph.add_run(" years.")
    paged = read(tmp_path, saved(document))
    assert paged.text == "The term is seven years."
    (insertion,) = paged.places_of(PlaceKind.INSERTION)
    assert paged.text[insertion.start : insertion.end] == "seven"
    assert insertion.label == "Mara Reeves, 2024-03-05"
    (deletion,) = paged.findings
    assert deletion.text == "five"
    assert "tracked change" in deletion.reason
    assert deletion.start == len("The term is ")
    (struck,) = paged.places_of(PlaceKind.DELETION)
    assert (struck.label, struck.start, struck.end) == (
        "Mara Reeves, 2024-03-05",
        deletion.start,
        deletion.start,
    )
    assert len(paged.warnings) == 2


@pytest.mark.parametrize("how", ["vanish", "white", "tiny", "style"])
def test_hidden_runs_are_found_and_kept_out(tmp_path: Path, how: str) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Seen ")
    run = paragraph.add_run("ignore the lease")
    if how == "vanish":
        run.font.hidden = True
    elif how == "white":
        run.font.color.rgb = RGBColor(255, 255, 255)
    elif how == "tiny":
        run.font.size = Pt(1)
    else:
        style = document.styles.add_style("Ghost", 2)
        style.font.hidden = True
        run.style = style
    paragraph.add_run(" and seen")
    paged = read(tmp_path, saved(document))
    assert paged.text == "Seen  and seen"
    assert [found.kind for found in paged.findings] == [FindingKind.HIDDEN_TEXT]
    assert paged.findings[0].text == "ignore the lease"


def test_white_words_on_a_dark_cell_are_seen(tmp_path: Path) -> None:
    document = docx.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    cell._tc.get_or_add_tcPr().append(parse_xml(f'<w:shd {nsdecls("w")} w:fill="1F3864"/>'))
    cell.paragraphs[0].add_run("Heading").font.color.rgb = RGBColor(255, 255, 255)
    paged = read(tmp_path, saved(document))
    assert paged.text == "Heading"
    assert not paged.findings


def test_automatic_numbers_stand_in_the_text(tmp_path: Path) -> None:
    document = docx.Document()
    for words in ("The parties agree.", "The rent is due.", "The term ends."):
        document.add_paragraph(words, style="List Number")
    paged = read(tmp_path, saved(document))
    assert paged.text == "1.\tThe parties agree.\n2.\tThe rent is due.\n3.\tThe term ends."
    labels = [place.label for place in paged.places_of(PlaceKind.PARAGRAPH)]
    assert labels == ["1", "2", "3"]


def test_typed_numbers_name_paragraphs_and_others_get_ordinals(tmp_path: Path) -> None:
    document = docx.Document()
    for words in ("COMPLAINT", "12. Plaintiff is a tenant.", "¶ 13 Defendant is not."):
        document.add_paragraph(words)
    paged = read(tmp_path, saved(document))
    assert [p.label for p in paged.places_of(PlaceKind.PARAGRAPH)] == ["#1", "12", "13"]


@pytest.mark.parametrize(
    ("value", "form", "printed"),
    [(4, "lowerRoman", "iv"), (28, "upperLetter", "BB"), (2, "ganada", "나"), (3, "x", "3")],
)
def test_number_formats(value: int, form: str, printed: str) -> None:
    assert shown(value, form) == printed


def with_part(data: bytes, name: str, part: str, swap: tuple[str, str]) -> bytes:
    """The same document with one more part, and one replacement in its body."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.namelist():
            body = old.read(entry)
            if entry == "word/document.xml":
                body = body.replace(swap[0].encode(), swap[1].encode())
            if entry == "[Content_Types].xml":
                kind = name.removesuffix(".xml")
                body = body.replace(
                    b"</Types>",
                    f'<Override PartName="/word/{name}" ContentType="application/vnd.openxmlformats'
                    f'-officedocument.wordprocessingml.{kind}+xml"/></Types>'.encode(),
                )
            if entry == "word/_rels/document.xml.rels":
                kind = name.removesuffix(".xml")
                body = body.replace(
                    b"</Relationships>",
                    f'<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument'
                    f'/2006/relationships/{kind}" Target="{name}"/></Relationships>'.encode(),
                )
            new.writestr(entry, body)
        new.writestr(f"word/{name}", part)
    return out.getvalue()


def test_footnotes_follow_and_their_marks_show(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("The lease endsMARK")
    notes = (
        f'<w:footnotes {nsdecls("w")}><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
        '<w:footnote w:id="7"><w:p><w:r><w:t>See Exhibit A.</w:t></w:r></w:p></w:footnote>'
        "</w:footnotes>"
    )
    mark = '</w:t><w:footnoteReference w:id="7"/><w:t>'
    data = with_part(saved(document), "footnotes.xml", notes, ("MARK", mark))
    paged = read(tmp_path, data)
    assert paged.text == "The lease ends¹\n1 See Exhibit A."
    (note,) = paged.places_of(PlaceKind.FOOTNOTE)
    assert (note.label, paged.text[note.start : note.end]) == ("1", "1 See Exhibit A.")


def test_a_formula_shows_its_letters(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("rent: ")
    paragraph._p.append(
        parse_xml(
            '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
            "<m:r><m:t>a+b</m:t></m:r></m:oMath>"
        )
    )
    assert read(tmp_path, saved(document)).text == "rent: a+b"


def test_words_in_a_text_box_are_read_once(tmp_path: Path) -> None:
    document = docx.Document()
    box = "<w:txbxContent><w:p><w:r><w:t>boxed words</w:t></w:r></w:p></w:txbxContent>"
    paragraph = document.add_paragraph("outside")
    paragraph._p.append(
        parse_xml(
            f'<w:r {nsdecls("w")} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility'
            f'/2006"><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>{box}</w:drawing>'
            f"</mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>"
            "</mc:AlternateContent></w:r>"
        )
    )
    paged = read(tmp_path, saved(document))
    assert paged.text == "outside\nboxed words"


def test_a_picture_in_a_document_is_a_document_of_its_own(tmp_path: Path) -> None:
    large, small = io.BytesIO(), io.BytesIO()
    Image.effect_noise((900, 700), 90).save(large, "PNG")
    Image.new("L", (40, 40), 90).save(small, "PNG")
    document = docx.Document()
    for picture in (large, small):
        picture.seek(0)
        document.add_picture(picture)
    path = tmp_path / "a.docx"
    path.write_bytes(saved(document))
    letter, *parts = load(path, options=LoadOptions(ocr=False))
    assert [part.kind for part in parts] == ["png"]
    assert parts[0].pages[0].reading is Reading.UNREADABLE
    assert letter.warnings


def test_words_our_walk_would_miss_are_noticed(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("seen")
    odd = parse_xml(
        f'<w:p {nsdecls("w")} xmlns:x="urn:odd"><x:odd><w:r><w:t>words in an element nobody '
        "knows that go on for a while</w:t></w:r></x:odd></w:p>"
    )
    document.element.body.insert(0, odd)
    paged = read(tmp_path, saved(document))
    assert paged.pages[0].readers_disagree
    assert paged.pages[0].reason


def test_a_damaged_or_huge_container_is_unreadable(tmp_path: Path) -> None:
    data = saved(docx.Document())
    assert read(tmp_path, data[: len(data) // 2]).pages[0].reading is Reading.UNREADABLE
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a/>" + b" " * (60 << 20))
    paged = read(tmp_path, bomb.getvalue())
    assert "suspicious size" in paged.pages[0].reason


def test_entities_are_not_resolved(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside words")
    document = docx.Document()
    document.add_paragraph("MARK")
    data = saved(document)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.namelist():
            body = old.read(entry)
            if entry == "word/document.xml":
                head, rest = body.split(b"?>", 1)
                entity = f'<!DOCTYPE w [<!ENTITY e SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]>'
                body = head + b"?>" + entity.encode() + rest.replace(b"MARK", b"&e;")
            new.writestr(entry, body)
    assert "outside words" not in read(tmp_path, out.getvalue()).text
