"""Drafts of the sample matter: every fact quoted and cited, every blank left to a human."""

from __future__ import annotations

import re

import pytest

from bench.house import CODE, open_house, read_matter
from protocol.answers import GREEN, RED, ItemKind
from protocol.errors import BadRequest
from protocol.events import Failed
from protocol.jobs import WriteDraft
from worker.deliverables.house_forms import form as form_of


@pytest.fixture(scope="module")
def root(sample_root):
    """The sample matter."""
    return sample_root


def rows(answer):
    return [dict(zip(answer.table.columns, row, strict=True)) for row in answer.table.rows]


async def drafted(root, **values):
    async with open_house(root) as house:
        return await house.answer(WriteDraft(matter=CODE, key=house.key(), **values))


@pytest.mark.parametrize("form", ["facts", "declaration", "demand"])
async def test_every_fact_is_a_quotation_with_its_cite(root, form):
    answer = await drafted(root, form=form)
    facts = [line for line in answer.text.splitlines() if "“" in line]
    assert len(facts) > 5
    for fact in facts:
        assert re.search(r"“.+” \([^“”]+\)\.( \[.+\])?$", fact), fact
    assert not [item for item in answer.items if item.verdict in RED]
    assert "Complaint" not in answer.text  # what a party pleads proves nothing
    assert "[" in answer.text
    assert not re.search(r"\{\{|\}\}", answer.text)


async def test_facts_stand_in_the_order_of_their_dates(root):
    text = (await drafted(root, form="facts")).text
    places = [
        text.index(words)
        for words in ("made on July 30, 2021", "June 2022", "January 12, 2024", "January 26, 2024")
    ]
    assert places == sorted(places)


async def test_the_proof_table_names_who_can_testify_and_what_may_be_objected(root):
    table = rows(await drafted(root, form="facts"))
    reported = next(row for row in table if row["fact"].startswith("I reported it"))
    assert reported["who can testify"] == "Dana Reeves"
    assert reported["objection risk"] == "none seen"
    assert reported["place"] == "Reeves Dep. 2:25-3:1 (NG-000212-213)"
    mail = next(row for row in table if row["fact"].startswith("I first heard"))
    assert mail["who can testify"] == "Samuel Osei"
    assert "hearsay" in mail["objection risk"]
    assert mail["attached as"] in "ABCDEFG"


async def test_a_declaration_holds_the_words_of_its_witness_alone(root):
    answer = await drafted(root, form="declaration", witness="Dana Reeves")
    assert {row["who can testify"] for row in rows(answer)} == {"Dana Reeves"}
    assert "DECLARATION OF [witness: Dana Reeves]" in answer.text
    assert "A. Reeves Dep. (NG-000211 to NG-000214)" in answer.text
    assert "Invoices" not in answer.text
    assert "under penalty of perjury" in answer.text


async def test_a_witness_the_record_does_not_know_leaves_a_form(root):
    answer = await drafted(root, form="declaration", witness="Nobody Atall")
    assert "“" not in answer.text
    assert any("a form only" in note for note in answer.notes)


async def test_a_demand_shows_the_sum_with_its_steps_and_leaves_the_amount_open(root):
    answer = await drafted(root, form="demand")
    notes = " ".join(answer.notes)
    assert "18,250.00 + 412,500.00" in notes
    assert "= 1,184,250.00" in notes
    assert "states 1,193,250.00, which is not that sum" in notes
    assert "[amount: to be set by the lawyer]" in answer.text
    # The sheet's own total stands among the facts; what is demanded stays open.
    (demand,) = [line for line in answer.text.splitlines() if "demands payment" in line]
    assert "1,184,250" not in demand
    # The rows of the statement and those of the sheet.
    assert sum("TW-33" in row["fact"] for row in rows(answer) if row["part"] == "amounts") == 12


async def test_a_subject_narrows_the_facts(root):
    answer = await drafted(root, form="facts", about="what was the cause of the leak, the coupling")
    assert "failed coupling" in answer.text
    assert "Electrical" not in answer.text
    quotes = [item for item in answer.items if item.kind is ItemKind.QUOTE]
    assert sum(item.verdict in GREEN for item in quotes) >= len(quotes) - 2


async def test_the_firms_own_form_wins_by_name(root):
    folder = root / "templates"
    folder.mkdir(exist_ok=True)
    own = folder / "facts.md"
    own.write_text("THE FIRM'S WAY\n\n{{facts}}\n\n[our close]\n", "utf-8")
    try:
        answer = await drafted(root, form="facts")
        assert answer.text.startswith("THE FIRM'S WAY")
        assert "The firm's own form." in answer.notes
        own.write_text("{{facts}} {{secrets}}", "utf-8")
        async with open_house(root) as house:
            last = await house.last(WriteDraft(matter=CODE, form="facts", key="k"))
        assert isinstance(last.body, Failed)
        with pytest.raises(BadRequest, match="secrets"):
            form_of("facts", folder)
    finally:
        own.unlink()


@pytest.mark.parametrize("form", ["../config", "FACTS", "none-such", ""])
async def test_a_form_is_a_name_never_a_path(root, form):
    async with open_house(root) as house:
        request = WriteDraft(matter=CODE, form=form, key="k")
        try:
            last = await house.last(request)
        except BadRequest:
            return
        assert isinstance(last.body, Failed)
        assert last.body.error.code in ("bad_request", "not_found")


async def test_words_of_the_record_are_not_read_as_a_form(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "letter.txt").write_text("On May 5, 2022 the clerk wrote {{exhibits}} on the wall.\n")
    read_matter(tmp_path, folder, "Small")
    answer = await drafted(tmp_path, form="facts")
    assert "wrote {{exhibits}} on the wall" in answer.text
