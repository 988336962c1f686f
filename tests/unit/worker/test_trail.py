"""The end of a matter's journal as it is shown: what holds, what does not, nothing of others."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from protocol.audit import AuditEntry
from protocol.ids import JobId, MatterId, UserName
from worker.anchors import anchored
from worker.audit import Entry, Journal, bytes_now, path_of
from worker.trail import trail

ONE, TWO = MatterId("M-7F3K"), MatterId("M-A1DR")
JOB = JobId("J-0DV3K9Q2A-7F3K")


@pytest.fixture
def folder(tmp_path, noon):
    for matter, count in ((ONE, 5), (TWO, 3)):
        for number in range(count):
            Journal(tmp_path, matter).seal(
                "job.accepted",
                by=UserName("kim"),
                through=UserName("helper") if number == 1 else None,
                now=noon + dt.timedelta(minutes=number),
                job=JOB,
                details={"kind": "ask", "request": "ab" * 32},
            )
    return tmp_path


def lines_of(folder, matter):
    return path_of(folder, matter).read_bytes().splitlines(keepends=True)


def test_the_last_entries_in_their_order_with_who_and_on_what(folder, noon):
    found = trail(folder, ONE, 2)
    assert [entry.n for entry in found.entries] == [4, 5]
    assert (found.total, found.broken_at, found.troubles) == (5, None, ())
    last = found.entries[-1]
    assert (last.what, last.by, last.job, last.at) == (
        "job.accepted",
        "kim",
        JOB,
        noon + dt.timedelta(minutes=4),
    )
    assert all(entry.holds for entry in found.entries)
    assert trail(folder, ONE, 200).entries[1].through == "helper"
    assert (found.anchor, found.anchored) == ("", 0)
    made = anchored(folder, noon)
    assert (trail(folder, ONE, 1).anchor, trail(folder, ONE, 1).anchored) == (made.line, 5)


def test_from_the_line_that_was_changed_nothing_holds(folder):
    changed = [*lines_of(folder, ONE)]
    changed[2] = changed[2].replace(b'"kim"', b'"lee"')
    path_of(folder, ONE).write_bytes(b"".join(changed))
    found = trail(folder, ONE, 4)
    assert [(entry.n, entry.holds) for entry in found.entries] == [
        (2, True),
        (3, False),
        (4, False),
        (5, False),
    ]
    assert found.broken_at == 3
    assert found.reason == "an entry does not match its seal"


def test_a_line_that_is_no_entry_keeps_its_place_and_shows_none_of_its_words(folder):
    lines = lines_of(folder, ONE)
    lines[3] = b"Ms. Reeves knew\n"
    path_of(folder, ONE).write_bytes(b"".join(lines))
    found = trail(folder, ONE, 3)
    assert [(entry.n, entry.at is None) for entry in found.entries] == [
        (3, False),
        (4, True),
        (5, False),
    ]
    assert "Reeves" not in repr(found)


@pytest.mark.parametrize(
    "forged",
    [
        {"what": "Reeves knew of the leak"},
        {"details": {"kind": "Reeves knew of the leak"}},
        {"details": {f"n{number}": "Reeves" * 20 for number in range(200)}},
    ],
)
def test_words_that_somebody_put_into_an_entry_are_not_shown(folder, forged):
    lines = lines_of(folder, ONE)
    entry = msgspec.structs.replace(msgspec.json.decode(lines[3], type=Entry), **forged)
    lines[3] = msgspec.json.encode(entry) + b"\n"
    path_of(folder, ONE).write_bytes(b"".join(lines))
    found = trail(folder, ONE, 20)
    assert found.broken_at == 4
    assert found.entries[3] == AuditEntry(n=4, holds=False)
    assert "Reeves" not in repr(found)


def test_a_cut_end_is_told_against_the_anchor_and_other_matters_are_not_named(folder, noon):
    anchored(folder, noon)
    for matter in (ONE, TWO):
        path_of(folder, matter).write_bytes(b"".join(lines_of(folder, matter)[:2]))
    found = trail(folder, ONE, 20)
    assert found.broken_at is None
    assert found.troubles == ("M-7F3K: 2 whole entries where 5 were anchored",)
    assert TWO not in repr(found)


def test_an_anchor_that_was_changed_is_said(folder, noon):
    anchored(folder, noon)
    anchors = folder / "anchors.txt"
    anchors.write_bytes(anchors.read_bytes().replace(b'"M-7F3K":[5', b'"M-7F3K":[4'))
    found = trail(folder, ONE, 20)
    assert found.troubles == ("anchor 1 is not as it was made",)
    assert found.anchor == ""


def test_no_journal_is_an_empty_one(folder):
    found = trail(folder, MatterId("M-B1RC"), 20)
    assert (found.entries, found.total, found.head, found.broken_at) == ((), 0, "", None)


def test_what_is_written_meanwhile_breaks_nothing(folder, monkeypatch):
    path = path_of(folder, ONE)

    def half_an_entry_later(asked):
        size = bytes_now(asked)
        with path.open("ab") as file:
            file.write(b'{"n":6,"at"')
        return size

    monkeypatch.setattr("worker.trail.audit.bytes_now", half_an_entry_later)
    found = trail(folder, ONE, 20)
    assert (found.total, found.broken_at) == (5, None)
    monkeypatch.undo()
    assert trail(folder, ONE, 20).broken_at == 6  # it stands there: a crash cut it off


def test_looking_changes_nothing(folder):
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    trail(folder, ONE, 20)
    assert before == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()
    }
