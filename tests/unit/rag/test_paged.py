"""The page table always agrees with the form feeds, and offsets map to pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.record import PageInfo, Reading
from rag.loaders.parts import Draft, PageDraft
from rag.paged import PagedText, page_spans


def finished(*texts: str) -> PagedText:
    draft = Draft(kind="txt", pages=[PageDraft(text=text) for text in texts])
    return draft.finish(name="a_b.txt", original=None, parent=None, parent_at=None)


def test_a_table_that_does_not_agree_cannot_be_made() -> None:
    good = finished("one", "two")
    with pytest.raises(ValueError, match="form feeds"):
        PagedText(text="one two", pages=good.pages, kind="txt", title="", name="")


def test_pages_must_be_numbered_from_one() -> None:
    page = PageInfo(
        number=2,
        start=0,
        end=1,
        label=None,
        bates=None,
        reading=Reading.TEXT,
        confidence=None,
        readers_disagree=False,
        reason="",
    )
    with pytest.raises(ValueError, match="numbered"):
        PagedText(text="a", pages=(page,), kind="txt", title="", name="")


@given(st.lists(st.text(), min_size=1, max_size=6))
def test_any_pages_join_to_a_text_with_as_many_form_feeds(texts: list[str]) -> None:
    paged = finished(*texts)
    assert paged.text.count("\f") == len(texts) - 1
    assert page_spans(paged.text) == tuple((page.start, page.end) for page in paged.pages)
    for page, text in zip(paged.pages, texts, strict=True):
        assert len(paged.text[page.start : page.end]) == len(text)
    assert "\r" not in paged.text
    paged.text.encode("utf-8")  # no lone surrogate is left


@given(st.lists(st.text(alphabet="ab \n가", min_size=1), min_size=1, max_size=6), st.data())
def test_every_offset_lies_on_the_page_that_holds_it(texts: list[str], data: st.DataObject) -> None:
    paged = finished(*texts)
    offset = data.draw(st.integers(0, len(paged.text)))
    page = paged.page_at(offset)
    assert page.start <= offset <= page.end
    assert page.number == paged.text[:offset].count("\f") + 1


def test_offsets_outside_raise() -> None:
    with pytest.raises(IndexError):
        finished("abc").page_at(4)


def test_the_title_is_the_name_without_suffix() -> None:
    assert finished("x").title == "a b"


def test_text_is_not_shown_when_printed() -> None:
    assert "secret" not in repr(finished("secret words"))
