"""Kinds by content, archives, mail folders, Hangul, outside programs, pictures, the child."""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import openpyxl
import pytest
from PIL import Image, ImageDraw

from protocol.errors import NotFound
from protocol.record import Reading
from rag.loaders import LoadOptions, load, scan
from rag.loaders.child import ChildReader
from rag.loaders.parts import Unread
from rag.loaders.recognise import kind_of, load_bytes
from rag.loaders.tools import run_tool
from rag.paged import FindingKind, PagedText, PlaceKind

OPTIONS = LoadOptions(ocr=False)


def zipped(entries: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def loaded(data: bytes, name: str) -> tuple[PagedText, ...]:
    return load_bytes(data, name=name, options=OPTIONS)


MAIL = b"From: a@b.example\r\nTo: c@d.example\r\nSubject: x\r\n\r\nbody\r\n"


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"junk\r\n%PDF-1.7 ...", "a.txt", "pdf"),
        (b"{\\rtf1 words}", "a.doc", "rtf"),
        (b"\xffWPC\x10\x00", "a.doc", "wpd"),
        (zipped({"word/document.xml": b"<a/>"}), "a.zip", "docx"),
        (zipped({"xl/workbook.xml": b"<a/>"}), "a", "xlsx"),
        (zipped({"x.txt": b"x"}), "a.docx", "zip"),
        (zipped({"mimetype": b"application/vnd.oasis.opendocument.text"}), "a", "odt"),
        (zipped({"Contents/section0.xml": b"<a/>"}), "a", "hwpx"),
        (b"\x89PNG\r\n\x1a\n....", "a.pdf", "png"),
        (b"<!DOCTYPE html><p>x", "a.txt", "html"),
        (MAIL, "a", "eml"),
        (MAIL, "a.txt", "txt"),
        (b"MIME-Version: 1.0\r\n" + MAIL, "a.txt", "eml"),
        (b"From a@b.example Tue Jan 23 09:12:00 2024\n" + MAIL, "a", "mbox"),
        (b"a,b\n1,2\n", "a.csv", "csv"),
        (b"# Title\n", "a.md", "md"),
        (b"words", "a.pdf", "txt"),
        (bytes(range(256)) * 4, "a.pdf", "unknown"),
        (b"", "a.pdf", "txt"),
    ],
)
def test_content_comes_before_the_suffix(data: bytes, name: str, kind: str) -> None:
    assert kind_of(data, name) == kind


def test_an_archive_is_a_list_and_its_files() -> None:
    inner = zipped({"deep.txt": b"deep words"})
    listing, one, two, deep = loaded(
        zipped({"a/one.txt": b"first", "b.zip": inner, "c/": b""}), "all.zip"
    )
    assert listing.text == "[File: a/one.txt]\n[File: b.zip]"
    assert (one.text, one.parent, one.parent_at) == ("first", 0, 0)
    assert (two.kind, deep.text, deep.parent) == ("zip", "deep words", 2)


def test_an_archive_with_old_korean_names() -> None:
    data = zipped({"PLACEHOLDERX": b"x"})
    name = "계약서.txt".encode("cp949")
    assert len(name) == 10
    data = data.replace(b"PLACEHOLDERX", name + b"\x20\x20")
    assert loaded(data, "a.zip")[1].name.strip() == "계약서.txt"


def test_names_that_climb_out_are_findings() -> None:
    files = loaded(zipped({"../../etc/passwd": b"x"}), "a.zip")
    assert files[1].findings[0].kind is FindingKind.NAME_TRICK


def test_an_archive_of_archives_ends() -> None:
    data = b"bottom"
    for level in range(9):
        data = zipped({f"{level}.zip": data})
    files = loaded(data, "a.zip")
    assert len(files) <= 7
    assert any("too deep" in warning for warning in files[-2].warnings)
    assert "too deep" in files[-1].pages[0].reason


def test_too_many_files_are_said() -> None:
    data = zipped({f"{n}.txt": b"x" for n in range(12)})
    files = load_bytes(data, name="a.zip", options=LoadOptions(max_parts=10))
    assert len(files) == 12
    assert files[-1].pages[0].reason == "2 files inside were not read: beyond the limit"
    assert any("2 files" in warning for warning in files[0].warnings)


def test_a_locked_archive_says_so() -> None:
    data = bytearray(zipped({"a.txt": b"x"}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    assert "password" in loaded(bytes(data), "a.zip")[0].pages[0].reason


def test_a_mail_folder_gives_every_message() -> None:
    data = b"".join(
        b"From a@b.example Tue Jan 23 09:12:00 2024\n"
        + MAIL.replace(b"\r\n", b"\n").replace(b"body", b"body %d\n\n>From here on" % n)
        + b"\n"
        for n in range(3)
    )
    folder, *messages = loaded(data, "a.mbox")
    assert folder.text == "[Message 1]\n[Message 2]\n[Message 3]"
    assert [message.kind for message in messages] == ["eml"] * 3
    assert "body 1\n\nFrom here on" in messages[1].text


def test_a_hangul_document() -> None:
    ns = 'xmlns:hp="http://www.hancom.co.kr/hwpml/2011/paragraph"'
    section = (
        f"<hs:sec xmlns:hs='x' {ns}><hp:p><hp:run><hp:t>제1조 (목적)</hp:t></hp:run>"
        "<hp:run><hp:t>이 계약은<hp:lineBreak/>임대차를 정한다.</hp:t></hp:run></hp:p>"
        "<hp:p><hp:run><hp:tbl><hp:tr><hp:tc><hp:subList><hp:p><hp:run><hp:t>보증금</hp:t>"
        "</hp:run></hp:p></hp:subList></hp:tc><hp:tc><hp:subList><hp:p><hp:run>"
        "<hp:t>1억 원</hp:t></hp:run></hp:p></hp:subList></hp:tc></hp:tr></hp:tbl></hp:run></hp:p>"
        "</hs:sec>"
    )
    data = zipped({"mimetype": b"application/hwp+zip", "Contents/section0.xml": section.encode()})
    (paged,) = loaded(data, "계약서.hwpx")
    assert paged.kind == "hwpx"
    assert paged.text == "제1조 (목적)이 계약은\n임대차를 정한다.\n보증금\t1억 원"
    assert paged.places_of(PlaceKind.PARAGRAPH)[0].label == "#1"


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"{\\rtf1 x}", "a.rtf", "install"),
        (b"\xffWPC\x10", "a.wpd", "libreoffice"),
        (zipped({"mimetype": b"application/vnd.oasis.opendocument.text"}), "a.odt", "libreoffice"),
        (zipped({"ppt/presentation.xml": b"<a/>"}), "a.pptx", "libreoffice-impress-nogui"),
        (bytes(range(256)) * 4, "a.xyz", "neither its content nor its suffix"),
    ],
)
def test_what_cannot_be_read_says_what_would_help(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes, name: str, words: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (paged,) = loaded(data, name)
    assert paged.pages[0].reading is Reading.UNREADABLE
    assert words in paged.pages[0].reason


ODF = "urn:oasis:names:tc:opendocument:xmlns"
OFFICE = shutil.which("soffice") or shutil.which("libreoffice")


@pytest.mark.skipif(OFFICE is None, reason="libreoffice-writer-nogui is not installed")
def test_a_converted_document_calls_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        link = f"http://127.0.0.1:{port}/x.png"
        content = (
            f'<office:document-content xmlns:office="{ODF}:office:1.0"'
            f' xmlns:text="{ODF}:text:1.0" xmlns:draw="{ODF}:drawing:1.0"'
            ' xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2"><office:body>'
            "<office:text><text:p>the words of the letter</text:p><text:p><draw:frame>"
            f'<draw:image xlink:href="{link}" xlink:type="simple" xlink:actuate="onLoad"/>'
            "</draw:frame></text:p></office:text></office:body></office:document-content>"
        )
        kind = "application/vnd.oasis.opendocument.text"
        manifest = (
            f'<manifest:manifest xmlns:manifest="{ODF}:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
            "</manifest:manifest>"
        )
        data = zipped(
            {
                "mimetype": kind.encode(),
                "content.xml": content.encode(),
                "META-INF/manifest.xml": manifest.encode(),
            }
        )
        paged = loaded(data, "a.odt")[0]
        assert "the words of the letter" in paged.text
        with pytest.raises(TimeoutError):
            server.accept()


def script(tmp_path: Path, body: str) -> list[str]:
    path = tmp_path / "tool.py"
    path.write_text(body, "utf-8")
    return [sys.executable, str(path)]


def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    body = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('pid', 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(Unread, match="too long"):
        run_tool(script(tmp_path, body), folder=tmp_path, options=OPTIONS, seconds=5)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not _alive(pid):
            return
        time.sleep(0.05)
    pytest.fail("the tool's own child is still running")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_tool_is_bound_in_memory_and_sees_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    body = "import os\nprint(sorted(os.environ))\nbytearray(1 << 31)\n"
    small = LoadOptions(tool_bytes=1 << 29)
    with pytest.raises(Unread, match="failed"):
        run_tool(script(tmp_path, body), folder=tmp_path, options=small)
    out = run_tool(script(tmp_path, body), folder=tmp_path, options=small, check=False)
    assert b"A_SECRET" not in out
    assert b"PATH" in out


def test_the_limits_stand_before_a_tool_begins(tmp_path: Path) -> None:
    body = "import resource as r\nprint(*(r.getrlimit(getattr(r, n))[0] for n in ('RLIMIT_AS',"
    body += " 'RLIMIT_FSIZE', 'RLIMIT_CORE')))\n"
    options = LoadOptions(tool_bytes=1 << 30)
    for _ in range(5):
        out = run_tool(script(tmp_path, body), folder=tmp_path, options=options)
        assert out.split() == [b"1073741824", b"536870912", b"0"]


def test_a_tool_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unread, match="cannot be started"):
        run_tool(["no-such-tool"], folder=tmp_path, options=OPTIONS)


def picture(words: str) -> Image.Image:
    image = Image.new("L", (1600, 300), 255)
    ImageDraw.Draw(image).text((60, 100), words, font_size=64, fill=0)
    return image


def test_a_tiff_has_a_page_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    frames = [picture("one"), Image.new("L", (300, 300), 255), picture("three")]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    (paged,) = load(path, options=OPTIONS)
    assert paged.kind == "tiff"
    assert [page.reading for page in paged.pages] == [
        Reading.UNREADABLE,
        Reading.TEXT,
        Reading.UNREADABLE,
    ]
    assert "blank" in paged.pages[1].reason


def test_words_of_a_table_keep_their_lines_paragraphs_and_confidence() -> None:
    head = "level page_num block_num par_num line_num word_num left top width height conf text"
    rows = ["5 1 1 1 1 1 10 20 30 12 90 The", "5 1 1 1 1 2 50 20 40 12 50 lease"]
    rows += [
        "5 1 1 1 2 1 10 40 30 12 70 ends",
        "4 1 1 1 2 0 0 0 9 9 -1 ",
        "5 1 1 2 1 1 9 80 30 12 30 x",
    ]
    found = scan._parse("\n".join("\t".join(row.split(" ", 11)) for row in [head, *rows]))
    assert found.text == "The lease\nends\n\nx"
    assert found.confidence == pytest.approx(0.6)
    word = found.words[1]
    assert found.text[word.start : word.end] == "lease"
    assert (word.left, word.top, word.right, word.bottom) == (50, 20, 90, 32)


@pytest.mark.skipif(scan.program() is None, reason="tesseract-ocr is not installed")
def test_a_turned_picture_is_turned_back(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    picture("The lease ends in March 2024").rotate(90, expand=True).save(path)
    (paged,) = load(path)
    assert "The lease ends in March 2024" in paged.text
    assert paged.pages[0].reading is Reading.OCR


@pytest.mark.skipif(scan.program() is None, reason="tesseract-ocr is not installed")
def test_a_missing_language_names_its_package(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    picture("words").save(path)
    (paged,) = load(path, options=LoadOptions(languages=("xyz",)))
    assert "tesseract-ocr-xyz" in paged.pages[0].reason


def test_a_picture_too_large_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("1", (20_000, 20_000)).save(path)
    (paged,) = load(path, options=OPTIONS)
    assert "too large" in paged.pages[0].reason


def test_the_child_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Dear Sir,\fpage two", "utf-8")
    seen: list[tuple[int, int]] = []
    with ChildReader() as reader:
        for _ in range(2):
            options = LoadOptions(on_page=lambda done, of: seen.append((done, of)))
            assert reader.load(path, name="b.txt", options=options) == load(path, name="b.txt")
        with pytest.raises(NotFound):
            reader.load(tmp_path / "none")


def test_the_child_outlives_files_that_hang_or_burst(tmp_path: Path) -> None:
    good = tmp_path / "a.txt"
    good.write_text("fine", "utf-8")
    wide_file = tmp_path / "wide.csv"
    wide = ",".join("x" for _ in range(400_000))
    wide_file.write_text(wide, "utf-8")
    with ChildReader(seconds=60, memory_bytes=200 << 20) as reader:
        assert reader.load(good)[0].text == "fine"
        (burst,) = reader.load(wide_file)
        assert burst.pages[0].reading is Reading.UNREADABLE
        assert "memory" in burst.pages[0].reason
        assert reader.load(good)[0].text == "fine"


def test_the_child_is_ended_when_no_page_comes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("fine", "utf-8")
    with ChildReader(seconds=0.01) as reader:
        (paged,) = reader.load(path)
        assert "took longer" in paged.pages[0].reason
        assert reader._child is None


def test_the_child_gets_no_words_on_its_command_line(tmp_path: Path) -> None:
    path = tmp_path / "privileged memo.txt"
    path.write_text("fine", "utf-8")
    with ChildReader() as reader:
        reader.load(path)
        assert reader._child is not None
        command = Path(f"/proc/{reader._child.pid}/cmdline").read_bytes()
        assert b"privileged" not in command
        assert os.getpid() != reader._child.pid


@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
def test_an_old_workbook_keeps_its_sheets_and_what_is_hidden(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active["A1"], book.active["B1"] = "Sum", 3850
    book.create_sheet("Gone")["A1"] = "secret"
    book["Gone"].sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    command = [str(OFFICE), profile, "--headless", "--convert-to", "xls", str(tmp_path / "a.xlsx")]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    if not (tmp_path / "a.xls").is_file():
        pytest.skip("libreoffice-calc-nogui is not installed")
    (paged,) = load(tmp_path / "a.xls")
    assert paged.kind == "xls"
    assert paged.text == "Sum\t3850\f"
    assert [found.kind for found in paged.findings] == [FindingKind.HIDDEN_SHEET]
