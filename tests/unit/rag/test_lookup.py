"""`find`: every place, why it was found, and what silence proves."""

from __future__ import annotations

import unicodedata

import pytest

from rag.lookup import LookupKind, find
from rag.retrieve import Filters

FILES = {
    "lease.txt": "LEASE\n\nThe rent is $1,200,000 a year.\n\f"
    "Signed on January 9, 2024 by D. Reeves.",
    "mail.txt": "From: Samuel Osei\n\nWe paid 1.2 million. Reeves, Dana saw the leak.\n"
    "Terminated on 9 January 2024.",
    "letter.txt": "천장에서 누수를 발견했습니다. 2024년 1월 9일",
}


def words(found) -> list[str]:
    return [match.words for match in found.matches]


def test_the_words_stand_where_the_span_says(fill) -> None:
    matter = fill(FILES)
    for text in ("rent", "January 9, 2024", "$1.2 million", "누수", "Dana Reeves"):
        for match in find(matter, text).matches:
            whole = matter.text(match.span.document)
            assert whole[match.span.start : match.span.end] == match.words
            around = match.hit.passage
            assert whole[around.span.start : around.span.end] == around.text
            assert match.words in around.text
            page = matter.pages(match.span.document)[match.span.page - 1]
            assert page.start <= match.span.start <= page.end


def test_a_day_is_found_however_it_is_written(fill) -> None:
    found = find(fill(FILES), "2024-01-09")
    assert found.kind is LookupKind.DATE
    assert sorted(words(found)) == ["2024년 1월 9일", "9 January 2024", "January 9, 2024"]


def test_an_amount_is_found_by_value(fill) -> None:
    found = find(fill(FILES), "$1,200,000")
    assert found.kind is LookupKind.AMOUNT
    assert sorted(words(found)) == ["$1,200,000", "1.2 million"]


def test_a_name_is_found_last_name_first(fill) -> None:
    assert words(find(fill(FILES), "Dana Reeves")) == ["Reeves, Dana"]


def test_words_in_another_order_are_offered_only_when_nothing_stands_exactly_so(fill) -> None:
    matter = fill(FILES)
    assert find(matter, "year rent").kind is LookupKind.WORDS
    assert find(matter, "rent is").kind is LookupKind.PHRASE
    assert find(matter, '"year rent"').matches == ()


def test_absence_is_counted(fill) -> None:
    found = find(fill(FILES), "asbestos")
    assert found.total == 0
    assert found.kind is LookupKind.PHRASE
    assert found.coverage.searched == "searched 4 of 4 pages"


def test_unreadable_pages_are_named_beside_an_absence(fill) -> None:
    matter = fill(FILES)
    lease = next(info for info in matter.documents() if info.name == "lease.txt")
    with matter.store.writing():
        matter.store.run(
            "UPDATE pages SET reading = 'unreadable', reason = 'only an image'"
            " WHERE document = ? AND number = 2",
            (lease.id,),
        )
    found = find(matter, "asbestos")
    assert found.coverage.searched == "searched 3 of 4 pages, 1 unreadable"
    assert [(each.name, each.pages) for each in found.coverage.unread] == [("lease.txt", "2")]


def test_a_bates_range_gives_its_pages(fill) -> None:
    matter = fill(FILES)
    lease = next(info for info in matter.documents() if info.name == "lease.txt")
    with matter.store.writing():
        matter.store.run(
            "UPDATE pages SET bates = 'NG-00021' || number WHERE document = ?", (lease.id,)
        )
    assert [match.span.page for match in find(matter, "NG-000211-12").matches] == [1, 2]
    assert [match.span.page for match in find(matter, "ng 000212").matches] == [2]
    assert find(matter, "NG-000213").total == 0
    (match,) = find(matter, "Reeves", filters=Filters(names=("lease",))).matches
    assert match.hit.why == ("the words", "Bates NG-000212")


def test_decomposed_hangul_is_found_by_composed_words(fill) -> None:
    matter = fill({"nfd.txt": unicodedata.normalize("NFD", "천장 누수 발견")})
    assert find(matter, "누수").total == 1
    assert find(matter, unicodedata.normalize("NFD", "누수")).total == 1


def test_the_limit_cuts_the_list_and_not_the_count(fill) -> None:
    matter = fill({"many.txt": "leak " * 50})
    found = find(matter, "leak", limit=3)
    assert (len(found.matches), found.total) == (3, 50)


def test_a_filter_limits_the_search_and_its_proof(fill) -> None:
    found = find(fill(FILES), "leak", filters=Filters(names=("lease",)))
    assert found.total == 0
    assert found.coverage.searched == "searched 2 of 2 pages"


@pytest.mark.parametrize("text", ["", "   ", '""', "*", "(", "a" * 3000])
def test_odd_input_finds_nothing_and_breaks_nothing(fill, text: str) -> None:
    assert find(fill({"a.txt": "plain words"}), text).total == 0
