"""A matter that comes in while the power goes, and disks that fill up: nothing half is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.errors import Conflict
from rag.embedding import HashEmbedder
from rag.matters import OpenMatter
from rag.retrieve import retrieve
from worker import audit
from worker.jobs import open_queue
from worker.keeping.backup import make_backup
from worker.keeping.travel import export_matter, import_matter

ROOT = Path(__file__).parents[4]
TITLE = "Harbor v. Crane"
WATCHED = ("os.rename", "os.chmod", "os.mkdir", "sqlite3.connect")
KILLED = """
import datetime, os, pathlib, sys
from worker.keeping.travel import import_matter
left = int(sys.argv[4])
def hook(event, args):
    global left
    if event in sys.argv[5:]:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
sys.addaudithook(hook)
at = datetime.datetime.fromisoformat(sys.argv[3])
import_matter(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), now=at)
"""


async def jobs_in(state, matter, noon):
    queue = open_queue(state / "queue.sqlite", lambda: noon)
    try:
        return [job.id for job in await queue.jobs(matter)]
    finally:
        await queue.close()


def killed(file, state, noon, at):
    """Takes a matter in, and is killed at the n-th of the watched acts; whether it was."""
    command = [sys.executable, "-c", KILLED, file, state, noon.isoformat(), at, *WATCHED]
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, timeout=120, capture_output=True, text=True
    )
    assert done.returncode in (0, -9), done.stderr
    return done.returncode == -9


def test_a_matter_that_comes_in_is_there_whole_or_not_at_all(box, empty, tmp_path, noon):
    """Killed at every act that others can see: the same call again takes it in, once."""
    file = tmp_path / "m.tar"
    matter = export_matter(box.state, box.codes[TITLE], file, now=noon).matter
    at, state = 0, tmp_path / "there"
    while True:
        at += 1
        shutil.copytree(empty.state, state)
        if not killed(file, state, noon, at):
            break
        try:
            import_matter(file, state, now=noon)
        except Conflict:  # it had come in as a whole
            assert (state / "matters" / matter).is_dir()
        check_whole(box, state, matter, noon)
        shutil.rmtree(state)
    assert at > 10


def check_whole(box, state, matter, noon):
    journal = audit.path_of(state / "audit", matter)
    assert audit.verify(journal).broken_at is None
    assert [entry.what for entry in audit.read(journal)].count("matter.imported") == 1
    assert asyncio.run(jobs_in(state, matter, noon)) == [box.jobs[TITLE]]
    with OpenMatter(state / "matters" / matter) as held:
        assert retrieve(held, "worn hook", embedder=HashEmbedder(), top_k=1)
    assert not list(state.glob(".travelling-*"))


def test_a_journal_that_went_on_after_a_cut_is_still_a_conflict(box, empty, tmp_path, noon):
    """Only the very entry of this very file is passed over."""
    file = tmp_path / "m.tar"
    matter = export_matter(box.state, box.codes[TITLE], file, now=noon).matter
    import_matter(file, empty.state, now=noon)
    shutil.rmtree(empty.state / "matters" / matter)
    other = tmp_path / "other.tar"
    other.write_bytes(file.read_bytes() + b"\0" * 512)  # reads alike, and is another file
    with pytest.raises(Conflict, match="does not continue"):
        import_matter(other, empty.state, now=noon)
    import_matter(file, empty.state, now=noon)


FULL = """
import datetime, pathlib, subprocess, sys
from protocol.errors import Unavailable
from worker.keeping.backup import backups_in, make_backup
from worker.keeping.restore import restore
from worker.keeping.travel import export_matter, import_matter
place, box, backup, file, code, at, other = map(pathlib.Path, sys.argv[1:])
now = datetime.datetime.fromisoformat(str(at))
acts = {
    "backup": lambda: make_backup(box, place / "b", now=now),
    "restore": lambda: restore(backup, place / "state", now=now),
    "export": lambda: export_matter(box, str(code), place / "m.tar", now=now),
    "import": lambda: import_matter(file, place / "other", now=now),
}
for name, act in acts.items():
    for kib in (60, 150, 250, 4096):
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kib + (160 if name == 'import' else 0)}k",
             "tmpfs", place], check=True)
        if name == "import":
            subprocess.run(["cp", "-a", other, place / "other"], check=True)
        try:
            act()
            print(name, kib, "done")
        except Unavailable as error:
            assert "make room" in error.next_step, error.message
            left = {path.name for path in place.rglob("*")}
            assert not {"state", "m.tar", str(code)} & left, left
            assert not backups_in(place / "b")
            print(name, kib, "full")
        subprocess.run(["umount", place], check=True)
"""


@pytest.mark.skipif(
    os.geteuid() != 0
    or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0,
    reason="only root can make a small disk",
)
def test_on_a_full_disk_nothing_half_is_left_and_it_says_so(box, empty, tmp_path, noon):
    made = make_backup(box.state, tmp_path / "b", now=noon)
    sent = export_matter(box.state, box.codes[TITLE], tmp_path / "m.tar", now=noon)
    (tmp_path / "small").mkdir()
    given = (
        tmp_path / "small", box.state, made.folder, tmp_path / "m.tar", sent.matter,
        noon.isoformat(), empty.state,
    )  # fmt: skip
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", FULL, *map(str, given)],
        cwd=ROOT, timeout=170, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.split("\n")
    for name in ("backup", "restore", "export", "import"):
        mine = [line for line in said if line.startswith(name)]
        assert f"{name} 60 full" in mine
        assert f"{name} 4096 done" in mine
