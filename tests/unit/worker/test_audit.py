"""The journal: sealed, complete, and broken by every change."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Damaged
from protocol.ids import MatterId, UserName
from worker.audit import Journal, path_of, read, verify

MATTER = MatterId("M-A1DR")
BY = UserName("alder")
NOW = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)


def _filled(folder, many=5):
    journal = Journal(folder, MATTER)
    entries = [
        journal.seal("job.accepted", by=BY, now=NOW, details={"kind": "ask", "n": str(n)})
        for n in range(many)
    ]
    return path_of(folder, MATTER), entries


def test_entries_are_read_back_and_the_chain_holds(tmp_path):
    path, entries = _filled(tmp_path)
    assert list(read(path)) == entries
    report = verify(path)
    assert (report.entries, report.broken_at, report.head) == (5, None, entries[-1].seal)
    assert path.stat().st_mode & 0o777 == 0o600


def test_absent_journal_is_empty_and_whole(tmp_path):
    report = verify(path_of(tmp_path, MATTER))
    assert (report.entries, report.broken_at, report.head) == (0, None, "")


def test_identical_acts_are_two_entries(tmp_path):
    journal = Journal(tmp_path, MATTER)
    first = journal.seal("export.written", by=BY, now=NOW)
    second = journal.seal("export.written", by=BY, now=NOW)
    assert (first.n, second.n) == (1, 2)
    assert first.seal != second.seal


def _change(rows, how):
    match how:
        case "change":
            rows[2] = rows[2].replace(b"alder", b"birch")
        case "remove":
            del rows[2]
        case "swap":
            rows[1], rows[2] = rows[2], rows[1]
        case "double":
            rows.insert(2, rows[2])
        case "garbage":
            rows[2] = b"nothing\n"
        case "torn":
            rows[-1] = rows[-1][:-3]
        case "spelling":  # the same value, written otherwise
            rows[2] = rows[2].replace(b"12:00:00Z", b"12:00:00z")
        case "key":  # a second one of the same name: which would be read?
            rows[2] = rows[2].replace(b'"n":3', b'"n":4,"n":3')
    return rows


@pytest.mark.parametrize(
    "how", ["change", "remove", "swap", "double", "garbage", "torn", "spelling", "key"]
)
def test_every_kind_of_change_is_found_where_it_is(tmp_path, how):
    path, _ = _filled(tmp_path)
    rows = _change(path.read_bytes().splitlines(keepends=True), how)
    path.write_bytes(b"".join(rows))
    report = verify(path)
    assert report.broken_at == {"torn": 5, "swap": 2, "double": 4}.get(how, 3)
    assert report.reason


def test_cutting_off_the_end_shows_against_a_noted_head(tmp_path):
    path, entries = _filled(tmp_path)
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:3]))
    assert verify(path).broken_at is None
    report = verify(path, head=entries[-1].seal)
    assert report.broken_at == 4
    assert verify(path, head=entries[1].seal).broken_at is None


def test_journal_of_another_matter_in_its_place_is_found(tmp_path):
    path, _ = _filled(tmp_path)
    other = path_of(tmp_path, MatterId("M-B1RC"))
    path.rename(other)
    assert verify(other).broken_at == 1


def test_last_line_torn_by_a_crash_is_removed_and_said(tmp_path):
    path, entries = _filled(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"n":6,"at":"2026')
    assert verify(path).broken_at == 6
    after = Journal(tmp_path, MATTER).seal("job.accepted", by=BY, now=NOW)
    assert after.n == 7
    repaired = list(read(path))[5]
    assert (repaired.what, repaired.details) == ("journal.repaired", {"torn_bytes": "17"})
    assert verify(path).broken_at is None
    assert list(read(path))[:5] == entries


def test_nothing_is_appended_to_an_end_that_does_not_match_its_seal(tmp_path):
    path, _ = _filled(tmp_path)
    before = path.read_bytes().replace(b'"n":"4"', b'"n":"9"')
    path.write_bytes(before)
    with pytest.raises(Damaged):
        Journal(tmp_path, MATTER).seal("job.accepted", by=BY, now=NOW)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("what", "details"),
    [
        ("Marigold said the leak was known", {}),
        ("job.accepted", {"question": "Marigold said the leak was known"}),
        ("job.accepted", {"the question": "x"}),
        ("job.accepted", {"kind": "x" * 200}),
        ("job.accepted", {"kind": "a\nb"}),
    ],
)
def test_texts_do_not_get_in(tmp_path, what, details):
    with pytest.raises(ValueError, match="audit") as caught:
        Journal(tmp_path, MATTER).seal(what, by=BY, now=NOW, details=details)
    assert "Marigold" not in str(caught.value)
    assert not path_of(tmp_path, MATTER).exists()


def test_journal_name_cannot_leave_the_folder(tmp_path):
    with pytest.raises(ValueError, match="matter"):
        Journal(tmp_path, MatterId("../../etc/passwd"))


APPEND = """
import datetime, pathlib, sys
from worker.audit import Journal
journal = Journal(pathlib.Path(sys.argv[1]), "M-A1DR")
for _ in range(int(sys.argv[2])):
    journal.seal("job.accepted", by="alder", now=datetime.datetime.now(datetime.UTC))
"""


def _start(folder, many):
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", APPEND, str(folder), str(many)]
    return subprocess.Popen(command, env=environment)


def test_several_processes_append_to_one_chain(tmp_path):
    children = [_start(tmp_path, 40) for _ in range(3)]
    assert [child.wait(timeout=30) for child in children] == [0, 0, 0]
    report = verify(path_of(tmp_path, MATTER))
    assert (report.entries, report.broken_at) == (120, None)


def test_kill_at_any_moment_leaves_a_chain_that_holds(tmp_path):
    path = path_of(tmp_path, MATTER)
    for wait_s in (0.0, 0.01, 0.03):
        before = path.stat().st_size if path.exists() else 0
        child = _start(tmp_path, 100_000)
        while not path.exists() or path.stat().st_size == before:
            assert child.poll() is None
            time.sleep(0.001)
        time.sleep(wait_s)
        child.kill()
        child.wait()
        Journal(tmp_path, MATTER).seal("job.accepted", by=BY, now=NOW)
        assert verify(path).broken_at is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_single_byte_can_change_unseen(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("journal")
    path, _ = _filled(folder, many=3)
    raw = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[at]))
    raw[at] = new
    path.write_bytes(bytes(raw))
    assert verify(path).broken_at is not None


def test_seal_is_what_the_docstring_says(tmp_path):
    path, _ = _filled(tmp_path, many=2)
    before = ""
    for row in path.read_text().splitlines():
        entry = json.loads(row)
        seal = entry.pop("seal")
        form = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(f"{before}\n{form}".encode()).hexdigest()
        assert seal == f"sha256-1:{digest}"
        before = seal
