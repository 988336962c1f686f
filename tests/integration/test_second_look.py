"""Failing quotations are asked for once more, and a second reader only ever adds notes."""

from __future__ import annotations

import json

import pytest

from bench.house import open_house
from protocol.answers import GREEN, RED, ItemKind
from worker.engine.scripted import Line

WHEN = "When did Northgate first know of the leak?"
SPOILED = "The lease says “Landlord shall be liable for interruption of services.”"


@pytest.fixture(scope="module")
def root(sample_root):
    """The sample matter."""
    return sample_root


def playing(first, repair=None, review='{"unsupported": [], "left_out": []}'):
    """A script that knows the three calls apart by their standing instruction."""

    def said(request):
        head = request.prompt.system
        if "Write the same reply again" in head:
            return Line(text=repair(request) if callable(repair) else repair or first)
        if "as the other side" in head or "other side's lawyer" in head:
            return Line(text=review)
        return Line(text=first)

    return said


def number_of(request, words):
    """The number under which a sentence stands in a prompt."""
    return next(n for n, block in enumerate(request.prompt.record, start=1) if words in block)


def calls(house, words):
    return [one for one in house.engine.asked if words in one.prompt.system]


async def test_a_failing_quotation_is_asked_for_once_with_the_records_words(root):
    def repair(request):
        return f"The lease says [[{number_of(request, 'gross negligence')}]]"

    async with open_house(root, playing(SPOILED, repair)) as house:
        answer = await house.answer(house.ask(WHEN))
        assert len(calls(house, "Write the same reply again")) == 1
    (quote,) = [item for item in answer.items if item.kind is ItemKind.QUOTE]
    assert quote.verdict in GREEN
    assert "gross negligence" in answer.text
    assert any("asked for once more" in note for note in answer.notes)


async def test_what_still_fails_is_shown_failing(root):
    async with open_house(root, playing(SPOILED)) as house:
        answer = await house.answer(house.ask(WHEN))
        assert len(calls(house, "Write the same reply again")) == 1
    (quote,) = [item for item in answer.items if item.kind is ItemKind.QUOTE]
    assert quote.verdict in RED
    assert any("still not as in the record" in note for note in answer.notes)


async def test_a_sound_reply_is_not_asked_for_again(root):
    async with open_house(root, playing("It was early: [[1]]")) as house:
        await house.answer(house.ask(WHEN))
        assert not calls(house, "Write the same reply again")


async def test_the_second_reader_adds_notes_and_changes_no_mark(root):
    reply = "It was early: [[1]] Northgate surely did not care."
    review = json.dumps({"unsupported": [2], "left_out": [2]})
    async with open_house(root, playing(reply, review=review)) as house:
        answer = await house.answer(house.ask(WHEN))
    async with open_house(root, playing(reply), second_reading=False) as house:
        quiet = await house.answer(house.ask(WHEN))
        assert not calls(house, "other side's lawyer")
    assert answer.text == quiet.text
    assert [item.verdict for item in answer.items] == [item.verdict for item in quiet.items]
    notes = [note for note in answer.notes if note.startswith("Second reading by the same model")]
    assert len(notes) == 2
    assert "surely did not care" in notes[0]
    assert "left out, and it may hurt" in notes[1]


@pytest.mark.parametrize(
    "review",
    ["APPROVED", '{"unsupported": [99], "left_out": []}', "{}", '{"unsupported": "all"}', "[1, 2]"],
)
async def test_a_reader_that_talks_nonsense_is_said_to(root, review):
    async with open_house(root, playing("It was early: [[1]]", review=review)) as house:
        answer = await house.answer(house.ask(WHEN))
    assert any(
        note.startswith("Second reading by the same model: nothing") for note in answer.notes
    )


async def test_a_small_model_is_never_asked_to_read(root):
    script = [Line(text=json.dumps({"order": [1]}))]
    async with open_house(root, script, composition="extractive") as house:
        await house.answer(house.ask(WHEN))
        assert len(house.engine.asked) == 1
