"""The sample matter can be made again byte for byte, and its answer key is right.

The key is checked against the files with two PDF readers, not against the script that drew them.
"""

from __future__ import annotations

import csv
import datetime as dt
import email
import email.policy
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import openpyxl
import pypdf
import pypdfium2  # noqa: TID251 - the test looks at the files with readers of its own
import pytest

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sample"
MATTER = SAMPLE / "hartwell-v-northgate"
KEY = json.loads((SAMPLE / "answer-key.json").read_text(encoding="utf-8"))
TRANSCRIPT = "Reeves Dep.pdf"
PLACES = [
    pytest.param(item, place, id=f"{item['id']}-{number}")
    for item in KEY["items"]
    if item["kind"] != "unreadable"
    for number, place in enumerate(item["places"], start=1)
]


def read_pdfium(file: Path | bytes) -> list[str]:
    pdf = pypdfium2.PdfDocument(file)
    try:
        return [page.get_textpage().get_text_range() for page in pdf]
    finally:
        pdf.close()


def read_pypdf(file: Path | bytes) -> list[str]:
    source = io.BytesIO(file) if isinstance(file, bytes) else file
    return [page.extract_text() for page in pypdf.PdfReader(source).pages]


def bytes_of(document: str) -> bytes:
    """The file's bytes, or those of an attachment."""
    parent = KEY["attachments"].get(document)
    if parent is None:
        return (MATTER / document).read_bytes()
    message = email.message_from_bytes((MATTER / parent).read_bytes(), policy=email.policy.default)
    (part,) = (one for one in message.iter_attachments() if one.get_filename() == document)
    content = part.get_content()
    return content if isinstance(content, bytes) else content.encode()


def lines_of(document: str) -> list[list[str]]:
    """The pages of what is no PDF, each a list of lines, by readers of the test's own."""
    data = bytes_of(document)
    if document.endswith(".eml"):
        message = email.message_from_bytes(data, policy=email.policy.default)
        shown = [f"{key}: {message[key]}" for key in ("From", "To", "Cc", "Date", "Subject")]
        body = message.get_body(("plain",)).get_content()
        return [[*shown, "", *body.splitlines()]]
    if document.endswith(".docx"):
        xml = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml").decode()
        paragraphs = re.findall(r"<w:p>.*?</w:p>", xml)
        return [["".join(re.findall(r"<w:t [^>]*>([^<]*)", one)) for one in paragraphs]]
    if document.endswith(".csv"):
        return [[" ".join(row) for row in csv.reader(io.StringIO(data.decode()))]]
    if document.endswith(".xlsx"):
        sheets = openpyxl.load_workbook(io.BytesIO(data))
        return [
            [
                " ".join(
                    f"${cell:,.2f}"
                    if isinstance(cell, float)
                    else cell.date().isoformat()
                    if isinstance(cell, dt.datetime)
                    else str(cell)
                    for cell in row
                    if cell is not None
                )
                for row in sheet.iter_rows(values_only=True)
            ]
            for sheet in sheets
        ]
    return [data.decode().splitlines()]


def pages_of(document: str, reader) -> list[list[tuple[int, str]]]:
    """The pages of a document as (line number, text); blank lines of a PDF are not lines."""
    if not document.endswith(".pdf"):
        return [list(enumerate(lines, start=1)) for lines in lines_of(document)]
    pages = []
    for text in reader(bytes_of(document)):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if document == TRANSCRIPT:
            numbered = [re.fullmatch(r"(\d+)\s*(.*)", line) for line in lines]
            pages.append([(int(hit[1]), hit[2]) for hit in numbered if hit])
        else:
            pages.append(list(enumerate(lines, start=1)))
    return pages


def same(text: str) -> str:
    return " ".join(text.split())


def test_making_it_again_gives_the_same_bytes(tmp_path):
    script = str(SAMPLE / "make_sample.py")
    subprocess.run([sys.executable, "-B", script, str(tmp_path)], check=True)
    made = {file.relative_to(tmp_path): file for file in tmp_path.rglob("*") if file.is_file()}
    kept = [*MATTER.iterdir(), SAMPLE / "answer-key.json"]
    assert set(made) == {file.relative_to(SAMPLE) for file in kept}
    for name, file in made.items():
        assert file.read_bytes() == (SAMPLE / name).read_bytes(), f"{name} differs"


def test_it_is_small_and_plants_enough():
    assert len(list(MATTER.iterdir())) >= 6
    assert sum(file.stat().st_size for file in MATTER.iterdir()) < 150_000
    kinds = [item["kind"] for item in KEY["items"]]
    assert len(kinds) >= 40
    wanted = {"quote", "date", "amount", "party", "contradiction", "wrong_weekday", "wrong_sum"}
    assert wanted | {"unreadable", "absent"} <= set(kinds)


@pytest.mark.parametrize("reader", [read_pdfium, read_pypdf])
@pytest.mark.parametrize(("item", "place"), PLACES)
def test_every_planted_string_stands_where_the_key_says(item, place, reader):
    pages = pages_of(place["document"], reader)
    first, last = place["page"], place["end_page"]
    held = [
        text
        for page in range(first, last + 1)
        for number, text in pages[page - 1]
        if (page, number) >= (first, place["line_begin"])
        and (page, number) <= (last, place["line_end"])
    ]
    assert same(place["words"]) in same(" ".join(held))
    # No narrower: the first and the last line are needed.
    assert same(place["words"]) not in same(" ".join(held[1:]))
    assert same(place["words"]) not in same(" ".join(held[:-1]))


@pytest.mark.parametrize("reader", [read_pdfium, read_pypdf])
@pytest.mark.parametrize(("item", "place"), PLACES)
def test_every_bates_label_is_stamped_on_its_page(item, place, reader):
    if place["bates"] is None:
        assert place["document"] == "Complaint.pdf" or not place["document"].endswith(
            (".pdf", ".txt")
        )
        return
    name = place["document"]
    pages = reader(bytes_of(name)) if name.endswith(".pdf") else [bytes_of(name).decode()]
    assert pages[place["page"] - 1].rstrip().endswith(place["bates"])
    assert pages[place["end_page"] - 1].rstrip().endswith(place["end_bates"])


@pytest.mark.parametrize("reader", [read_pdfium, read_pypdf])
@pytest.mark.parametrize(("name", "pages"), [("Work Log", 3), ("Night Guard Note", 1)])
def test_a_scan_has_pictures_and_no_text(reader, name, pages):
    items = [item["places"][0] for item in KEY["items"] if item["kind"] == "unreadable"]
    mine = [place for place in items if place["document"] == f"{name} (scan).pdf"]
    file = MATTER / mine[0]["document"]
    assert [place["page"] for place in mine] == list(range(1, pages + 1))
    assert [text.strip() for text in reader(file)] == [""] * pages
    for page in pypdf.PdfReader(file).pages:
        shades = page.images[0].image.convert("L").histogram()
        assert shades[0] > 5_000, "there is ink on the page"
        assert shades[255] > 500_000, "and paper"


def test_the_page_counts_are_the_files_own():
    for name, pages in KEY["documents"].items():
        if name.endswith(".pdf"):
            assert len(pypdf.PdfReader(io.BytesIO(bytes_of(name))).pages) == pages, name
        else:
            assert len(lines_of(name)) == pages, name
    unreadable = sum(item["kind"] == "unreadable" for item in KEY["items"])
    hidden = sum(one["kind"] == "hidden_sheet" for one in KEY["handled"])
    assert KEY["pages"] == sum(KEY["documents"].values())
    assert KEY["pages_readable"] == KEY["pages"] - unreadable - hidden
    assert {file.name for file in MATTER.iterdir()} | set(KEY["attachments"]) == set(
        KEY["documents"]
    )


def test_the_planted_wrongs_are_wrong():
    weekday = re.compile(r"(\w+day), (\w+ \d+, \d{4})")
    korean = re.compile(r"(\d{4})년 (\d+)월 (\d+)일\((.)\)")
    for item in KEY["items"]:
        said = item["places"][0].get("words", "") if item["places"] else ""
        if item["kind"] == "wrong_weekday" and (hit := korean.fullmatch(said)):
            assert "월화수목금토일"[dt.date(*map(int, hit.groups()[:3])).weekday()] != hit[4]
        elif item["kind"] == "wrong_weekday":
            hit = weekday.fullmatch(said)
            assert hit
            day = dt.datetime.strptime(hit[2], "%B %d, %Y").replace(tzinfo=dt.UTC)
            assert day.strftime("%A") != hit[1]
        elif item["kind"] == "impossible_date":
            with pytest.raises(ValueError, match=r"day .* out of range|out of range"):
                dt.datetime.strptime(said, "%B %d, %Y").replace(tzinfo=dt.UTC)
        elif item["kind"] == "wrong_sum":
            text = "\n".join(read_pypdf(MATTER / item["places"][0]["document"]))
            rows = re.findall(r"^TW-.*\$([\d,.]+)$", text, re.MULTILINE)
            total = sum(float(row.replace(",", "")) for row in rows)
            assert len(rows) == 6
            assert f"${total:,.2f}" != said
            assert f"${total:,.2f}" in item["why"]


def test_every_other_weekday_and_date_is_right():
    wrong = {item["places"][0]["words"] for item in KEY["items"] if item["kind"] == "wrong_weekday"}
    seen = 0
    for name in sorted(KEY["documents"]):
        text = "\n".join(line for page in pages_of(name, read_pypdf) for _, line in page)
        for hit in re.finditer(r"(\w+day), (\w+ \d+, \d{4})", same(text)):
            day = dt.datetime.strptime(hit[2], "%B %d, %Y").replace(tzinfo=dt.UTC)
            assert (day.strftime("%A") == hit[1]) == (hit[0] not in wrong), hit[0]
            seen += 1
    english = [words for words in wrong if words.isascii()]
    assert seen == len(english) + 2


def test_what_no_document_holds_is_held_by_none():
    record = same(
        " ".join(
            " ".join(text for _, text in page)
            for name in KEY["documents"]
            for page in pages_of(name, read_pdfium)
        )
    )
    for item in KEY["items"]:
        if item["kind"] == "absent":
            assert item["statement"] not in record
    for gone in ("January 10", "$250,000.00", "insurer", "was blocked"):
        assert gone not in record
