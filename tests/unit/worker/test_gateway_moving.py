"""A file of the drop is closed by nobody while somebody reads or writes it.

Requests of one connection run at the same time, each on a thread. A descriptor that is closed under
a thread may be another file's by the time the thread uses it: of another matter, in the worst case.
"""

from __future__ import annotations

import os
import threading

import pytest

from protocol.ids import MatterId
from worker.gateway import moving
from worker.gateway.moving import Download, Upload

CODE = MatterId("M-7F3K")


@pytest.fixture
def matters(tmp_path):
    (tmp_path / CODE / "out").mkdir(parents=True)
    (tmp_path / CODE / "out" / "reply.md").write_bytes(b"words of a reply")
    return tmp_path


def upload(matters):
    return Upload(matters, CODE, "lease.pdf", most_bytes=1000)


class Held:
    """One of os's functions that begins, and ends when it is let."""

    def __init__(self, monkeypatch, name):
        self._real = getattr(os, name)
        self.begun, self.may_end = threading.Event(), threading.Event()
        monkeypatch.setattr(moving.os, name, self)

    def __call__(self, *args):
        self.begun.set()
        assert self.may_end.wait(60)
        return self._real(*args)


def close_waits(held, busy, close):
    """Whether `close` is over only after `busy`, which it meets in the middle."""
    order = []
    first = threading.Thread(target=lambda: (busy(), order.append("busy")))
    second = threading.Thread(target=lambda: (close(), order.append("close")))
    first.start()
    assert held.begun.wait(60)
    second.start()
    second.join(0.2)  # time enough to be wrong in; right, it has nothing to do with it
    held.may_end.set()
    first.join(60)
    second.join(60)
    return order == ["busy", "close"]


def test_a_download_is_not_closed_under_a_read(matters, monkeypatch):
    file = Download(matters, CODE, "reply.md")
    held = Held(monkeypatch, "pread")
    assert close_waits(held, lambda: file.read(0, 100), file.close)


def test_an_upload_is_not_closed_under_a_write(matters, monkeypatch):
    file = upload(matters)
    held = Held(monkeypatch, "pwrite")
    assert close_waits(held, lambda: file.write(0, b"abc"), file.discard)


def test_a_closed_download_reads_nobody_elses_file(matters, tmp_path):
    file = Download(matters, CODE, "reply.md")
    file.close()
    (tmp_path / "other").write_bytes(b"words of another matter")
    with (tmp_path / "other").open("rb") as other:  # takes the number that came free
        with pytest.raises(OSError, match="closed"):
            file.read(0, 100)
        file.close()  # nor does it close it
        assert other.read() == b"words of another matter"


def test_a_closed_upload_writes_into_nobody_elses_file(matters, tmp_path):
    file = upload(matters)
    file.discard()
    with (tmp_path / "other").open("wb") as other:
        for late in (lambda: file.write(0, b"abc"), lambda: file.resize(7), file.sync, file.whole):
            with pytest.raises(OSError, match="closed"):
                late()
        other.write(b"x")
    assert (tmp_path / "other").read_bytes() == b"x"


def test_the_size_that_is_recorded_is_that_of_the_file(matters):
    file = upload(matters)
    file.write(3, b"def")
    file.write(0, b"abc")
    file.size_bytes = 3  # as two writes at the same time may leave it
    file.whole()
    assert file.size_bytes == 6
    file.place()
    assert (matters / CODE / "inbox" / "lease.pdf").read_bytes() == b"abcdef"
