"""A followed folder tells of changes, and stops when told."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path

import pytest

from protocol.errors import NotFound
from protocol.ids import MatterId
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.ingest import ingest
from rag.matters import create
from rag.reading import DirectReader
from rag.watching import changes, is_far


def test_what_is_put_into_the_folder_is_taken_in(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "first.txt").write_text("There before anybody watched.\n")
    value = Matter(
        id=MatterId("M-0001"), title="A v. B", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )
    stop = threading.Event()
    timer = threading.Timer(60.0, stop.set)  # a watcher that hears nothing must not hang the suite
    timer.start()
    seen = []
    with create(tmp_path / "m", value, index_in_memory=True) as matter:
        for count in changes(folder, stop=stop, rest_ms=200):
            ingest(matter, embedder=HashEmbedder(), folder=folder, reader=DirectReader())
            seen.append((count, sorted(info.name for info in matter.documents())))
            if count == 0:
                (folder / "second.txt").write_text("Added while watched.\n")
            else:
                stop.set()
    timer.cancel()
    assert seen[0] == (0, ["first.txt"])
    assert seen[-1] == (1, ["first.txt", "second.txt"])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        next(changes(tmp_path / "nowhere", stop=threading.Event()))


def test_a_network_drive_is_known_by_the_table_of_mounts(tmp_path: Path) -> None:
    office = tmp_path / "office share"
    office.mkdir()
    whole = str(office.resolve()).replace(" ", "\\040")
    table = tmp_path / "mountinfo"
    table.write_text(
        "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"40 21 0:44 / {whole} rw,relatime shared:1 - cifs //server/share rw\nbroken line\n"
    )
    assert is_far(office, table)
    assert is_far(office / "under", table)
    assert not is_far(tmp_path, table)
    assert not is_far(office, tmp_path / "none")


def test_a_folder_may_be_followed_by_looking(tmp_path: Path) -> None:
    stop = threading.Event()
    timer = threading.Timer(60.0, stop.set)
    timer.start()
    seen = []
    for count in changes(tmp_path, stop=stop, rest_ms=100, polling=True):
        seen.append(count)
        if count == 0:
            (tmp_path / "second.txt").write_text("Added while watched.\n")
        else:
            stop.set()
    timer.cancel()
    assert seen[0] == 0
    assert seen[-1] >= 1
