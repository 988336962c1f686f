"""Filters as people write them: what is kept, what is refused, and that nothing is dropped."""

from __future__ import annotations

import datetime as dt
import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import BadRequest
from protocol.filters import FILTER_WORDS
from protocol.record import DateOrder, DocumentClass
from rag.ingest import apply_manifest
from rag.lookup import find
from rag.retrieve import retrieve
from rag.scope import _READERS, only_filters, parse, stretch

FILES = {
    "Lease.txt": "The boiler is kept by the landlord.",
    "Supply Agreement 2026-01-20.txt": "The boiler of the plant.",
    "kim/2026-02-03 letter.txt": "The boiler broke.",
    "memo.txt": "Privileged work product: the boiler is our problem.",
    "2026-03-01 요금표.txt": "보일러 요금",
}


@pytest.fixture
def matter(fill):
    filled = fill(FILES)
    filled.set_manifest(
        msgspec.structs.replace(
            filled.manifest,
            custodians={"kim/*": "Kim Minjun", "Lease.txt": "Records Office"},
            classes={"memo.txt": DocumentClass.WORK_PRODUCT},
        )
    )
    apply_manifest(filled)
    return filled


def names(matter, text):
    inside = set(parse(text, matter).documents)
    return {info.name for info in matter.documents() if info.id in inside}


# What is written, and the files it leaves in.
LEAVES = [
    ("boiler in:Lease.txt", {"Lease.txt"}),
    ("boiler in:lease", {"Lease.txt"}),
    ("boiler IN:Lease,", {"Lease.txt"}),
    ('in:"Supply Agreement" boiler', {"Supply Agreement 2026-01-20.txt"}),
    ("in:“Supply Agreement” boiler", {"Supply Agreement 2026-01-20.txt"}),
    ("boiler in:lease file:letter", {"Lease.txt", "kim/2026-02-03 letter.txt"}),
    ("boiler in:kim/*", {"kim/2026-02-03 letter.txt"}),
    ("파일:요금표 보일러", {"2026-03-01 요금표.txt"}),
    ("boiler custodian:kim", {"kim/2026-02-03 letter.txt"}),
    ('boiler custodian:"records office"', {"Lease.txt"}),
    ("boiler class:work_product", {"memo.txt"}),
    ("boiler class:Work-Product", {"memo.txt"}),
    ("boiler from:2026-02-03", {"kim/2026-02-03 letter.txt", "2026-03-01 요금표.txt"}),
    ("boiler after:2026-02-03", {"2026-03-01 요금표.txt"}),
    ("boiler before:2026-02-03", {"Supply Agreement 2026-01-20.txt"}),
    ("boiler to:2026-02", {"Supply Agreement 2026-01-20.txt", "kim/2026-02-03 letter.txt"}),
    ("boiler on:2026-02", {"kim/2026-02-03 letter.txt"}),
    ('boiler on:"3 February 2026"', {"kim/2026-02-03 letter.txt"}),
    ("boiler from:2026-01 to:2026-02 custodian:kim", {"kim/2026-02-03 letter.txt"}),
    ("boiler from:2027", set()),
    ("보일러 부터:2026년3월 까지:2026.3.31", {"2026-03-01 요금표.txt"}),
    ("boiler on:2026-02 undated:yes in:lease", {"Lease.txt"}),
]


@pytest.mark.parametrize(("text", "left"), LEAVES)
def test_a_filter_leaves_in_what_it_says(matter, text, left) -> None:
    assert names(matter, text) == left
    assert parse(text, matter).words.split()[0] in {"boiler", "보일러"}


# What is written, and what the refusal says of it.
REFUSED = [
    ("boiler in:Nothing.pdf", "no document of this matter"),
    ("boiler in:", None),
    ('boiler in:""', "nothing stands behind"),
    ("boiler from:kim@example.com", "takes a day"),
    ("boiler from:2026-13", "takes a day"),
    ("boiler from:2026-02-30", "takes a day"),
    ("boiler from:0000", "takes a day"),
    ("boiler from:03/04/2026", "two ways"),
    ("boiler from:2026-03 to:2026-01", "begins after it ends"),
    ("boiler before:0001", "leaves no day"),
    ("boiler custodian:Lee", "custodian"),
    ("boiler class:secret", "no such class"),
    ("boiler undated:maybe", "yes or no"),
    ("boiler -in:Lease.txt", "turned round"),
    ("boiler custodain:Kim", "no such filter"),
    ("boiler documents:Lease", "no such filter"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_a_filter_that_cannot_be_kept_is_refused_in_words(matter, text, said) -> None:
    if said is None:  # no value: two words of the question
        assert parse(text, matter).filters is None
        return
    with pytest.raises(BadRequest) as refused:
        parse(text, matter)
    assert said in refused.value.message
    for written in ("Nothing", "kim", "Lee", "secret", "maybe", "custodain"):
        assert written not in refused.value.message + refused.value.next_step


# Words with a colon that are no filters: the whole matter is searched for them.
NO_FILTERS = [
    'the words "in:Lease.txt" alone',
    "the words “from:Kim to:Lee” alone",
    "From: Kim\nTo: Lee\nre:lease at 10:30, see https://example.com/in:x",
    "a ratio of 3:1, Note:this",
    "",
]


@pytest.mark.parametrize("text", NO_FILTERS)
def test_other_words_with_a_colon_are_words(matter, text) -> None:
    scope = parse(text, matter)
    assert scope.filters is None
    assert scope.words == text
    assert scope.told == scope.note == ""


def test_an_inch_mark_opens_no_quotation(matter) -> None:
    assert parse('6" pipe in:Lease.txt or 8" pipe', matter).filters is not None


def test_names_are_the_same_composed_and_decomposed(matter) -> None:
    assert names(matter, unicodedata.normalize("NFD", "파일:요금표")) == {"2026-03-01 요금표.txt"}


def test_what_came_inside_a_mail_is_meant_with_it(fill) -> None:
    mail = (
        "From: a@example.com\nTo: b@example.com\nSubject: Leak\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="x"\n\n--x\n\nSee below.\n--x\n'
        'Content-Type: text/plain\nContent-Disposition: attachment; filename="note.txt"\n\n'
        "The boiler.\n--x--\n"
    )
    matter = fill({"leak.eml": mail, "other.txt": "The boiler."})
    assert names(matter, "boiler in:leak.eml") == {"leak.eml", "note.txt"}
    assert names(matter, "boiler in:note.txt") == {"note.txt"}


def test_it_says_how_much_is_left_in_and_what_has_no_day(matter) -> None:
    scope = parse("boiler from:2026-02", matter)
    assert scope.told == "2 of 5 documents by the filter from:2026-02"
    assert scope.undated == 2
    assert "2 of 5" in scope.note
    assert "not known: 2" in scope.note
    assert parse("boiler from:2026-02 undated:yes", matter).undated == 0


def test_a_file_that_gave_no_document_is_said_to_be_unread(matter) -> None:
    with matter.store.writing():
        matter.store.run(
            "put_file",
            {"name": "Broken.pdf", "original_sha256": "", "size_bytes": -1, "mtime_ns": -1},
        )
    with pytest.raises(BadRequest, match="could not be read"):
        parse("boiler in:Broken", matter)


def test_search_and_look_up_stay_inside(matter, embedder) -> None:
    scope = parse("boiler in:Lease.txt", matter)
    inside = set(scope.documents)
    hits = retrieve(matter, scope.words, embedder=embedder, filters=scope.filters)
    assert hits
    assert {hit.passage.span.document for hit in hits} <= inside
    found = find(matter, scope.words, filters=scope.filters)
    assert {match.span.document for match in found.matches} == inside
    assert found.coverage.documents == 1


def test_the_lawyers_own_papers_stay_out_unless_papers_are_named(matter, embedder) -> None:
    def found(text):
        scope = parse(text, matter)
        hits = retrieve(matter, scope.words, embedder=embedder, filters=scope.filters)
        ids = {hit.passage.span.document for hit in hits}
        return {info.name for info in matter.documents() if info.id in ids}

    assert "memo.txt" not in found("boiler from:2020 undated:yes")
    assert "memo.txt" in found("boiler class:notes")
    assert "memo.txt" in found("boiler in:memo")


def test_beside_filters_alone_no_words_are_taken(matter) -> None:
    assert only_filters(" ", matter).filters is None
    assert only_filters("in:Lease.txt", matter).filters is not None
    with pytest.raises(BadRequest, match="no other words"):
        only_filters("Lease.txt from:2026", matter)


@settings(max_examples=200, deadline=None)
@given(st.dates(dt.date(1000, 1, 1), dt.date(9998, 12, 31)))
def test_a_day_names_itself_its_month_and_its_year(day) -> None:
    assert stretch(day.isoformat(), DateOrder.UNSET) == (day, day)
    for shape in ("%Y-%m", "%Y"):
        first, last = stretch(day.strftime(shape), DateOrder.UNSET)
        assert first <= day <= last
        assert (last + dt.timedelta(days=1)).day == first.day == 1


def test_every_word_of_a_filter_is_read() -> None:
    """A word added to the table without a reader would be an error in the middle of a job."""
    assert set(FILTER_WORDS.values()) == set(_READERS)
