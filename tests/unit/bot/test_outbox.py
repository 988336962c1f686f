"""The outbox: a cursor that never goes back, durable, and without words."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.outbox import Outbox
from protocol.errors import Damaged, Unavailable
from protocol.ids import JobId

JOB, OTHER = JobId("J-0DV3K9Q2A-7F3K"), JobId("J-0DV3K9Q2B-0000")


@pytest.fixture(params=["memory", "file"])
def outbox(request, tmp_path):
    made = Outbox(None if request.param == "memory" else tmp_path / "deep" / "outbox.sqlite")
    yield made
    made.close()


def test_nothing_is_shown_twice(outbox):
    assert outbox.after("c", JOB) == 0
    assert outbox.shown("c", JOB, 1)
    assert outbox.shown("c", JOB, 2, message="m2")
    assert not outbox.shown("c", JOB, 2)
    assert not outbox.shown("c", JOB, 1, message="old")
    assert outbox.after("c", JOB) == 2
    assert outbox.message("c", JOB) == "m2"


def test_channels_and_jobs_are_apart(outbox):
    outbox.shown("c", JOB, 3)
    assert outbox.after("d", JOB) == 0
    assert outbox.after("c", OTHER) == 0
    assert outbox.message("d", JOB) == ""


def test_a_message_id_stays_until_a_new_one_comes(outbox):
    outbox.shown("c", JOB, 1, message="m1")
    outbox.shown("c", JOB, 2)
    assert outbox.message("c", JOB) == "m1"


def test_unfinished_jobs_are_known(outbox):
    outbox.expect("c", OTHER)
    outbox.expect("c", JOB)
    outbox.expect("c", JOB)
    outbox.shown("c", JOB, 1)
    assert outbox.unfinished("c") == [JOB, OTHER]
    outbox.shown("c", JOB, 2, last=True)
    assert outbox.unfinished("c") == [OTHER]
    assert outbox.unfinished("d") == []


def test_an_old_event_does_not_reopen_a_job(outbox):
    outbox.shown("c", JOB, 5, last=True)
    outbox.shown("c", JOB, 4)
    outbox.expect("c", JOB)
    assert outbox.unfinished("c") == []


def test_it_is_there_after_the_process_was_killed(tmp_path):
    file = tmp_path / "outbox.sqlite"
    code = (
        "import os, signal, sys; from pathlib import Path; from bot.outbox import Outbox\n"
        f"Outbox(Path(sys.argv[1])).shown('c', {JOB!r}, 7, message='m', last=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    again = Outbox(file)
    assert (again.after("c", JOB), again.message("c", JOB)) == (7, "m")
    again.close()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_only_its_owner_may_read_it(tmp_path):
    Outbox(tmp_path / "new" / "outbox.sqlite").close()
    assert stat.S_IMODE((tmp_path / "new" / "outbox.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_foreign_errors_are_translated(tmp_path):
    file = tmp_path / "outbox.sqlite"
    file.write_bytes(b"this is no database at all, only words" * 99)
    with pytest.raises(Damaged):
        Outbox(file)
    outbox = Outbox(None)
    outbox.close()
    with pytest.raises(Damaged):  # sqlite3's ProgrammingError: used after close
        outbox.after("c", JOB)
    with pytest.raises(Unavailable):
        Outbox(tmp_path)


@given(st.lists(st.tuples(st.sampled_from("cd"), st.integers(min_value=1, max_value=9))))
def test_the_cursor_is_the_highest_number_shown(shown):
    outbox = Outbox(None)
    highest = {"c": 0, "d": 0}
    for channel, seq in shown:
        assert outbox.shown(channel, JOB, seq) == (seq > highest[channel])
        highest[channel] = max(highest[channel], seq)
    assert {channel: outbox.after(channel, JOB) for channel in "cd"} == highest
    outbox.close()
