"""What was read, what was not, and every passage in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.coverage import count_passages, coverage, every_passage, page_ranges
from rag.ingest import ingest
from rag.intake import take_in
from rag.removal import quarantine


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([], ""), ([3], "3"), ([31, 32, 33], "31-33"), ([5, 1, 2, 9, 2], "1-2, 5, 9")],
)
def test_pages_are_said_as_people_write_them(numbers: list[int], said: str) -> None:
    assert page_ranges(numbers) == said


@given(st.sets(st.integers(min_value=1, max_value=60)))
def test_page_ranges_say_exactly_the_pages(numbers: set[int]) -> None:
    found: set[int] = set()
    for part in page_ranges(list(numbers)).split(", "):
        if part:
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    assert found == numbers


def test_what_could_not_be_read_is_counted_and_named(empty_matter, embedder, tmp_path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ftwo\fthree")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    ingest(empty_matter, embedder=embedder, folder=folder)
    with empty_matter.store.writing():
        empty_matter.store.run(
            "UPDATE pages SET reading = 'unreadable', reason = 'an image'"
            " WHERE number > 1 AND document IN (SELECT id FROM documents WHERE name = 'a.txt')"
        )
    found = coverage(empty_matter, searched="all pages")
    assert (found.documents, found.documents_read, found.pages_read) == (2, 1, 1)
    assert found.searched == "all pages"
    assert ("a.txt", "2-3") in {(each.name, each.pages) for each in found.unread}
    assert {each.name for each in found.unread} == {"a.txt", "broken.pdf"}
    assert all(each.reason for each in found.unread)


def test_a_file_that_still_waits_is_not_counted_as_read(empty_matter, tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    take_in(empty_matter, folder)
    found = coverage(empty_matter)
    assert (found.documents, found.documents_read) == (1, 0)
    assert found.unread[0].reason == "not read yet"


def test_a_selection_counts_itself_alone(fill) -> None:
    matter = fill({"a.txt": "one\ftwo", "b.txt": "three"})
    only = [info.id for info in matter.documents() if info.name == "a.txt"]
    found = coverage(matter, documents=only)
    assert (found.documents, found.pages) == (1, 2)


def test_a_quarantined_document_is_not_part_of_the_record(fill) -> None:
    matter = fill({"a.txt": "one", "b.txt": "two"})
    quarantine(matter, matter.documents()[0].id)
    assert coverage(matter).documents == 1


@pytest.fixture
def long(fill):
    paper = "\n\n".join(f"{n}. Clause number {n} says something of its own." for n in range(1, 451))
    return fill({"long.txt": paper, "short.txt": "Only this."})


def test_every_passage_comes_once_and_in_order(long) -> None:
    order = sorted((info.id for info in long.documents()), reverse=True)
    found = list(every_passage(long, order))
    assert len(found) == count_passages(long, order) == 451
    assert len({passage.id for passage in found}) == 451
    places = [(order.index(p.span.document), p.span.start) for p in found]
    assert places == sorted(places)


@pytest.mark.parametrize("stop", [1, 200, 201, 450, 451])
def test_it_goes_on_where_it_stopped(long, stop: int) -> None:
    order = [info.id for info in long.documents()]
    whole = list(every_passage(long, order))
    assert list(every_passage(long, order, after=whole[stop - 1].id)) == whole[stop:]
