"""A matter's folder: one owner, a manifest, what the checker may ask, nothing left behind."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from protocol.errors import Conflict, Damaged, NotFound, Unavailable
from protocol.ids import DocumentId, MatterId
from protocol.record import DateOrder, DocumentClass, Matter
from rag.disk import write_durably
from rag.ingest import ingest
from rag.matters import OpenMatter, create, erase, matters_in
from rag.repair import damage, stale
from rag.retrieve import retrieve

VALUE = Matter(
    id=MatterId("M-0001"), title="A v. B", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
)


def test_a_second_opener_is_told_who_has_it(empty_matter: OpenMatter) -> None:
    with pytest.raises(Unavailable, match=f"process {os.getpid()}"):
        OpenMatter(empty_matter.folder)


def test_the_lock_holds_against_other_processes_and_ends_with_its_owner(tmp_path: Path) -> None:
    create(tmp_path / "m", VALUE).close()
    script = (
        "import sys, pathlib; from rag.matters import OpenMatter;"
        "OpenMatter(pathlib.Path(sys.argv[1]), index_in_memory=True);"
        "print('open', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "m")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(Unavailable, match=f"process {child.pid}"):
            OpenMatter(tmp_path / "m")
        with pytest.raises(Unavailable):
            erase(tmp_path / "m")
        child.kill()
    OpenMatter(tmp_path / "m").close()


def test_closing_twice_is_harmless_and_gives_the_lock_back(tmp_path: Path) -> None:
    matter = create(tmp_path / "m", VALUE)
    matter.close()
    matter.close()
    OpenMatter(tmp_path / "m").close()


def test_nothing_is_made_where_a_matter_is(tmp_path: Path) -> None:
    create(tmp_path / "m", VALUE).close()
    with pytest.raises(Conflict):
        create(tmp_path / "m", VALUE)


def test_no_matter_no_opening(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        OpenMatter(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_damaged_manifest_is_said_and_gives_the_lock_back(tmp_path: Path) -> None:
    create(tmp_path / "m", VALUE).close()
    good = (tmp_path / "m" / "matter.json").read_bytes()
    (tmp_path / "m" / "matter.json").write_bytes(b'{"matter": 1, "secret": "words"}')
    with pytest.raises(Damaged) as error:
        OpenMatter(tmp_path / "m")
    assert "secret" not in str(error.value)
    (tmp_path / "m" / "matter.json").write_bytes(good)
    OpenMatter(tmp_path / "m").close()


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to look" * 50])
def test_a_file_that_is_no_record_is_damage(tmp_path: Path, content: bytes) -> None:
    create(tmp_path / "m", VALUE).close()
    for stray in (tmp_path / "m").glob("record.sqlite*"):
        stray.unlink()
    (tmp_path / "m" / "record.sqlite").write_bytes(content)
    if content:
        with pytest.raises(Damaged):
            OpenMatter(tmp_path / "m")
    else:
        OpenMatter(tmp_path / "m").close()


def test_matters_are_listed_without_opening_them(tmp_path: Path) -> None:
    with create(tmp_path / "M-0001", VALUE):
        assert list(matters_in(tmp_path)) == [VALUE]
    (tmp_path / "M-0002").mkdir()
    (tmp_path / "M-0002" / "matter.json").write_text("{")
    assert list(matters_in(tmp_path)) == [VALUE]


def test_it_answers_what_the_checker_asks(fill) -> None:
    matter = fill({"lease.txt": "Page one.\fPage two."})
    (info,) = matter.documents()
    assert matter.date_order is DateOrder.UNSET
    assert matter.text(info.id) == "Page one.\fPage two."
    assert [(page.start, page.end) for page in matter.pages(info.id)] == [(0, 9), (10, 19)]
    path = matter.index_path(info.id)
    assert path is not None
    assert path.parent.is_dir()
    assert info.text_sha256 in path.name
    for ask in (matter.text, matter.pages):
        with pytest.raises(KeyError):
            ask(DocumentId("D-none"))
    assert matter.index_path(DocumentId("D-none")) is None


def test_the_manifest_says_what_a_document_is(tmp_path: Path, empty_matter, embedder) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "Lease.txt").write_text("LEASE between A and B\n")
    (folder / "memo to file.txt").write_text("Our view of the case.\n")
    manifest = msgspec.structs.replace(
        empty_matter.manifest,
        classes={"memo*": DocumentClass.EVIDENCE},
        exhibits={"Lease.txt": "Ex. A"},
        custodians={"*": "Osei"},
        designations={"Lease.txt": "CONFIDENTIAL"},
        privileged=("memo*",),
    )
    empty_matter.set_manifest(manifest)
    ingest(empty_matter, embedder=embedder, folder=folder)
    by_name = {info.name: info for info in empty_matter.documents()}
    assert by_name["Lease.txt"].exhibit == "Ex. A"
    assert by_name["Lease.txt"].designation == "CONFIDENTIAL"
    assert by_name["Lease.txt"].custodian == "Osei"
    assert by_name["memo to file.txt"].document_class is DocumentClass.EVIDENCE
    assert by_name["memo to file.txt"].privileged
    assert not by_name["Lease.txt"].privileged


def test_a_changed_manifest_reaches_documents_that_are_there(fill, embedder) -> None:
    matter = fill({"Lease.txt": "The rent is due.", "notes.txt": "Our view."})
    assert {info.document_class for info in matter.documents()} == {
        DocumentClass.EVIDENCE,
        DocumentClass.WORK_PRODUCT,
    }
    rules = {"Lease.txt": DocumentClass.MODEL_OUTPUT, "notes.txt": DocumentClass.EVIDENCE}
    matter.set_manifest(
        msgspec.structs.replace(matter.manifest, classes=rules, exhibits={"notes.txt": "Ex. B"})
    )
    ingest(matter, embedder=embedder)
    by_name = {info.name: info for info in matter.documents()}
    assert {name: info.document_class for name, info in by_name.items()} == rules
    assert by_name["notes.txt"].exhibit == "Ex. B"
    assert retrieve(matter, "rent due", embedder=embedder) == ()
    matter.set_manifest(msgspec.structs.replace(matter.manifest, classes={}, exhibits={}))
    ingest(matter, embedder=embedder)
    assert retrieve(matter, "rent", embedder=embedder)[0].passage.text == "The rent is due."
    assert stale(matter) == damage(matter) == ()


def test_a_matter_keeps_its_code(empty_matter) -> None:
    other = msgspec.structs.replace(empty_matter.manifest, matter=VALUE)
    with pytest.raises(Conflict):
        empty_matter.set_manifest(other)


def test_erasing_removes_everything(tmp_path: Path, fill, empty_matter) -> None:
    fill({"lease.txt": "the marker word zyxwvut"})
    empty_matter.close()
    erase(empty_matter.folder)
    assert not empty_matter.folder.exists()
    with pytest.raises(NotFound):
        erase(empty_matter.folder)


def test_a_durable_write_replaces_the_whole_file(tmp_path: Path) -> None:
    write_durably(tmp_path / "f", b"long old content")
    write_durably(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").stat().st_mode & 0o077 == 0


def test_folders_are_for_the_owner_alone(empty_matter) -> None:
    for folder in (empty_matter.folder, *(p for p in empty_matter.folder.rglob("*") if p.is_dir())):
        assert folder.stat().st_mode & 0o077 == 0
    assert (empty_matter.folder / "record.sqlite").stat().st_mode & 0o077 == 0
