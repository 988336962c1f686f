"""The sample matter's awkward papers: what is hidden, privileged, missing or attached is handled.

The key's ``handled`` part says what must become of each; no model is asked.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from bench.house import CODE, SAMPLE, open_house
from protocol.answers import GREEN
from protocol.jobs import Chronology, Extract, Find, Summarize
from protocol.record import DocumentClass
from rag.matters import OpenMatter

KEY = json.loads((SAMPLE.parent / "answer-key.json").read_text("utf-8"))
INSIDE = "Clara Hartwell told us that she saw water on January 5, 2024 and called nobody."


def handled(kind):
    found = [one for one in KEY["handled"] if one["kind"] == kind]
    assert found
    return found


@pytest.fixture
def record(sample_root):
    with OpenMatter(sample_root / "matters" / CODE) as held:
        yield held


@pytest.fixture(scope="module")
def by_name(sample_root):
    with OpenMatter(sample_root / "matters" / CODE) as held:
        return {info.name: info for info in held.documents()}


def asked(root, make):
    async def run():
        async with open_house(root) as house:
            return await house.answer(make(house.key()))

    return asyncio.run(run())


def test_every_file_and_attachment_is_a_document_with_the_pages_of_the_key(by_name):
    assert {name: info.pages for name, info in by_name.items()} == KEY["documents"]


def test_attachments_have_the_message_as_their_parent(by_name):
    for one in handled("attachment"):
        parent = KEY["attachments"][one["document"]]
        assert by_name[one["document"]].parent == by_name[parent].id


def test_hidden_words_are_findings_and_stand_in_no_text(record, by_name):
    kinds = {"hidden_sheet": "hidden_sheet"}
    for one in [*handled("hidden_text"), *handled("hidden_sheet"), *handled("tracked_deletion")]:
        document = by_name[one["document"]].id
        found = record.store.rows(
            "SELECT kind, page, hidden FROM findings WHERE document = ?", (document,)
        )
        fitting = [row for row in found if one["words"] in row["hidden"]]
        assert [row["page"] for row in fitting] == [one["page"]]
        assert fitting[0]["kind"] == kinds.get(one["kind"], "hidden_text")
        assert one["words"] not in record.text(document)


def test_missing_stamps_are_said(record, by_name):
    for one in handled("gap"):
        said = record.store.one(
            "SELECT warnings FROM documents WHERE id = ?", (by_name[one["document"]].id,)
        )
        assert f"to {one['words']} (page {one['page']})" in said


def test_the_memo_is_flagged_by_its_own_marking(by_name):
    marked = [info for info in by_name.values() if info.privileged]
    assert [info.name for info in marked] == [handled("privileged")[0]["document"]]
    assert marked[0].document_class is DocumentClass.WORK_PRODUCT


@pytest.mark.parametrize(
    "make",
    [
        lambda key: Chronology(matter=CODE, key=key),
        lambda key: Extract(matter=CODE, what="all", key=key),
        lambda key: Summarize(matter=CODE, key=key),
    ],
    ids=["chronology", "extract", "summarize"],
)
def test_no_reply_about_the_record_is_made_from_the_memo(sample_root, make):
    answer = asked(sample_root, make)
    assert "January 5" not in answer.text
    assert any("lawyers' own papers: Privileged Memo" in note for note in answer.notes)


def test_the_memo_is_found_when_asked_for_and_never_green(sample_root, by_name):
    memo = by_name[handled("privileged")[0]["document"]].id
    named = asked(sample_root, lambda key: Chronology(matter=CODE, documents=(memo,), key=key))
    found = asked(sample_root, lambda key: Find(matter=CODE, text=INSIDE, key=key))
    for answer in (named, found):
        mine = [one for one in answer.items for place in one.places if place.span.document == memo]
        assert mine
        assert not [one for one in mine if one.verdict in GREEN]
        assert any("lawyer's own notes" in one.reason for one in mine)


def test_a_question_is_not_answered_from_the_memo(sample_root):
    async def run():
        async with open_house(sample_root, composition="extractive") as house:
            return await house.answer(house.ask("When did Clara Hartwell first see the water?"))

    answer = asyncio.run(run())
    assert "January 5" not in answer.text
    assert not [place for one in answer.items for place in one.places if "Memo" in place.title]
