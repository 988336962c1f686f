"""Setting a document aside: gone from record, caches, history; answers made from it are listed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3

import pytest
from click.testing import CliRunner

from bench.house import CODE, open_house
from protocol.errors import BadRequest, NotFound
from protocol.ids import UserName
from protocol.jobs import Find, Summarize
from rag.loaders import pdf_reading
from rag.matters import OpenMatter
from rag.reading import DirectReader, read_again, read_waiting
from worker import registry
from worker.audit import read
from worker.cli import cli
from worker.registry import Registry, Role, User

LEASE = "Lease.pdf"


@pytest.fixture
def state(sample_root, tmp_path):
    """A copy of the sample matter with a reviewer and a lawyer."""
    root = tmp_path / "state"
    shutil.copytree(sample_root / "matters", root / "matters")
    people = (("kim", Role.REVIEWER), ("lee", Role.LAWYER))
    users = tuple(User(name=UserName(name), role=role, matters=(CODE,)) for name, role in people)
    (root / "registry").mkdir()
    registry.write(root / "registry" / "users.toml", Registry(users=users))
    return root


def typed(state, *words):
    return CliRunner().invoke(cli, ["--state", str(state), *words], catch_exceptions=False)


def answers_of(state, *makes):
    async def run():
        async with open_house(state) as house:
            return [await house.answer(make(house)) for make in makes]

    return asyncio.run(run())


def rows_of(work):
    """The names of kept steps, and the jobs whose turns are kept."""
    with contextlib.closing(sqlite3.connect(work)) as db:
        notes = {row[0] for row in db.execute("SELECT name FROM notes")}
        return {"notes": notes, "turns": {row[0] for row in db.execute("SELECT job FROM turns")}}


def test_what_was_made_from_a_document_is_listed_and_its_words_are_gone(state):
    asked, used, other, whole = answers_of(
        state,
        lambda house: house.ask("What does the Lease say about the security deposit?"),
        lambda house: Find(matter=CODE, text="$36,800.00", key=house.key(), conversation="c"),
        lambda house: Find(matter=CODE, text="Both pumps came back", key=house.key()),
        lambda house: Summarize(matter=CODE, key=house.key()),
    )
    work = state / "matters" / CODE / "work.sqlite"
    with OpenMatter(work.parent) as held:
        (lease,) = (info.id for info in held.documents() if info.name == LEASE)
    before = rows_of(work)
    assert f"document.{lease}" in before["notes"]
    assert asked.job in before["turns"]
    (work.parent / "slots").mkdir(exist_ok=True)
    (work.parent / "slots" / "head.bin").write_bytes(b"state of an engine")

    done = typed(state, "documents", "quarantine", CODE, LEASE, "--by", "kim", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert {row["job"] for row in said["answers"]} == {asked.job, used.job, whole.job}
    assert other.job not in done.stdout
    assert not (work.parent / "slots").exists()
    with OpenMatter(work.parent) as held:
        assert said["documents"][0] not in {info.id for info in held.documents()}
        assert not held.store.one(
            "SELECT count(*) FROM passages WHERE document = ?", (said["documents"][0],)
        )
    after = rows_of(work)
    assert after["notes"] == before["notes"] - {f"document.{lease}"} != set()
    assert asked.job not in after["turns"]
    sealed = list(read(state / "audit" / f"{CODE}.jsonl"))
    assert sealed[-1].what == "document.quarantined"
    assert sealed[-1].by == "kim"
    assert sealed[-1].details["answers"] == "3"

    flags = {
        row["name"]: row
        for row in json.loads(typed(state, "documents", "list", CODE, "--json").stdout)
    }
    assert flags[LEASE]["quarantined"] == 1
    assert flags["Privileged Memo.docx"]["privileged"] == 1
    back = typed(state, "documents", "release", CODE, LEASE, "--by", "kim")
    assert back.exit_code == 0
    with OpenMatter(work.parent) as held:
        assert said["documents"][0] in {info.id for info in held.documents()}


def test_only_a_reviewer_sets_aside_and_only_what_is_there(state):
    with pytest.raises(BadRequest):
        typed(state, "documents", "quarantine", CODE, LEASE, "--by", "lee")
    with pytest.raises(NotFound):
        typed(state, "documents", "quarantine", CODE, "None.pdf", "--by", "kim")
    assert not (state / "audit" / f"{CODE}.jsonl").exists()


def test_a_page_that_could_not_be_checked_is_read_only_when_admitted_and_never_green(
    state, monkeypatch
):
    look = pdf_reading.look_through

    def failing(page, *, draw=True):
        if draw:
            raise ValueError("the scanner fails")
        return look(page, draw=draw)

    monkeypatch.setattr(pdf_reading, "look_through", failing)

    def read_it():
        with OpenMatter(state / "matters" / CODE) as held:
            read_waiting(held, reader=DirectReader(), on_progress=lambda _: None)
            (info,) = (one for one in held.documents() if one.name == LEASE)
            return held.pages(info.id), held.text(info.id)

    with OpenMatter(state / "matters" / CODE) as held:
        read_again(held, [LEASE])
    pages, text = read_it()
    assert {page.reading.value for page in pages} == {"unreadable"}
    assert "deposit" not in text

    done = typed(state, "documents", "admit", CODE, LEASE, "--by", "kim")
    assert done.exit_code == 0
    pages, text = read_it()
    assert "deposit" in text
    assert all(page.readers_disagree and "admitted by hand" in page.reason for page in pages)
    sealed = list(read(state / "audit" / f"{CODE}.jsonl"))
    assert (sealed[-1].what, sealed[-1].by) == ("document.admitted", "kim")
    (found,) = answers_of(
        state, lambda house: Find(matter=CODE, text="9,200 rentable", key=house.key())
    )
    assert found.items
    assert {item.verdict.value for item in found.items} == {"CHECK"}


def test_under_a_hold_a_document_goes_out_of_reach_and_nothing_is_deleted(state):
    answers_of(
        state,
        lambda house: house.ask("What does the Lease say about the security deposit?"),
        lambda house: Summarize(matter=CODE, key=house.key()),
    )
    work = state / "matters" / CODE / "work.sqlite"
    before = rows_of(work)
    assert before["turns"]
    assert typed(state, "matters", "hold", CODE, "--by", "kim", "--reason", "suit").exit_code == 0
    done = typed(state, "documents", "quarantine", CODE, LEASE, "--by", "kim", "--json")
    said = json.loads(done.stdout)
    assert said["turns_kept"] is True
    assert rows_of(work) == before
    with OpenMatter(work.parent) as held:
        assert said["documents"][0] not in {info.id for info in held.documents()}
        assert list(held.originals.iterdir())
    summary, found = answers_of(
        state,
        lambda house: Summarize(matter=CODE, key=house.key()),
        lambda house: Find(matter=CODE, text="9,200 rentable", key=house.key()),
    )
    assert "rentable" not in summary.text
    assert "No page says this." in found.text
    places = [place for item in found.items for place in (*item.places, *item.also_in)]
    assert not {place.document for place in places} & set(said["documents"])
    typed(state, "documents", "release", CODE, LEASE, "--by", "kim")
    with OpenMatter(work.parent) as held:
        assert said["documents"][0] in {info.id for info in held.documents()}
