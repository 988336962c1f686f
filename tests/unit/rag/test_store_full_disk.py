"""A full disk ends a transaction whole, in words, and leaves the file in order."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from protocol.errors import Unavailable
from rag.store import Store


def write(store: Store, *values: str, then: Exception | None = None) -> None:
    with store.writing():
        for at, value in enumerate(values):
            store.set_meta(f"value {at}", value)
        if then:
            raise then


def test_a_full_disk_is_said_and_nothing_of_the_transaction_stays(tmp_path: Path) -> None:
    store = Store(tmp_path / "record.sqlite")
    pages = store.one("PRAGMA page_count")
    store.rows(f"PRAGMA max_page_count = {pages + 1}")  # as if the disk ended here
    with pytest.raises(Unavailable, match="disk is full") as told:
        write(store, "1", "x" * 100_000)
    assert told.value.next_step
    store.rows(f"PRAGMA max_page_count = {pages + 1000}")
    with store.writing():  # no transaction was left open
        store.set_meta("second", "2")
    assert (store.meta("value 0"), store.meta("second")) == (None, "2")
    store.close()


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    store = Store(tmp_path / "record.sqlite")
    with pytest.raises(ValueError, match="ours"):
        write(store, "1", then=ValueError("ours"))
    with pytest.raises(sqlite3.IntegrityError), store.writing():
        store.run("INSERT INTO meta VALUES ('a', '1'), ('a', '2')")
    assert store.meta("value 0") is None
    store.close()
