"""A matter moves between two boxes: record, replies, exports, journal; refused where it must be."""

from __future__ import annotations

import asyncio
import io
import sqlite3
import tarfile

import pytest

from protocol.errors import BadRequest, Conflict, Damaged, NotFound, Unavailable
from protocol.ids import UserName
from rag.embedding import HashEmbedder
from rag.matters import OpenMatter, erase
from rag.retrieve import retrieve
from worker import audit
from worker.audit import Journal
from worker.jobs import open_queue
from worker.keeping.travel import export_matter, import_matter
from worker.workfile import WorkFile

TITLE = "Harbor v. Crane"


@pytest.fixture
def sent(box, tmp_path, noon):
    return export_matter(box.state, box.codes[TITLE], tmp_path / "m.tar", now=noon)


async def jobs_in(state, matter, noon):
    queue = open_queue(state / "queue.sqlite", lambda: noon)
    try:
        jobs = await queue.jobs(matter)
        return [(job, await queue.events_since(job.id, 0)) for job in jobs]
    finally:
        await queue.close()


def test_everything_of_it_is_on_the_other_box(box, empty, sent, tmp_path, noon):
    came = import_matter(tmp_path / "m.tar", empty.state, now=noon, sha256=sent.sha256)
    assert (came.matter, came.title, came.jobs) == (box.codes[TITLE], TITLE, 1)
    old, new = box.folder(TITLE), empty.state / "matters" / came.matter
    for folder in ("originals", "out"):
        assert [path.name for path in sorted((new / folder).iterdir())] == [
            path.name for path in sorted((old / folder).iterdir())
        ]
    work = WorkFile(new / "work.sqlite")
    assert work.answer(box.jobs[TITLE]) == box.answer(TITLE)
    work.close()
    with OpenMatter(new) as held:
        found = retrieve(held, "worn hook of the crane", embedder=HashEmbedder(), top_k=3)
    assert any("hook" in hit.passage.text for hit in found)
    there = asyncio.run(jobs_in(empty.state, came.matter, noon))
    assert there == asyncio.run(jobs_in(box.state, came.matter, noon))
    assert [job.id for job, _ in there] == [box.jobs[TITLE]]


def test_the_journal_goes_on_in_one_chain(box, empty, sent, tmp_path, noon):
    import_matter(tmp_path / "m.tar", empty.state, now=noon)
    path = empty.state / "audit" / f"{sent.matter}.jsonl"
    Journal(empty.state / "audit", sent.matter).seal(
        "review.approved", by=UserName("kim"), now=noon
    )
    assert [entry.what for entry in audit.read(path)] == [
        "matter.opened", "matter.exported", "matter.imported", "review.approved"
    ]  # fmt: skip
    assert audit.verify(path).broken_at is None
    assert path.read_bytes().startswith((box.state / "audit" / path.name).read_bytes())


def test_the_file_holds_nothing_of_another_matter(box, sent, tmp_path):
    content = (tmp_path / "m.tar").read_bytes()
    assert b"crane was inspected" in content
    other = box.codes["Quarry v. Mill"]
    for strange in (b"mill was sold", other.encode(), box.jobs["Quarry v. Mill"].encode()):
        assert strange not in content
    assert (tmp_path / "m.tar").stat().st_mode & 0o777 == 0o600


def test_a_matter_that_is_here_is_not_written_over(box, sent, tmp_path, noon):
    with pytest.raises(Conflict, match="already"):
        import_matter(tmp_path / "m.tar", box.state, now=noon)


def test_it_may_come_home_where_the_journal_only_stopped(box, empty, sent, tmp_path, noon):
    """Erased here by hand after the export: what stayed is the beginning of what comes back."""
    import_matter(tmp_path / "m.tar", empty.state, now=noon)
    export_matter(empty.state, sent.matter, tmp_path / "back.tar", now=noon)
    erase(box.folder(TITLE))
    came = import_matter(tmp_path / "back.tar", box.state, now=noon)
    assert audit.verify(box.state / "audit" / f"{came.matter}.jsonl").broken_at is None
    assert came.jobs == 0  # they had stayed


def test_a_journal_that_went_another_way_is_a_conflict(box, sent, tmp_path, noon):
    erase(box.folder(TITLE))
    Journal(box.state / "audit", sent.matter).seal("matter.closed", by=UserName("op"), now=noon)
    before = (box.state / "audit" / f"{sent.matter}.jsonl").read_bytes()
    with pytest.raises(Conflict, match="journal"):
        import_matter(tmp_path / "m.tar", box.state, now=noon)
    assert (box.state / "audit" / f"{sent.matter}.jsonl").read_bytes() == before
    assert not box.folder(TITLE).exists()


async def test_the_worker_must_be_stopped_to_take_one_in(empty, sent, tmp_path, noon):
    queue = open_queue(empty.state / "queue.sqlite", lambda: noon)
    try:
        with pytest.raises(Unavailable, match="running"):
            import_matter(tmp_path / "m.tar", empty.state, now=noon)
    finally:
        await queue.close()


def test_a_told_hash_must_fit(empty, sent, tmp_path, noon):
    with pytest.raises(Damaged, match="told"):
        import_matter(tmp_path / "m.tar", empty.state, now=noon, sha256="0" * 64)
    assert not list((empty.state / "matters").iterdir())


def rewritten(path, change):
    """The archive with its members changed: a dictionary of names and contents."""
    with tarfile.open(path) as tar:
        members = {one.name: tar.extractfile(one).read() for one in tar}
    change(members)
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def drop_journal_end(members):
    members["journal.jsonl"] = members["journal.jsonl"].splitlines(keepends=True)[0]


def forge_journal(members):
    members["journal.jsonl"] = members["journal.jsonl"].replace(b"operator", b"somebody")


def other_code(members):
    members["label.json"] = members["label.json"].replace(b'"matter":"M-', b'"matter":"M-0')


def change_original(members):
    name = next(name for name in members if name.startswith("originals/"))
    members[name] = b"another paper"


def way_up(members):
    members["../../escaped"] = b"x"


def absolute(members):
    members["/tmp/escaped-from-an-archive"] = b"x"


def spoil_database(members):
    members["work.sqlite"] = members["work.sqlite"][:4096] + b"\xff" * 4096


def no_label(members):
    del members["label.json"]


@pytest.mark.parametrize(
    "change",
    [drop_journal_end, forge_journal, other_code, change_original, way_up, absolute,
     spoil_database, no_label],
)  # fmt: skip
def test_a_changed_archive_is_refused_and_leaves_nothing(change, empty, sent, tmp_path, noon):
    rewritten(tmp_path / "m.tar", change)
    with pytest.raises(Damaged):
        import_matter(tmp_path / "m.tar", empty.state, now=noon)
    assert not list((empty.state / "matters").iterdir())
    assert not list((empty.state / "audit").iterdir())
    assert not list(empty.state.glob(".travelling-*"))
    assert not (tmp_path / "escaped").exists()


def test_a_link_in_an_archive_is_refused(empty, tmp_path, noon):
    with tarfile.open(tmp_path / "m.tar", "w") as tar:
        info = tarfile.TarInfo("out/link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(Damaged):
        import_matter(tmp_path / "m.tar", empty.state, now=noon)


@pytest.mark.parametrize("content", [b"", b"my client confessed", b"\x00" * 1024])
def test_what_is_no_archive_is_refused_without_its_words(content, empty, tmp_path, noon):
    (tmp_path / "m.tar").write_bytes(content)
    with pytest.raises(Damaged) as caught:
        import_matter(tmp_path / "m.tar", empty.state, now=noon)
    assert "confessed" not in str(caught.value)


def test_jobs_of_another_matter_in_the_archive_are_refused(box, empty, sent, tmp_path, noon):
    def plant(members):
        path = tmp_path / "jobs.sqlite"
        path.write_bytes(members["jobs.sqlite"])
        db = sqlite3.connect(path)
        db.execute("UPDATE job SET matter = 'M-ZZZZ'")
        db.commit()
        db.close()
        members["jobs.sqlite"] = path.read_bytes()

    rewritten(tmp_path / "m.tar", plant)
    with pytest.raises(Damaged, match="another matter"):
        import_matter(tmp_path / "m.tar", empty.state, now=noon)
    assert not list((empty.state / "matters").iterdir())


def test_what_is_not_there_is_not_exported(box, tmp_path, noon):
    with pytest.raises(NotFound):
        export_matter(box.state, "M-ZZZZ", tmp_path / "m.tar", now=noon)
    (tmp_path / "m.tar").touch()
    with pytest.raises(Conflict):
        export_matter(box.state, box.codes[TITLE], tmp_path / "m.tar", now=noon)


def test_a_newer_programs_export_is_refused(empty, sent, tmp_path, noon):
    def newer(members):
        members["label.json"] = members["label.json"].replace(b'"format":1', b'"format":2')

    rewritten(tmp_path / "m.tar", newer)
    with pytest.raises(BadRequest, match="newer"):
        import_matter(tmp_path / "m.tar", empty.state, now=noon)
