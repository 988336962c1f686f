"""Filters through the pipeline: a reply stays inside, says so, and is not taken for the whole."""

from __future__ import annotations

import contextlib

import pytest

from bench.house import CODE, YOU
from bench.house import open_house as house_of
from protocol.errors import BadRequest
from protocol.jobs import Ask, Chronology, Extract, Find, Summarize, WriteDraft
from worker.engine.scripted import Line


@pytest.fixture
async def open_house(sample_root):
    """Opens a house around a script; everything is closed afterwards."""
    async with contextlib.AsyncExitStack() as stack:

        async def opening(*script, **options):
            return await stack.enter_async_context(house_of(sample_root, script, **options))

        yield opening


async def titles_of(house, answer):
    """The titles of the documents in which a reply's items stand."""
    known = {info.id: info.title for info in await house.documents()}
    return {known[place.document] for item in answer.items for place in item.places}


async def test_find_stays_in_the_file_and_says_so(open_house):
    house = await open_house()
    whole = await house.answer(Find(matter=CODE, text="rent", key=house.key()))
    part = await house.answer(Find(matter=CODE, text="rent in:Lease", key=house.key()))
    assert {row[0] for row in part.table.rows} == {"Lease"}
    assert {row[0] for row in whole.table.rows} > {"Lease"}
    assert part.question == "rent in:Lease"
    assert part.coverage.searched.startswith("1 of 16 documents by the filter in:Lease: ")
    assert "Only 1 of 16 documents by the filter in:Lease were looked at." in part.notes
    assert not [note for note in whole.notes if "filter" in note]


async def test_silence_inside_a_filter_is_no_absence_from_the_record(open_house):
    house = await open_house()
    answer = await house.answer(Find(matter=CODE, text="asbestos in:Lease", key=house.key()))
    assert "No page says this." not in answer.text
    assert "the others were not searched" in answer.text


async def test_near_in_meaning_stays_inside_too(open_house):
    house = await open_house()
    answer = await house.answer(
        Find(matter=CODE, text="who pays for the leaking roof in:Lease", key=house.key())
    )
    assert await titles_of(house, answer) <= {"Lease"}


async def test_a_question_is_answered_from_the_filtered_documents_alone(open_house):
    house = await open_house(
        Line(text="[[1]] [[2]] [[3]] [[4]] [[5]] [[6]]"), reads_ahead=True, second_reading=False
    )
    request = Ask(
        matter=CODE, conversation="c", question="What is the rent? in:Lease", key=house.key()
    )
    answer = await house.answer(request)
    assert await titles_of(house, answer) == {"Lease"}
    assert "by the filter in:Lease" in answer.coverage.searched


async def test_a_question_with_nothing_inside_says_where_it_looked(open_house):
    house = await open_house(Line(text="[[1]]"))
    request = Ask(
        matter=CODE, conversation="c", question="What is the rent? from:2090", key=house.key()
    )
    answer = await house.answer(request)
    assert answer.text == "The documents searched do not say; the others were not searched."
    assert answer.coverage.documents == 0


@pytest.mark.parametrize("kind", [Extract, Chronology, Summarize])
async def test_work_over_the_record_stays_inside(open_house, kind):
    house = await open_house(composition="extractive")
    given = {"what": "dates"} if kind is Extract else {}
    request = kind(matter=CODE, only="in:Lease", key=house.key(), **given)
    answer = await house.answer(request)
    assert await titles_of(house, answer) == {"Lease"}
    assert answer.question.endswith("in:Lease")
    assert "1 of 16 documents by the filter in:Lease" in answer.coverage.searched
    assert any(note.startswith("Only 1 of 16") for note in answer.notes)


async def test_a_draft_stays_inside(open_house):
    house = await open_house(composition="extractive")
    request = WriteDraft(matter=CODE, form="facts", about="rent in:Lease", key=house.key())
    answer = await house.answer(request)
    assert await titles_of(house, answer) <= {"Lease"}
    assert any(note.startswith("Only 1 of 16") for note in answer.notes)


async def test_days_leave_out_what_has_none_and_count_it(open_house):
    house = await open_house()
    answer = await house.answer(Find(matter=CODE, text="leak from:2024", key=house.key()))
    (note,) = [note for note in answer.notes if note.startswith("Only ")]
    assert "Left out because their day is not known: " in note


@pytest.mark.parametrize(
    "request_of",
    [
        lambda key: Find(matter=CODE, text="rent in:nothing-like-it", key=key),
        lambda key: Find(matter=CODE, text="in:Lease", key=key),
        lambda key: Ask(matter=CODE, conversation="c", question="from:yesterday ok?", key=key),
        lambda key: Extract(matter=CODE, what="dates", only="Lease", key=key),
        lambda key: Chronology(matter=CODE, only="class:secret", key=key),
        lambda key: WriteDraft(matter=CODE, form="facts", about="x from:99", key=key),
    ],
)
async def test_a_wrong_filter_is_refused_before_it_becomes_a_job(open_house, request_of):
    house = await open_house()
    with pytest.raises(BadRequest) as refused:
        await house.work.submit(request_of(house.key()), YOU)
    assert refused.value.next_step
    assert await house.queue.jobs(CODE) == ()
