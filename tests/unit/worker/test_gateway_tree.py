"""The virtual tree and what moves through it, without a network."""

from __future__ import annotations

import hashlib
import os
import unicodedata

import asyncssh  # noqa: TID251
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import MatterId
from worker.gateway.drop import DropBox
from worker.gateway.moving import Download, NameTaken, TooMuch, Upload
from worker.gateway.tree import (
    BadName,
    Folder,
    NoSuchPlace,
    Place,
    Side,
    check_name,
    normal,
    place,
)

MATTER = MatterId("M-A1DR")
MOST = 1000


@pytest.fixture(name="matters")
def _matters(tmp_path):
    for code in ("M-A1DR", "M-B1RC"):
        (tmp_path / code / "out").mkdir(parents=True)
    (tmp_path / "M-B1RC" / "out" / "secret.md").write_text("Marigold")
    (tmp_path / "M-A1DR" / "record.sqlite").write_text("Marigold")
    return tmp_path


def _put(matters, name, data=b"words"):
    upload = Upload(matters, MATTER, name, most_bytes=MOST)
    upload.write(0, data)
    digest = upload.whole()
    upload.place()
    return digest


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"/", Place()),
        (b"", Place()),
        (b".", Place()),
        (b"/M-A1DR", Place(matter=MATTER)),
        (b"/M-A1DR/", Place(matter=MATTER)),
        (b"M-A1DR/inbox", Place(matter=MATTER, side=Side.INBOX)),
        (b"/M-A1DR/out/../inbox/a.txt", Place(matter=MATTER, side=Side.INBOX, name="a.txt")),
        (b"/../../M-A1DR/out", Place(matter=MATTER, side=Side.OUT)),
        (b"//M-A1DR//inbox//a", Place(matter=MATTER, side=Side.INBOX, name="a")),
    ],
)
def test_paths_that_mean_a_place(path, expected):
    assert place(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        b"/etc/passwd",
        b"/M-A1DR/originals",
        b"/M-A1DR/incoming",
        b"/M-A1DR/record.sqlite",
        b"/M-A1DR/INBOX",
        b"/m-a1dr/inbox",
        b"/M-A1DR/inbox/folder/a.txt",
        b"/M-A1DR\x00/inbox",
        b"/M-A1DR/inbox\x00/a",
        b"\xff\xfe",
    ],
)
def test_paths_that_mean_nothing(path):
    with pytest.raises(NoSuchPlace):
        place(path)


@given(st.binary(max_size=60) | st.lists(st.sampled_from(
    [b"..", b".", b"", b"M-A1DR", b"inbox", b"out", b"incoming", b"x", b"\xe1\x84\x80\xe1\x85\xa1"]
)).map(b"/".join))  # fmt: skip
def test_whatever_the_path_it_names_at_most_one_plain_file(path):
    try:
        where = place(path)
    except NoSuchPlace:
        return
    assert "/" not in (where.name or "")
    assert where.name not in {"..", "."}
    assert where.name is None or where.name == unicodedata.normalize("NFC", where.name)
    assert normal(path).startswith("/")
    assert ".." not in normal(path).split("/")


GOOD = ["a.txt", "계약서 2024-03-02.pdf", "契約.docx", "Reeves Dep.pdf", "ç ñ.eml", "a" * 200]
BAD = [
    "",
    ".hidden",
    "..",
    "~$lock.docx",
    "a.",
    "a ",
    " a",
    "a/b",
    "a\\b",
    "a:b",
    "CON",
    "con.txt",
    "LPT1.pdf",
    "a\nb",
    "a\x1b[2Jb",
    "invoice\u202etxt.exe",
    "zero\u200bwidth",
    "nb\u00a0sp",
    "soft\u00adhyphen",
    "a" * 201,
    "가" * 67,
]


@pytest.mark.parametrize("name", GOOD)
def test_names_that_are_taken(name):
    check_name(name)


@pytest.mark.parametrize("name", BAD)
def test_names_that_are_not(matters, name):
    with pytest.raises(BadName) as caught:
        check_name(name)
    assert not name.strip() or len(name) < 3 or name not in str(caught.value)
    with pytest.raises((BadName, NoSuchPlace)):
        Upload(matters, MATTER, name, most_bytes=MOST)


def test_upload_appears_whole_with_its_hash_and_leaves_no_part(matters):
    assert _put(matters, "a.txt", b"words") == hashlib.sha256(b"words").hexdigest()
    assert (matters / MATTER / "inbox" / "a.txt").read_bytes() == b"words"
    assert list((matters / MATTER / "incoming").iterdir()) == []


def test_upload_in_any_order_of_offsets(matters):
    upload = Upload(matters, MATTER, "a.txt", most_bytes=MOST)
    upload.write(3, b"def")
    upload.write(0, b"abc")
    upload.whole()
    assert not (matters / MATTER / "inbox" / "a.txt").exists()
    upload.place()
    assert (matters / MATTER / "inbox" / "a.txt").read_bytes() == b"abcdef"


def test_nothing_is_overwritten_in_any_spelling_of_the_name(matters):
    _put(matters, "Café.txt")
    for name in ("Café.txt", "CAFÉ.TXT", unicodedata.normalize("NFD", "Café.txt")):
        with pytest.raises(NameTaken):
            Upload(matters, MATTER, name, most_bytes=MOST)
    first = Upload(matters, MATTER, "b.txt", most_bytes=MOST)
    second = Upload(matters, MATTER, "b.txt", most_bytes=MOST)
    first.write(0, b"1")
    second.write(0, b"2")
    first.place()
    with pytest.raises(NameTaken):
        second.place()
    assert (matters / MATTER / "inbox" / "b.txt").read_bytes() == b"1"


def test_upload_over_the_limit_is_refused_also_by_a_far_offset(matters):
    upload = Upload(matters, MATTER, "a.txt", most_bytes=MOST)
    for offset in (MOST, 10**15):
        with pytest.raises(TooMuch):
            upload.write(offset, b"x")
    upload.discard()
    upload.discard()
    assert list((matters / MATTER / "incoming").iterdir()) == []


def test_stale_parts_are_removed_and_fresh_ones_kept(matters):
    _put(matters, "a.txt")
    incoming = matters / MATTER / "incoming"
    (incoming / "part-old").write_text("x")
    (incoming / "part-new").write_text("x")
    os.utime(incoming / "part-old", (0, 0))
    _put(matters, "b.txt")
    assert [path.name for path in incoming.iterdir()] == ["part-new"]


@pytest.mark.parametrize("how", ["file", "inbox", "matter", "dangling", "fifo", "folder"])
def test_links_and_odd_things_are_not_there(matters, how):
    out = matters / MATTER / "out"
    match how:
        case "file":
            (out / "x").symlink_to(matters / "M-B1RC" / "out" / "secret.md")
        case "dangling":
            (out / "x").symlink_to("nowhere")
        case "fifo":
            os.mkfifo(out / "x")
        case "folder":
            (out / "x").mkdir()
        case "inbox":
            (matters / MATTER / "inbox").symlink_to(matters / "M-B1RC")
            with pytest.raises(NoSuchPlace):
                Upload(matters, MATTER, "a.txt", most_bytes=MOST)
        case "matter":
            (matters / "M-C1DR").symlink_to(matters / "M-B1RC")
            with pytest.raises(NoSuchPlace):
                Folder(matters, MatterId("M-C1DR"), Side.OUT)
    with pytest.raises(NoSuchPlace):
        Download(matters, MATTER, "x")
    with Folder(matters, MATTER, Side.OUT) as folder:
        assert list(folder.files()) == []


def test_no_handle_is_left_open(matters):
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    _put(matters, "a.txt")
    for name in ("a.txt", ".bad"):
        with pytest.raises((NameTaken, BadName)):
            Upload(matters, MATTER, name, most_bytes=MOST)
    (matters / MATTER / "out" / "a.md").write_text("x")
    download = Download(matters, MATTER, "a.md")
    assert download.read(0, 10) == b"x"
    download.close()
    with pytest.raises(NoSuchPlace):
        Download(matters, MATTER, "absent")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_every_operation_of_the_library_is_ours():
    """A new operation in a new version of the library must be decided on, not inherited."""
    plumbing = {
        "channel",
        "connection",
        "convert_attrs",
        "env",
        "format_group",
        "format_longname",
        "format_user",
        "logger",
    }
    theirs = {name for name in vars(asyncssh.SFTPServer) if not name.startswith("_")} - plumbing
    assert theirs == {name for name in theirs if name in vars(DropBox)}
