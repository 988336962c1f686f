"""Quotation indexes are made where documents are read, used by checks, and go with the document."""

from __future__ import annotations

import datetime as dt

import pytest

from protocol.answers import Verdict
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.ingest import ingest
from rag.matters import create
from verify import OpenRecord, check
from worker.quotation_index import make_missing

WORDS = "The landlord shall repair the riser within ten business days after written notice."


@pytest.fixture
def matter(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "Lease.txt").write_text(f"{WORDS}\n", "utf-8")
    opened = dt.datetime.now(dt.UTC)
    with create(tmp_path / "M-7F3K", Matter(id="M-7F3K", title="t", opened_at=opened)) as held:
        ingest(held, embedder=HashEmbedder(), folder=folder)
        yield held


def stored(matter):
    return sorted(matter.quotes.glob("*.idx"))


def test_one_index_a_document_and_none_twice(matter):
    assert make_missing(matter) == 1
    assert make_missing(matter) == 0
    assert len(stored(matter)) == 1


def test_a_check_uses_the_stored_index(matter, monkeypatch):
    make_missing(matter)

    def unwanted(*_):
        raise AssertionError("an index was built although one is stored")

    monkeypatch.setattr("verify.record.build_index", unwanted)
    (item,) = check(f"The Lease says “{WORDS}”", OpenRecord(matter)).findings
    assert item.verdict is Verdict.VERIFIED


def test_a_damaged_index_is_made_anew(matter):
    make_missing(matter)
    (path,) = stored(matter)
    path.write_bytes(path.read_bytes()[:40])
    assert make_missing(matter) == 1


def test_the_index_of_a_document_that_went_goes(matter):
    make_missing(matter)
    stray = matter.quotes / ("0" * 64 + ".idx")
    stray.write_bytes(b"x")
    make_missing(matter)
    assert not stray.exists()
