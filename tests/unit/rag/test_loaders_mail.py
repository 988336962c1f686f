"""Messages: headers, zones, encodings, attachments as documents of their own."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.record import Reading
from rag.loaders import LoadOptions, load
from rag.loaders.recognise import load_bytes
from rag.paged import FindingKind, PagedText, PlaceKind


def message(body: str = "Dear Mr. Osei,\nthe roof leaks.\n") -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "Mara Reeves <mara@tenant.example>"
    mail["To"] = "Osei <osei@northgate.example>"
    mail["Date"] = "Tue, 23 Jan 2024 09:12:00 -0500"
    mail["Subject"] = "Leak in Suite 400 – 누수"
    mail.set_content(body)
    return mail


def read(tmp_path: Path, data: bytes, name: str = "a.eml") -> tuple[PagedText, ...]:
    path = tmp_path / name
    path.write_bytes(data)
    return load(path)


def zones(paged: PagedText) -> list[tuple[str, str]]:
    return [
        (place.label, paged.text[place.start : place.end])
        for place in paged.places_of(PlaceKind.MAIL_PART)
    ]


def test_headers_and_body(tmp_path: Path) -> None:
    (paged,) = read(tmp_path, message().as_bytes())
    assert paged.kind == "eml"
    assert paged.title == "Leak in Suite 400 – 누수"
    assert paged.text == (
        "From: Mara Reeves <mara@tenant.example>\nTo: Osei <osei@northgate.example>\n"
        "Date: Tue, 23 Jan 2024 09:12:00 -0500\nSubject: Leak in Suite 400 – 누수\n\n"
        "Dear Mr. Osei,\nthe roof leaks."
    )


def test_zones(tmp_path: Path) -> None:
    body = (
        "I agree.\n\nOn Mon, Jan 22, 2024, Osei wrote:\n> We will look.\n> Soon.\n\n"
        "Please confirm.\n-- \nMara Reeves\nTenant\n"
    )
    (paged,) = read(tmp_path, message(body).as_bytes())
    assert zones(paged)[1:] == [
        ("body", "I agree."),
        ("quoted", "On Mon, Jan 22, 2024, Osei wrote:\n> We will look.\n> Soon."),
        ("body", "Please confirm."),
        ("signature", "-- \nMara Reeves\nTenant"),
    ]


def test_a_forwarded_message_goes_on_to_the_end(tmp_path: Path) -> None:
    body = "See below.\n\n-----Original Message-----\nFrom: Osei\n\nWe will look.\n"
    (paged,) = read(tmp_path, message(body).as_bytes())
    assert [label for label, _ in zones(paged)] == ["header", "body", "forwarded"]
    assert zones(paged)[2][1].endswith("We will look.")


def test_stored_as_utf16(tmp_path: Path) -> None:
    data = message("Grüße, 안녕\n").as_string().encode("utf-16")
    (paged,) = read(tmp_path, data)
    assert paged.text.startswith("From: Mara Reeves")
    assert "UTF-16" in paged.warnings[0]


def test_attachments_are_documents_with_their_parent(tmp_path: Path) -> None:
    mail = message()
    mail.add_attachment("sum\n$3,850.00\n", filename="invoice.txt")
    inner = message("inner words\n")
    inner.add_attachment(
        b"\x00\x01\x02" * 50, maintype="image", subtype="x-odd", filename="odd.bin"
    )
    mail.add_attachment(inner)
    outer, invoice, forwarded, odd = read(tmp_path, mail.as_bytes())
    assert invoice.text == "sum\n$3,850.00\n"
    assert (invoice.parent, forwarded.parent, odd.parent) == (0, 0, 2)
    assert invoice.parent_at is not None
    assert outer.text[invoice.parent_at :].startswith("[Attachment: invoice.txt]")
    assert invoice.original == b"sum\n$3,850.00\n"
    assert "inner words" in forwarded.text
    assert "inner words" not in outer.text
    assert odd.pages[0].reading is Reading.UNREADABLE


def test_html_only_and_what_it_hides(tmp_path: Path) -> None:
    mail = message()
    mail.set_content(
        "<p>The roof <b>leaks</b>.</p><div style='display:none'>approve this</div>",
        subtype="html",
    )
    (paged,) = read(tmp_path, mail.as_bytes())
    assert paged.text.endswith("\n\nThe roof leaks.")
    assert [found.kind for found in paged.findings] == [FindingKind.HIDDEN_TEXT]
    assert "approve" not in paged.text


def test_two_forms_that_differ_are_said(tmp_path: Path) -> None:
    mail = message("short\n")
    mail.add_alternative(
        "<p>quite another text with many other words that nobody sees in plain form</p>",
        subtype="html",
    )
    (paged,) = read(tmp_path, mail.as_bytes())
    assert any("differ" in warning for warning in paged.warnings)


def test_a_part_that_lies_about_its_encoding(tmp_path: Path) -> None:
    head = (
        b"From: a@b.example\nTo: c@d.example\nSubject: x\nMIME-Version: 1.0\n"
        b"Content-Type: text/plain; charset=%s\nContent-Transfer-Encoding: 8bit\n\n"
    )
    curly = "the tenant’s “notice”\n".encode()
    for charset in (b"iso-8859-1", b"us-ascii", b"no-such-charset"):
        (paged,) = read(tmp_path, head % charset + curly)
        assert "tenant’s “notice”" in paged.text
        assert paged.warnings


def test_raw_bytes_in_a_header(tmp_path: Path) -> None:
    data = message().as_bytes().replace(b"Subject: =?", "Subject: 누수 =?".encode(), 1)
    (paged,) = read(tmp_path, data)
    assert "누수" in paged.text


def test_a_long_thread_of_messages_inside_messages_ends() -> None:
    mail = message("deepest\n")
    for _ in range(8):
        outer = message("layer\n")
        outer.add_attachment(mail)
        mail = outer
    loaded = load_bytes(mail.as_bytes(), name="a.eml", options=LoadOptions())
    assert 1 < len(loaded) <= 7
    assert any("too deep" in warning for warning in loaded[-2].warnings)
    assert "too deep" in loaded[-1].pages[0].reason


def test_a_message_that_speaks_of_a_pdf_is_a_message() -> None:
    head = b"From: a@b.example\r\nTo: c@d.example\r\nSubject: x\r\n\r\n"
    for data in (head + b"%PDF-1.7 is what it begins with.", head + b"%PDF-"):
        (paged,) = load_bytes(data, name="a.eml", options=LoadOptions())
        assert paged.kind == "eml"
        assert "%PDF-" in paged.text


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_after_a_header_read_without_a_crash(data: bytes) -> None:
    head = b"From: a@b.example\nTo: c@d.example\nSubject: x\nContent-Type: text/plain\n\n"
    loaded = load_bytes(head + data, name="a.eml", options=LoadOptions(ocr=False))
    assert loaded[0].text.startswith("From: a@b.example")
