"""Anchors show what a journal's own chain cannot: a cut end, a journal sealed anew or gone."""

from __future__ import annotations

import datetime as dt

import pytest

from protocol.errors import BadRequest, Damaged
from protocol.ids import MatterId, UserName
from worker.anchors import anchored, troubles
from worker.audit import Journal, path_of, verify

ONE, TWO = MatterId("M-7F3K"), MatterId("M-A1DR")


def seal(folder, matter, count, now, by="kim"):
    for _ in range(count):
        Journal(folder, matter).seal("job.accepted", by=UserName(by), now=now)


@pytest.fixture
def folder(tmp_path, noon):
    seal(tmp_path, ONE, 3, noon)
    seal(tmp_path, TWO, 2, noon)
    return tmp_path


def test_one_line_a_day_and_the_same_line_all_day(folder, noon):
    first = anchored(folder, noon)
    seal(folder, ONE, 1, noon)
    assert anchored(folder, noon + dt.timedelta(hours=5)) == first
    after = anchored(folder, noon + dt.timedelta(days=1))
    assert after.seal != first.seal
    assert after.heads[ONE][0] == 4
    assert "\n" not in after.line
    assert troubles(folder, first.line) == troubles(folder, after.line) == ()


def test_a_cut_end_is_found_although_the_chain_holds(folder, noon):
    line = anchored(folder, noon).line
    path = path_of(folder, ONE)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert verify(path).broken_at is None
    assert troubles(folder, line) == ("M-7F3K: 2 whole entries where 3 were anchored",)


def test_a_journal_sealed_anew_is_found_even_after_the_next_days_anchor(folder, noon):
    line = anchored(folder, noon).line
    path_of(folder, ONE).unlink()
    seal(folder, ONE, 5, noon, by="lee")
    anchored(folder, noon + dt.timedelta(days=1))
    assert troubles(folder, line) == ("M-7F3K: entry 3 is another one than was anchored",)


def test_a_journal_that_is_gone_is_found(folder, noon):
    anchored(folder, noon)
    path_of(folder, TWO).unlink()
    assert troubles(folder) == ("M-A1DR: its journal is gone; 2 entries were anchored",)


def test_anchors_made_anew_do_not_match_the_line_kept_elsewhere(folder, noon):
    line = anchored(folder, noon).line
    for path in folder.iterdir():
        path.unlink()
    seal(folder, ONE, 3, noon, by="lee")
    anchored(folder, noon)
    assert troubles(folder) == ()
    assert "anchors were changed" in troubles(folder, line)[0]


def test_every_changed_byte_of_the_anchors_is_found(folder, noon):
    line = anchored(folder, noon).line
    anchored(folder, noon + dt.timedelta(days=1))
    path = folder / "anchors.txt"
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert troubles(folder, line), f"byte {at}"


def test_a_line_cut_off_by_a_crash_is_made_again(folder, noon):
    anchored(folder, noon)
    tomorrow = noon + dt.timedelta(days=1)
    made = anchored(folder, tomorrow)
    path = folder / "anchors.txt"
    path.write_bytes(path.read_bytes()[:-9])
    assert anchored(folder, tomorrow) == made
    with pytest.raises(BadRequest):
        troubles(folder, "no anchor")
    path.write_bytes(b"{}\n")
    with pytest.raises(Damaged):
        anchored(folder, tomorrow)
