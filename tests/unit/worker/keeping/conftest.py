"""A state folder with two matters in it, small and real: records, work, queue, journals, keys."""

from __future__ import annotations

import asyncio
import datetime as dt
import shutil
from pathlib import Path

import pytest

from protocol.answers import Answer, Provenance, ReviewState, Timings
from protocol.ids import MatterId
from protocol.record import Coverage
from rag.embedding import HashEmbedder
from rag.ingest import ingest
from rag.matters import OpenMatter
from rag.reading import DirectReader
from worker.cli.matters import new_matter
from worker.config import Settings
from worker.jobs import open_queue
from worker.jobs.testing import done, new_job
from worker.paths import matters_folder
from worker.review import text_sha256
from worker.setup.folders import prepare
from worker.workfile import WorkFile

NOON = dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC)
WORDS = {
    "Harbor v. Crane": "The crane was inspected on May 3, 2024, and the hook was found worn.",
    "Quarry v. Mill": "The mill was sold on June 7, 2023, for $1,250,000 to the quarry.",
}


class FullBox:
    """What the tests know of the folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.settings = Settings(state=state)
        self.codes: dict[str, MatterId] = {}
        self.jobs: dict[str, str] = {}

    def folder(self, title: str) -> Path:
        return matters_folder(self.settings) / self.codes[title]

    def answer(self, title: str) -> Answer:
        work = WorkFile(self.folder(title) / "work.sqlite")
        try:
            return work.answer(self.jobs[title])
        finally:
            work.close()


def an_answer(job, matter, text):
    return Answer(
        job=job, matter=matter, kind="ask", question="What?", text=text, items=(), sentences=(),
        coverage=Coverage(documents=1, documents_read=1, pages=1, pages_read=1, unread=()),
        timings=Timings(), provenance=Provenance(), text_sha256=text_sha256(text),
        review=ReviewState.AWAITING,
    )  # fmt: skip


async def ended_job(state, matter):
    queue = open_queue(state / "queue.sqlite", lambda: NOON)
    try:
        job = await queue.add(new_job(matter=matter))
        lease = await queue.claim("A", "w-1")
        await queue.end(lease, done())
        return job.id
    finally:
        await queue.close()


def fill(box: FullBox, folder: Path) -> FullBox:
    prepare(box.settings)
    for title, words in WORDS.items():
        papers = folder / title
        papers.mkdir()
        (papers / "Report.txt").write_text(f"{words}\n")
        code = box.codes[title] = new_matter(box.settings, title, ())
        with OpenMatter(box.folder(title)) as held:
            ingest(held, embedder=HashEmbedder(), folder=papers, reader=DirectReader())
        job = box.jobs[title] = asyncio.run(ended_job(box.state, code))
        work = WorkFile(box.folder(title) / "work.sqlite")
        work.put_answer(an_answer(job, code, words))
        work.close()
        (box.folder(title) / "out" / f"{job}-ask.md").write_text(f"Approved: {words}\n")
    return box


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """Made once; every test gets a copy."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "papers").mkdir()
    return fill(FullBox(folder / "state"), folder / "papers")


@pytest.fixture
def box(filled, tmp_path):
    shutil.copytree(filled.state, tmp_path / "state")
    one = FullBox(tmp_path / "state")
    one.codes, one.jobs = dict(filled.codes), dict(filled.jobs)
    return one


@pytest.fixture
def empty(tmp_path):
    """Another box, set up and without a matter."""
    other = FullBox(tmp_path / "other")
    prepare(other.settings)
    return other


@pytest.fixture
def noon():
    return NOON
