"""A matter full of a marker word, worked on in every way, then closed: the word is gone."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import shutil
import sqlite3

import pytest
from click.testing import CliRunner

from bench.house import CODE, YOU, open_house, read_matter, utc_now
from protocol.answers import GREEN, ReviewState
from protocol.errors import Unavailable
from protocol.ids import UserName
from protocol.jobs import (
    Chronology,
    CiteCheck,
    Decide,
    Edit,
    Export,
    Extract,
    Find,
    HoldMatter,
    KeepPlace,
    LiftHold,
    OpenSource,
    Summarize,
    WriteDraft,
)
from worker import closing, logs, registry
from worker.cli import cli
from worker.jobs import open_queue
from worker.jobs.runner import Runner
from worker.registry import Registry, Role, User, Wall
from worker.shelf import Shelf

MARKER = "Zebrastein"
PAPER = f"""MEMORANDUM

{MARKER} reported the leak to Northgate on January 9, 2024. The rent was $9,800.00 per month.
{MARKER} wrote again on January 23, 2024. "We will look at it," {MARKER} was told on March 4, 2024.
"""


def files_with(folder, words):
    needles = [words.encode(code) for code in ("utf-8", "utf-16-le")] + [words.lower().encode()]
    return [
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file()
        and (words in path.name or any(one in path.read_bytes() for one in needles))
    ]


async def worked_on(root):
    """Every deliverable, every decision, an edit, exports, a hold that was lifted."""
    queue = open_queue(root / "queue.sqlite", utc_now)
    async with open_house(root, queue=queue) as house:
        (paper,) = await house.documents()
        for request in (
            house.ask(f"When did {MARKER} report the leak?"),
            Find(matter=CODE, text=MARKER, key=house.key()),
            Summarize(matter=CODE, key=house.key()),
            Extract(matter=CODE, what="all", key=house.key()),
            Chronology(matter=CODE, key=house.key()),
            CiteCheck(matter=CODE, text=f"{MARKER} said “We will look at it.”", key=house.key()),
            WriteDraft(matter=CODE, form="facts", about=MARKER, key=house.key()),
        ):
            answer = await house.answer(request)
            edit = f"{answer.text} {MARKER}."
            await house.edits.edit(
                Edit(job=answer.job, answer_sha256=answer.text_sha256, text=edit, key=house.key()),
                YOU,
            )
            async with house.shelf.use(CODE) as held:
                answer = held.work.answer(answer.job)
            await house.gate.decide(
                Decide(
                    job=answer.job,
                    answer_sha256=answer.text_sha256,
                    state=ReviewState.APPROVED,
                    key=house.key(),
                    note=f"{MARKER} agrees",
                    acknowledged={
                        one.number: f"{MARKER} said so"
                        for one in answer.items
                        if one.verdict not in GREEN
                    },
                ),
                YOU,
            )
            for form in ("md", "docx", "pdf", "json"):
                made = Export(job=answer.job, format=form, key=house.key())
                await house.gate.export(made, YOU)
        back = Decide(
            job=answer.job,
            answer_sha256=answer.text_sha256,
            state=ReviewState.WITHDRAWN,
            key=house.key(),
        )
        await house.gate.decide(back, YOU)
        await house.gate.hold(HoldMatter(matter=CODE, reason=f"{MARKER} sues", key="h"), YOU)
        await house.gate.lift(LiftHold(matter=CODE, key="l"), YOU)
        await house.look.page(OpenSource(matter=CODE, document=paper.id, page=1), YOU)
        async with house.shelf.use(CODE) as held:
            held.work.put_place(YOU.person, KeepPlace(matter=CODE, draft=MARKER), utc_now())
    await queue.close()


@pytest.fixture
def root(tmp_path):
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / f"{MARKER}.txt").write_text(PAPER)
    root = tmp_path / "state"
    read_matter(root, papers, title=f"{MARKER} v. Northgate")
    shutil.rmtree(papers)
    (root / "registry").mkdir()
    people = (
        User(name=UserName("kim"), role=Role.REVIEWER, matters=(CODE, "M-AAAA")),
        User(name=UserName("lee"), role=Role.LAWYER, matters=("M-AAAA",)),
    )
    walls = (Wall(matter=CODE, users=("lee",)),)
    registry.write(root / "registry" / "users.toml", Registry(users=people, walls=walls))
    return root


@pytest.fixture
def log_lines():
    """Everything the process logs."""
    ours, every = logging.getLogger("secondchair"), logging.getLogger()
    kept = (ours.handlers[:], ours.level, ours.propagate, every.handlers[:], every.level)
    stream = io.StringIO()
    logs.setup(stream, level=logging.DEBUG)
    yield stream
    ours.handlers[:], ours.level, ours.propagate, every.handlers[:], every.level = kept
    logging.captureWarnings(False)


def closed(root, *more):
    return CliRunner().invoke(cli, ["--state", str(root), "matters", "close", CODE, "--yes", *more])


def jobs_in(root):
    with contextlib.closing(sqlite3.connect(root / "queue.sqlite")) as queue:
        return [
            queue.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("job", "event", "step", "last_turn")
        ]


def test_after_closing_no_file_holds_a_word_of_it(root, log_lines):
    asyncio.run(worked_on(root))
    assert len(files_with(root, MARKER)) > 10
    assert all(jobs_in(root)[:2])
    done = closed(root)
    assert done.exit_code == 0, done.output
    assert files_with(root, MARKER) == []
    assert not (root / "matters" / CODE).exists()
    assert jobs_in(root) == [0, 0, 0, 0]
    assert MARKER not in log_lines.getvalue()
    kept = registry.read(root / "registry" / "users.toml")
    assert [user.matters for user in kept.users] == [("M-AAAA",), ("M-AAAA",)]
    assert kept.walled(UserName("lee"), CODE)  # should it come back from a copy
    left = {path.relative_to(root).parts[0] for path in root.rglob("*") if path.is_file()}
    assert left == {"audit", "queue.sqlite", "queue.sqlite.lock", "registry"}
    assert closed(root).exit_code != 0


def test_a_removal_that_was_cut_off_is_finished(root):
    asyncio.run(worked_on(root))
    (root / "matters" / CODE / "matter.json").unlink()  # the first thing to go
    assert closed(root).exit_code == 0
    assert files_with(root, MARKER) == []
    assert jobs_in(root) == [0, 0, 0, 0]


def test_a_running_worker_lets_go_and_deletes_the_jobs(root):
    asyncio.run(worked_on(root))

    async def worker_and_command():
        queue = open_queue(root / "queue.sqlite", utc_now)
        shelf = Shelf(root / "matters")
        runner = Runner(queue, {}, lambda _: None, idle=lambda _: None)
        async with shelf.use(CODE):
            pass  # it stays open
        watching = asyncio.create_task(closing.watch(root, queue, runner, shelf))
        done = await asyncio.to_thread(closed, root)
        watching.cancel()
        await asyncio.wait({watching})
        await shelf.close()
        await queue.close()
        return done

    done = asyncio.run(worker_and_command())
    assert done.exit_code == 0, done.output
    assert files_with(root, MARKER) == []
    assert jobs_in(root) == [0, 0, 0, 0]
    assert not closing.notes(root).exists()


def test_a_matter_that_stays_open_is_said_and_closed_by_the_next_try(root):
    async def holding():
        shelf = Shelf(root / "matters")
        async with shelf.use(CODE):
            with pytest.raises(Unavailable):
                await asyncio.to_thread(
                    closing.close,
                    root,
                    CODE,
                    lambda: open_queue(root / "queue.sqlite", utc_now),
                    wait_s=0.0,
                )
        await shelf.close()

    asyncio.run(holding())
    assert (closing.notes(root) / CODE).exists()
    assert files_with(root, MARKER)
    assert closed(root).exit_code == 0
    assert files_with(root, MARKER) == []
