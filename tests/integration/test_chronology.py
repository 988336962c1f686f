"""The chronology of the sample matter against its answer key; no model is asked."""

from __future__ import annotations

import json

import pytest

from bench.house import CODE, SAMPLE, open_house, read_matter
from protocol.answers import AMBER, GREEN, RED, ItemKind
from protocol.jobs import Chronology

KEY = json.loads((SAMPLE.parent / "answer-key.json").read_text("utf-8"))


def of_kind(kind):
    return [item for item in KEY["items"] if item["kind"] == kind]


@pytest.fixture(scope="module")
def root(sample_root):
    """The sample matter."""
    return sample_root


@pytest.fixture(scope="module")
def answer(root):
    """The chronology of the whole matter."""
    import asyncio

    async def made():
        async with open_house(root) as house:
            reply = await house.answer(Chronology(matter=CODE, key=house.key()))
            assert house.engine.asked == []
            return reply

    return asyncio.run(made())


def rows(answer):
    return [dict(zip(answer.table.columns, row, strict=True)) for row in answer.table.rows]


def squeezed(words):
    return "".join(words.split()).rstrip(".")


def test_every_planted_date_is_a_row(answer):
    dated = [row for row in rows(answer) if row["date"]]
    for item in of_kind("date"):
        words = squeezed(item["places"][0]["words"])
        assert any(words in squeezed(row["event"]) for row in dated), item["id"]


def test_rows_stand_in_the_order_of_their_dates_and_undated_ones_at_the_end(answer):
    years = [row for row in rows(answer) if row["precision"] == "day"]
    assert len(years) > 20
    places = [answer.table.rows.index(tuple(row.values())) for row in years]
    assert places == sorted(places)
    undated = [at for at, row in enumerate(rows(answer)) if row["precision"] == "undated"]
    assert undated
    assert min(undated) > max(places)
    events = [row["event"] for row in rows(answer)]
    first = next(at for at, words in enumerate(events) if "July 30, 2021" in words)
    last = next(at for at, words in enumerate(events) if "March 14, 2025" in words)
    assert first < last


def test_precision_and_role_are_said(answer):
    said = {(row["date"], row["precision"], row["role"]) for row in rows(answer)}
    assert ("6 May 2024", "day", "filed") in said
    assert ("16 January 2024", "day", "sent") in said
    assert ("23 January 2024", "day", "received") in said
    assert ("1 September 2021", "day", "effective") in said
    assert ("June 2022", "month", "event") in said
    assert ("19 February 2024", "before day", "event") in said
    assert ("9 January", "day without a year", "asked about") in said


@pytest.mark.parametrize("item", of_kind("contradiction"), ids=lambda item: item["id"])
def test_contradictions_stand_side_by_side(answer, item):
    sides = [row for row in rows(answer) if row["role"].startswith("conflict ")]
    together = {}
    for row in sides:
        together.setdefault(row["role"], []).append(squeezed(row["event"]))
    wanted = [squeezed(place["words"]) for place in item["places"]]
    assert any(
        all(any(words in side for side in group) for words in wanted) for group in together.values()
    )


def test_a_change_over_time_is_no_contradiction(answer):
    changes = [row for row in rows(answer) if row["role"].startswith("change ")]
    assert any("three rooms" in row["event"] for row in changes)
    assert any(row["event"] == "Two." for row in changes)
    conflicts = [row for row in rows(answer) if row["role"].startswith("conflict ")]
    assert not any("three rooms" in row["event"] for row in conflicts)
    (note,) = [note for note in answer.notes if note.startswith("Change over time")]
    assert "2 (8 January 2024), 3 (23 January 2024)" in note


def test_what_is_wrong_with_dates_and_sums_is_said(answer):
    notes = " ".join(answer.notes)
    assert "Monday, 13 February 2024, but that day was a Tuesday" in notes
    assert "Thursday, 20 February 2024, but that day was a Tuesday" in notes
    assert "there is no 30 February 2024" in notes
    assert "the rows add up to 1,184,250.00, the record states 1,193,250.00" in notes


def test_allegations_are_said_to_be_that(answer):
    for row in rows(answer):
        if "ceiling over the plan room collapsed" in row["event"]:
            assert "alleged in a pleading" in row["note"]
            assert "the date itself" in row["disputed"]


def test_every_row_is_proven_and_nothing_fails(answer):
    marks = [row["mark"] for row in rows(answer)]
    assert set(marks) <= {"VERIFIED", "CHECK", "NOT CHECKED"}
    assert marks.count("NOT CHECKED") <= 1  # "For Northgate." is too short to be looked for
    assert all(row["place"] for row in rows(answer) if row["mark"] != "NOT CHECKED")
    assert not [item for item in answer.items if item.verdict in RED]
    for item in answer.items:
        if item.verdict in AMBER:  # counsel's questions, and what OCR read
            assert "question" in item.reason or "OCR" in item.reason, item
    green = [i for i in answer.items if i.verdict in GREEN]
    assert {item.kind for item in green} <= {ItemKind.QUOTE, ItemKind.NAME}


async def test_named_documents_only(root):
    async with open_house(root) as house:
        async with house.shelf.use(CODE) as held:
            lease = next(one for one in held.record.documents() if one.title == "Lease")
        reply = await house.answer(Chronology(matter=CODE, documents=(lease.id,), key=house.key()))
    assert {item.places[0].title for item in reply.items if item.places} == {"Lease"}


async def test_ambiguous_dates_keep_both_readings(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "note.txt").write_text("The pump was sold on 03/04/2023 to the tenant.\n")
    (folder / "plain.txt").write_text("There is nothing here that names a day at all.\n")
    read_matter(tmp_path, folder, "Small")
    async with open_house(tmp_path) as house:
        reply = await house.answer(Chronology(matter=CODE, key=house.key()))
    (row,) = rows(reply)
    assert row["precision"] == "reads two ways"
    assert "4 March 2023" in row["date"]
    assert "3 April 2023" in row["date"]
    assert any(note == "plain: no date stands in it." for note in reply.notes)
