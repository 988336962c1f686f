"""`/extract columns: ...`: what a lawyer's own columns give on the sample matter."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import openpyxl
import pytest

from bench.house import CODE, YOU, open_house
from protocol.answers import GREEN, ReviewState, SentenceClass
from protocol.errors import BadRequest, NotFound
from protocol.events import Failed
from protocol.jobs import Decide, Export, Extract
from worker.deliverables.column_names import MOST_COLUMNS, columns
from worker.deliverables.columns import NOT_FOUND, cells_of
from worker.quoting import Sentence

NAMED = ("tenant", "rent", "security deposit", "start date", "governing law")


@pytest.fixture
async def house(sample_root, tmp_path):
    """A copy of the sample matter: what is exported must not lie there for the next test."""
    shutil.copytree(sample_root / "matters", tmp_path / "matters")
    async with open_house(tmp_path) as opened:
        yield opened


async def extracted(house, named, documents=()):
    return await house.answer(
        Extract(matter=CODE, what="columns", columns=named, key=house.key(), documents=documents)
    )


def rows_of(answer, title="Lease"):
    """Column to its values in one document."""
    found = {}
    for document, column, value, *_ in answer.table.rows:
        if document == title:
            found.setdefault(column, []).append(value)
    return found


async def test_the_columns_of_a_lease_are_filled_and_what_is_not_there_is_said(house):
    answer = await extracted(house, NAMED)
    lease = rows_of(answer)
    assert lease["tenant"][0] == "Hartwell Design Studio, Inc."
    assert lease["rent"] == ["$18,400"]
    assert lease["security deposit"] == ["$36,800"]
    assert lease["start date"] == ["1 September 2021"]
    assert lease["governing law"] == [NOT_FOUND]
    assert "no sentence for: governing law" in answer.text
    assert answer.coverage.documents > 10
    assert any("No column was found in" in note for note in answer.notes)


async def test_no_row_is_green_and_every_value_has_its_words_and_place(house):
    answer = await extracted(house, NAMED)
    greens = {verdict.replace("_", " ") for verdict in GREEN}
    for row, number in zip(answer.table.rows, answer.table.items, strict=True):
        _, _, value, how, words, place, shown = row
        assert shown not in greens
        if value == NOT_FOUND:
            assert (how, words, place, shown, number) == ("", "", "", "", 0)
        else:
            item = answer.items[number - 1]
            assert item.verdict in GREEN
            assert place == "; ".join(one.pin_cite for one in item.places)
            assert shown == "as they stand there"
    green = [c for c in answer.sentences if c.sentence_class is SentenceClass.SUPPORTED]
    assert all("“" in answer.text[claim.start : claim.end] for claim in green)


async def test_values_that_differ_stand_side_by_side(house):
    rent = rows_of(await extracted(house, ("rent",)), "Complaint")["rent"]
    assert rent == ["$18,400 per month", "$65,750"]


async def test_a_list_of_the_firms_stands_for_its_lines(house):
    own = house.root / "templates"
    own.mkdir(exist_ok=True)
    (own / "leases.columns").write_text("# our lease abstract\ntenant\n\nbegins (date)\n")
    (lease,) = [one.id for one in await house.documents() if one.title == "Lease"]
    answer = await extracted(house, ("@leases", "rent"), (lease,))
    assert answer.question == "/extract columns: tenant, begins, rent"
    assert rows_of(answer)["begins"] == ["1 September 2021"]
    (own / "leases.columns").unlink()
    (own / "leases.columns").symlink_to("/etc/passwd")
    for name in ("@leases", "@absent"):
        request = Extract(matter=CODE, what="columns", columns=(name,), key=house.key())
        body = (await house.last(request)).body
        assert isinstance(body, Failed)
        assert body.error.code == NotFound.code


async def test_what_can_be_no_columns_is_refused_at_once(house):
    for what, named in (
        ("columns", ()),
        ("dates", ("rent",)),
        ("columns", ("",)),
        ("columns", ("\u200b",)),
        ("columns", ("...",)),
        ("columns", ("a\nb",)),
        ("columns", ("x" * 61,)),
        ("columns", tuple(f"c{n}" for n in range(MOST_COLUMNS + 1))),
    ):
        request = Extract(matter=CODE, what=what, columns=named, key=house.key())
        with pytest.raises(BadRequest):
            await house.work.submit(request, YOU)


async def test_the_workbook_has_the_columns_side_by_side(house):
    answer = await extracted(house, NAMED)
    reasons = {one.number: "seen" for one in answer.items if one.verdict not in GREEN}
    await house.gate.decide(
        Decide(
            job=answer.job,
            answer_sha256=answer.text_sha256,
            state=ReviewState.APPROVED,
            key=house.key(),
            acknowledged=reasons,
        ),
        YOU,
    )
    made = await house.gate.export(Export(job=answer.job, format="xlsx", key=house.key()), YOU)
    book = openpyxl.load_workbook(io.BytesIO((house.folder / "out" / made.name).read_bytes()))
    wide = [[cell.value or "" for cell in row] for row in book["By document"].iter_rows()]
    assert wide[0] == ["document", *NAMED]
    lease = next(row for row in wide if row[0] == "Lease")
    assert lease[2].startswith("$18,400 (Lease p. 1")
    assert lease[5] == NOT_FOUND
    assert len(list(book["Table"].iter_rows())) == len(answer.table.rows) + 1


# --- the rules, sentence by sentence ---


def found(text, *named):
    wanted = columns(named, Path("no-such-folder"))
    every = [
        Sentence(document="D", start=at, end=at + len(one), words=one)
        for at, one in enumerate(text.split("|"))
    ]
    return {name: [cell.value for cell in cells] for name, cells in cells_of(every, wanted).items()}


def test_of_several_values_the_one_beside_the_words_is_taken():
    text = "Tenant shall pay rent of $9,800.00 and a deposit of $36,800.00."
    assert found(text, "rent", "deposit") == {"rent": ["$9,800"], "deposit": ["$36,800"]}


def test_a_party_is_the_one_that_the_sentence_calls_so():
    text = 'This is between Acme Holdings LLC ("Landlord") and Blue Kite Design LLC (the "Tenant").'
    assert found(text, "landlord", "lessee") == {
        "landlord": ["Acme Holdings LLC"],
        "lessee": ["Blue Kite Design LLC"],
    }


def test_every_word_of_a_column_must_stand_there():
    text = "The deposit is $500.00.|The security guard earns $700.00."
    assert found(text, "security deposit") == {"security deposit": []}


def test_a_kind_may_be_said_and_decides_what_counts():
    text = "The option ends on March 4, 2024 and costs $250.00."
    assert found(text, "option (amount)", "the option (date)") == {
        "option": ["$250"],
        "the option": ["4 March 2024"],
    }


def test_korean_columns_take_particles():
    text = "월 차임은 금 1,200,000원으로 한다.|임대차 기간은 2023년 3월 1일에 시작한다."
    assert found(text, "차임", "시작 (date)") == {
        "차임": ["KRW 1,200,000"],
        "시작": ["1 March 2023"],
    }


def test_a_sentence_without_a_value_fills_no_cell():
    assert found("The rent is due as agreed.", "rent") == {"rent": []}
    assert found("Governing law: the law of New York applies.", "governing law") == {
        "governing law": ["Governing law: the law of New York applies."]
    }
