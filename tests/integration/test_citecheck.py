"""The complaint of the sample matter held against the rest of the record; no model is asked."""

from __future__ import annotations

import asyncio
import io
import json
import logging

import pypdf
import pytest

from bench.house import CODE, SAMPLE, YOU, open_house
from bot import words as catalogue
from bot.blocks import plain
from bot.look import Look
from bot.render import reply
from protocol.answers import GREEN, RED, ItemKind, Verdict
from protocol.errors import BadRequest, NotFound
from protocol.jobs import CiteCheck
from verify.dates import find_dates
from worker.export import certificate, reading
from worker.pipeline import completed

KEY = json.loads((SAMPLE.parent / "answer-key.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def root(sample_root):
    """The sample matter."""
    return sample_root


@pytest.fixture(scope="module")
def answer(root):
    """The report on the complaint."""

    async def made():
        async with open_house(root) as house:
            async with house.shelf.use(CODE) as held:
                brief = next(d.id for d in held.record.documents() if d.title == "Complaint")
            return await house.answer(CiteCheck(matter=CODE, document=brief, key=house.key()))

    return asyncio.run(made())


def rows(answer):
    return [dict(zip(answer.table.columns, row, strict=True)) for row in answer.table.rows]


@pytest.mark.parametrize(
    "item", [i for i in KEY["items"] if i["kind"] == "misquotation"], ids=lambda item: item["id"]
)
def test_planted_misquotations_are_altered_and_the_true_words_stand_beside_them(answer, item):
    brief, true = (place["words"] for place in item["places"])
    found = [row for row in rows(answer) if brief in row["item"] and row["finding"] == "ALTERED"]
    assert found
    assert "Lease p. 3" in found[0]["the record"]
    assert true in answer.text


def test_the_brief_does_not_prove_itself(answer):
    for row in rows(answer):
        if "1,250,000" in row["item"] or row["item"] == "31":
            assert row["finding"] == "NOT FOUND"
        assert "Complaint" not in row["the record"]


def test_a_wrong_weekday_is_found(answer):
    (row,) = [row for row in rows(answer) if row["item"].startswith("Monday")]
    assert row["finding"] == "INCONSISTENT"
    assert "Tuesday" in row["reason"]


def test_the_worst_stands_first_and_every_word_shown_is_the_records(answer):
    headings = ["Differs from the record:", "The record does not hold this:", "To look at:"]
    places = [answer.text.index(heading) for heading in headings]
    assert places == sorted(places)
    quotes = [item for item in answer.items if item.kind is ItemKind.QUOTE]
    assert len(quotes) > 15
    assert {item.verdict for item in quotes} <= GREEN | {Verdict.NOT_A_QUOTE}
    assert not [item for item in answer.items if item.verdict in RED]
    assert "place in the brief" in answer.table.columns
    assert any(note.startswith("Quote: 2 altered") for note in answer.notes)


async def test_a_given_text_keeps_its_own_marks(root):
    text = (
        "The Lease says Landlord “shall begin repairs within ten (10) days after written notice.”"
        " Ms. Reeves said “The second time, yes.” Reeves Dep. 3:3."
    )
    async with open_house(root) as house:
        reply = await house.answer(CiteCheck(matter=CODE, text=text, key=house.key()))
    assert reply.text == text
    found = {row["item"][:12]: row["finding"] for row in rows(reply)}
    assert found["shall begin "] == "ALTERED"
    assert found["The second t"] == "VERIFIED"
    (first,) = [item for item in reply.items if text[item.start : item.end].startswith("shall")]
    assert first.verdict in RED


async def test_neither_both_nor_a_strange_document_is_taken(root):
    async with open_house(root) as house:
        for request in (
            CiteCheck(matter=CODE, key="a"),
            CiteCheck(matter=CODE, key="b", document="D-none", text="both"),
        ):
            with pytest.raises(BadRequest):
                await house.work.submit(request, YOU)
        with pytest.raises(NotFound):
            await house.work.submit(CiteCheck(matter=CODE, key="c", document="D-none"), YOU)


def test_what_is_counted_is_the_brief_and_not_the_words_shown(answer):
    found = [Verdict(row["finding"].replace(" ", "_")) for row in rows(answer)]
    red = sum(verdict in RED for verdict in found)
    green = sum(verdict in GREEN for verdict in found)
    assert red >= 2
    said = f"{green} verified · {len(found) - green - red} to look at · {red} failing"
    assert reading.counts(answer) == said
    ended = completed(answer)
    assert (ended.verified, ended.failing) == (green, red)
    shown = plain(reply(answer, Look(words=catalogue.load("en"))), 100)
    assert said in shown
    assert f"[{answer.table.items[0]} ✘]" in shown


def test_the_one_page_report_names_what_the_brief_gets_wrong(answer):
    page = pypdf.PdfReader(io.BytesIO(certificate.render(answer, "Hartwell"))).pages[0]
    text = page.extract_text()
    assert "Every item is verified" not in text
    assert "ALTERED" in text


def test_no_green_word_stands_beside_a_finding_of_another_colour(answer):
    for row in rows(answer):
        assert row["words of the brief"] in ("as they stand there", "NOT CHECKED")


async def test_what_the_checker_could_not_look_for_is_said_and_logged(root, monkeypatch, caplog):
    calls = []

    def broken(text):
        calls.append(text)
        if len(calls) == 1:  # in the paper; when the report itself is checked, it works again
            raise RuntimeError("words of a case")
        return find_dates(text)

    monkeypatch.setattr("verify.checker.find_dates", broken)
    async with open_house(root) as house:
        async with house.shelf.use(CODE) as held:
            brief = next(d.id for d in held.record.documents() if d.title == "Complaint")
        request = CiteCheck(matter=CODE, document=brief, key=house.key())
        with caplog.at_level(logging.ERROR):
            report = await house.answer(request)
    assert "The search for dates failed: they were not checked." in report.notes
    assert len(calls) > 1
    lines = [record.fields for record in caplog.records if record.msg == "check.part_failed"]
    assert lines
    assert all(line["error"] == "RuntimeError" and ":" in line["where"] for line in lines)
    assert "words of a case" not in repr([record.__dict__ for record in caplog.records])
