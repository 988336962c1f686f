"""A legal hold goes with its matter: into backups, to another box, and nothing comes over it."""

from __future__ import annotations

import datetime as dt
import io
import tarfile

import pytest

from protocol.errors import Conflict
from protocol.ids import UserName
from worker.audit import Journal
from worker.holds import hold_on, lift_from, put_on, refuse_if_held, renewed
from worker.keeping.backup import make_backup
from worker.keeping.migrations import rollback, upgrade
from worker.keeping.restore import restore
from worker.keeping.travel import export_matter, import_matter

TITLE = "Harbor v. Crane"
KIM = UserName("kim")


@pytest.fixture
def held(box, noon):
    journal = Journal(box.state / "audit", box.codes[TITLE])
    return put_on(box.folder(TITLE), journal, "suit expected", by=KIM, now=noon)


def content_of(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_hold_comes_back_with_a_backup(box, held, tmp_path, noon):
    made = make_backup(box.state, tmp_path / "backups", now=noon)
    restore(made.folder, tmp_path / "new", now=noon)
    folder = tmp_path / "new" / "matters" / box.codes[TITLE]
    assert hold_on(folder) == held
    with pytest.raises(Conflict, match="legal hold"):
        refuse_if_held(folder)
    assert hold_on(tmp_path / "new" / "matters" / box.codes["Quarry v. Mill"]) is None


def test_nothing_is_restored_over_a_held_matter(box, tmp_path, noon):
    made = make_backup(box.state, tmp_path / "backups", now=noon)
    journal = Journal(box.state / "audit", box.codes[TITLE])
    held = put_on(box.folder(TITLE), journal, "suit expected", by=KIM, now=noon)
    before = content_of(box.folder(TITLE))
    with pytest.raises(Conflict):
        restore(made.folder, box.state, now=noon)
    assert content_of(box.folder(TITLE)) == before
    assert hold_on(box.folder(TITLE)) == held


def test_a_hold_goes_to_the_other_box(box, empty, held, tmp_path, noon):
    export_matter(box.state, box.codes[TITLE], tmp_path / "m.tar", now=noon)
    came = import_matter(tmp_path / "m.tar", empty.state, now=noon)
    assert hold_on(empty.state / "matters" / came.matter) == held
    assert hold_on(box.folder(TITLE)) == held


def test_nothing_is_imported_over_a_held_matter(box, tmp_path, noon):
    export_matter(box.state, box.codes[TITLE], tmp_path / "m.tar", now=noon)
    journal = Journal(box.state / "audit", box.codes[TITLE])
    put_on(box.folder(TITLE), journal, "suit expected", by=KIM, now=noon)
    before = content_of(box.folder(TITLE))
    with pytest.raises(Conflict, match="already"):
        import_matter(tmp_path / "m.tar", box.state, now=noon)
    assert content_of(box.folder(TITLE)) == before


def test_a_hold_that_was_taken_out_of_the_file_is_in_force_again(box, empty, held, tmp_path, noon):
    """The journal is sealed and still tells of it."""
    path = tmp_path / "m.tar"
    export_matter(box.state, box.codes[TITLE], path, now=noon)
    with tarfile.open(path) as tar:
        members = {one.name: tar.extractfile(one).read() for one in tar}
    del members["hold.json"]
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    came = import_matter(path, empty.state, now=noon)
    found = hold_on(empty.state / "matters" / came.matter)
    assert (found.by, found.at) == (KIM, held.at)


def test_a_lifted_hold_does_not_come_back(box, empty, held, tmp_path, noon):
    journal = Journal(box.state / "audit", box.codes[TITLE])
    lift_from(box.folder(TITLE), journal, by=KIM, now=noon + dt.timedelta(days=1))
    export_matter(box.state, box.codes[TITLE], tmp_path / "m.tar", now=noon)
    came = import_matter(tmp_path / "m.tar", empty.state, now=noon)
    assert hold_on(empty.state / "matters" / came.matter) is None
    assert renewed(box.folder(TITLE), tmp_path / "no journal") is None


def test_an_upgrade_and_the_way_back_leave_held_matters_whole(box, held):
    before = content_of(box.folder(TITLE))
    list(rollback(box.state, 0))
    list(upgrade(box.state))
    assert content_of(box.folder(TITLE)) == before
    assert hold_on(box.folder(TITLE)) == held
