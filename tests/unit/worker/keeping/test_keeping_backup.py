"""Backup and restore: nothing lost, the walls kept, every changed byte and every cut noticed."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from protocol.errors import Conflict, Damaged, NotFound, Unavailable
from rag.embedding import HashEmbedder
from rag.matters import OpenMatter
from rag.retrieve import retrieve
from worker import audit
from worker.keeping.backup import backups_in, make_backup, the_backup, verify_backup
from worker.keeping.restore import restore
from worker.keeping.version import CURRENT, StateVersion, write_version
from worker.workfile import WorkFile

ROOT = Path(__file__).parents[4]
WORDS = ("crane", "hook", "mill", "quarry", "Harbor")


@pytest.fixture
def made(box, tmp_path, noon):
    return make_backup(box.state, tmp_path / "backups", now=noon)


def later(noon, seconds=1):
    return noon + dt.timedelta(seconds=seconds)


def test_everything_comes_back(box, made, tmp_path, noon):
    target = tmp_path / "new"
    done = restore(made.folder, target, now=noon)
    assert sorted(done.matters) == sorted(box.codes.values())
    assert (done.journals, done.broken, done.host_keys) == (2, (), True)
    for title, code in box.codes.items():
        old, new = box.folder(title), target / "matters" / code
        for folder in ("originals", "out"):
            names = sorted(path.name for path in (old / folder).iterdir())
            assert names
            assert sorted(path.name for path in (new / folder).iterdir()) == names
            for name in names:
                assert (new / folder / name).read_bytes() == (old / folder / name).read_bytes()
        work = WorkFile(new / "work.sqlite")
        assert work.answer(box.jobs[title]) == box.answer(title)
        work.close()
        report = audit.verify(target / "audit" / f"{code}.jsonl")
        assert report.broken_at is None
        assert report.entries == audit.verify(box.state / "audit" / f"{code}.jsonl").entries + 1
    for name in ("registry/users.toml", "gateway/host_ed25519"):
        assert (target / name).read_bytes() == (box.state / name).read_bytes()


def test_the_vector_index_is_made_anew_from_the_record(box, made, tmp_path, noon):
    restore(made.folder, tmp_path / "new", now=noon)
    folder = tmp_path / "new" / "matters" / box.codes["Harbor v. Crane"]
    assert not (folder / "index").exists()
    with OpenMatter(folder) as held:
        found = retrieve(held, "worn hook of the crane", embedder=HashEmbedder(), top_k=3)
    assert any("hook" in hit.passage.text for hit in found)


def test_an_archive_holds_one_matter_and_is_its_owners_alone(box, made):
    for path in (made.folder, *made.folder.rglob("*")):
        assert not path.stat().st_mode & 0o077, path
    crane = made.folder / "matters" / f"{box.codes['Harbor v. Crane']}.tar"
    mill = made.folder / "matters" / f"{box.codes['Quarry v. Mill']}.tar"
    assert b"crane was inspected" in crane.read_bytes()
    assert b"mill was sold" not in crane.read_bytes()
    assert b"mill was sold" in mill.read_bytes()
    for path in made.folder.glob("*.*"):  # the box's own files hold no words of any
        assert not any(word.encode() in path.read_bytes() for word in WORDS), path
    with tarfile.open(crane) as tar:
        names = tar.getnames()
    assert not [name for name in names if name.startswith(("index", "slots", "lock", "incoming"))]
    assert not [name for name in names if name.endswith(("-wal", "-shm"))]


def test_what_is_written_meanwhile_is_there_whole_or_not_at_all(box, tmp_path, noon):
    """The worker's own connections stay open and in the middle of a transaction."""
    folder = box.folder("Harbor v. Crane")
    with OpenMatter(folder) as held:
        work = sqlite3.connect(folder / "work.sqlite", isolation_level=None)
        work.execute("PRAGMA journal_mode = WAL")
        work.execute("INSERT INTO notes VALUES ('J-1', 'kept', 'committed')")
        work.execute("BEGIN IMMEDIATE")
        work.execute("INSERT INTO notes VALUES ('J-1', 'open', 'not yet')")
        made = make_backup(box.state, tmp_path / "b", now=noon)
        work.execute("COMMIT")
        work.close()
        assert held.store.document_count() == 1
    restore(made.folder, tmp_path / "new", now=noon)
    copy = WorkFile(tmp_path / "new" / "matters" / box.codes["Harbor v. Crane"] / "work.sqlite")
    assert (copy.note("J-1", "kept"), copy.note("J-1", "open")) == ("committed", None)
    copy.close()


def parts_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_flipped_byte_anywhere_is_found_and_nothing_is_restored(made, tmp_path, noon):
    assert verify_backup(made.folder) == []
    dice = random.Random(7)
    for path in parts_of(made.folder):
        whole = path.read_bytes()
        for _ in range(4):
            at = dice.randrange(len(whole))
            spoiled = bytearray(whole)
            spoiled[at] ^= 1 << dice.randrange(8)
            path.write_bytes(bytes(spoiled))
            assert verify_backup(made.folder), (path.name, at)
            with pytest.raises(Damaged):
                restore(made.folder, tmp_path / "new", now=noon)
            assert not (tmp_path / "new").exists()
        path.write_bytes(whole)
    assert verify_backup(made.folder) == []


def test_a_missing_or_added_part_is_found(made):
    for path in parts_of(made.folder):
        if path.name.startswith("manifest"):
            continue
        aside = made.folder.parent / "aside"
        path.rename(aside)
        assert verify_backup(made.folder) == [f"{path.relative_to(made.folder)} is missing"]
        aside.rename(path)
    (made.folder / "matters" / "M-ZZZZ.tar").touch()
    assert verify_backup(made.folder) == ["matters/M-ZZZZ.tar is not listed"]


def ended(code, *arguments):
    """The exit status of a program of its own; negative when a signal ended it."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, timeout=120).returncode


@pytest.mark.parametrize("point", ["box.tar", "matters", "audit.tar", "manifest"])
def test_kill_9_in_the_middle_leaves_no_backup_and_the_next_sweeps(box, tmp_path, noon, point):
    place = tmp_path / "backups"
    make_backup(box.state, place, now=noon)
    code = (
        "import datetime, os, sys, pathlib\n"
        "from worker.keeping.backup import make_backup\n"
        "def hook(part):\n"
        "    if part.startswith(sys.argv[3]): os.kill(os.getpid(), 9)\n"
        "at = datetime.datetime.fromisoformat(sys.argv[4])\n"
        "make_backup(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), now=at, hook=hook)\n"
    )
    assert ended(code, box.state, place, point, later(noon).isoformat()) == -9
    assert len(list(place.glob(".partial-*"))) == 1
    assert len(backups_in(place)) == 1
    assert verify_backup(the_backup(place)) == []
    again = make_backup(box.state, place, now=later(noon, 2))
    assert not list(place.glob(".partial-*"))
    assert the_backup(place) == again.folder
    assert verify_backup(again.folder) == []


def test_a_restore_that_is_killed_leaves_the_state_folder_alone(made, tmp_path, noon):
    target = tmp_path / "new"
    code = (
        "import datetime, os, sys, pathlib\n"
        "import worker.keeping.restore as module\n"
        "module._check = lambda *_: os.kill(os.getpid(), 9)\n"
        "at = datetime.datetime.fromisoformat(sys.argv[3])\n"
        "module.restore(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), now=at)\n"
    )
    assert ended(code, made.folder, target, noon.isoformat()) == -9
    assert not target.exists()
    assert len(restore(made.folder, target, now=noon).matters) == 2
    assert not list(tmp_path.glob(".*restoring"))


def test_a_box_that_is_there_is_not_written_over(box, made, noon):
    with pytest.raises(Conflict, match="already"):
        restore(made.folder, box.state, now=noon)


def test_what_a_person_put_there_is_moved_aside_and_never_deleted(made, tmp_path, noon):
    target = tmp_path / "new"
    put = {
        "templates/demand.md": "the firm's own form",
        "gateway/host_ed25519": "a key that PCs know",
        "engines/note.txt": "mine",
        "queue.sqlite": "an old queue",
        "queue.sqlite-wal": "a log that must not meet another database",
    }
    for name, words in put.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(words)
    (target / "matters" / "old" / "out").mkdir(parents=True)  # empty: no box
    elsewhere = tmp_path / "forms"
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("kept")
    (target / "measurements").symlink_to(elsewhere)
    done = restore(made.folder, target, now=noon)
    for name, words in put.items():
        in_the_way = name.startswith(("gateway", "queue"))  # the others have nothing in their place
        assert (target / (done.aside if in_the_way else ".") / name).read_text() == words
    assert (elsewhere / "a.md").read_text() == "kept"
    assert not (target / "queue.sqlite-wal").exists()
    with contextlib.closing(sqlite3.connect(target / "queue.sqlite")) as queue:
        assert queue.execute("SELECT count(*) FROM job").fetchone()[0] > 0
    assert len(list((target / "matters").iterdir())) == 2


def test_an_empty_state_folder_leaves_nothing_aside(made, tmp_path, noon):
    (tmp_path / "new" / "templates").mkdir(parents=True)
    assert restore(made.folder, tmp_path / "new", now=noon).aside is None


@pytest.mark.parametrize("part", ["registry", "matters", "audit"])
def test_any_part_of_a_box_is_a_box(made, tmp_path, noon, part):
    target = tmp_path / "new"
    (target / part / "deep").mkdir(parents=True)
    (target / part / "deep" / "file").write_text("kept")
    with pytest.raises(Conflict, match="already"):
        restore(made.folder, target, now=noon)
    assert (target / part / "deep" / "file").read_text() == "kept"
    assert [path.name for path in target.iterdir()] == [part]


def test_a_journal_that_was_cut_afterwards_is_not_restored(box, made, tmp_path, noon):
    """Somebody shortens a journal in the archive and writes hashes that fit: the head says so."""
    from worker.keeping.copies import add_bytes, file_sha256, new_tar
    from worker.keeping.manifest import Part, read_manifest, write_manifest

    folder = made.folder
    manifest = read_manifest(folder)
    with tarfile.open(folder / "audit.tar") as tar:
        journals = {one.name: tar.extractfile(one).read() for one in tar}
    (folder / "audit.tar").unlink()
    with new_tar(folder / "audit.tar") as (tar, sealed):
        for name, content in journals.items():
            lines = content.splitlines(keepends=True)
            add_bytes(tar, name, b"".join(lines[:-1]))
    parts = tuple(
        one if one.name != "audit.tar" else Part(
            name="audit.tar", sha256=file_sha256(folder / "audit.tar"), size_bytes=sealed.size_bytes
        )
        for one in manifest.parts
    )  # fmt: skip
    import msgspec

    for name in ("manifest.json", "manifest.json.sha256"):
        (folder / name).unlink()
    write_manifest(folder, msgspec.structs.replace(manifest, parts=parts))
    assert verify_backup(folder) == []
    with pytest.raises(Damaged, match="head"):
        restore(folder, tmp_path / "new", now=noon)


def test_a_journal_that_is_broken_already_is_kept_as_it_is_and_said(box, tmp_path, noon):
    code = box.codes["Quarry v. Mill"]
    journal = box.state / "audit" / f"{code}.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"operator", b"somebody"))
    made = make_backup(box.state, tmp_path / "b", now=noon)
    done = restore(made.folder, tmp_path / "new", now=noon)
    assert done.broken == (code,)
    assert (tmp_path / "new" / "audit" / f"{code}.jsonl").read_bytes() == journal.read_bytes()


def test_an_original_that_rotted_on_the_box_is_named_at_restore(box, tmp_path, noon):
    original = next((box.folder("Harbor v. Crane") / "originals").iterdir())
    original.write_bytes(b"rot" + original.read_bytes()[3:])
    made = make_backup(box.state, tmp_path / "b", now=noon)
    with pytest.raises(Damaged, match=original.name[:12]):
        restore(made.folder, tmp_path / "new", now=noon)


def test_two_backups_at_once_and_a_full_state_of_a_newer_program(box, tmp_path, noon):
    place = tmp_path / "b"

    def another(_):
        with pytest.raises(Unavailable, match="another backup"):
            make_backup(box.state, place, now=later(noon))

    make_backup(box.state, place, now=noon, hook=another)
    with pytest.raises(Conflict, match="this second"):
        make_backup(box.state, place, now=noon)
    write_version(box.state, StateVersion(version=CURRENT + 1))
    with pytest.raises(Conflict, match="leaves it alone"):
        make_backup(box.state, place, now=later(noon))
    with pytest.raises(NotFound):
        make_backup(tmp_path / "nothing", place, now=noon)


def test_a_link_in_the_state_is_not_followed(box, tmp_path, noon):
    secret = tmp_path / "secret"
    secret.write_text("not of this box")
    (box.folder("Harbor v. Crane") / "out" / "link.md").symlink_to(secret)
    made = make_backup(box.state, tmp_path / "b", now=noon)
    for path in parts_of(made.folder):
        assert b"not of this box" not in path.read_bytes()


def test_a_full_disk_leaves_no_half_backup(box, tmp_path, noon, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("worker.keeping.copies.os.fsync", full)
    with pytest.raises(Unavailable, match="No space"):
        make_backup(box.state, tmp_path / "b", now=noon)
    monkeypatch.undo()
    assert backups_in(tmp_path / "b") == []
    assert verify_backup(make_backup(box.state, tmp_path / "b", now=noon).folder) == []


def test_modes_do_not_hang_on_the_callers_umask(box, tmp_path, noon):
    before = os.umask(0)
    try:
        made = make_backup(box.state, tmp_path / "b", now=noon)
        restore(made.folder, tmp_path / "new", now=noon)
    finally:
        os.umask(before)
    for top in (tmp_path / "b", tmp_path / "new"):
        for path in (top, *top.rglob("*")):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    shutil.rmtree(tmp_path / "new")
