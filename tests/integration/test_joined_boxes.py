"""Two boxes as their operators set them up, by the settings alone: serve, gateway, SSH."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench.joined_boxes import JoinedBox, two_joined
from bot.link import Link
from protocol.events import LAST, Completed, Event
from protocol.ids import JobId, MatterId
from protocol.jobs import Accepted, Ask, Cancel, Jobs, JobState, ListJobs

HERE, THERE = "Worded on this box.", "Worded on the other box."
NEVER_ENDS = {"text": "word " * 50, "token_s": 3600.0}
"""A call that keeps its board busy for as long as a test may take."""


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "note.txt").write_text("The boiler was inspected on 3 May 2021.\n", "utf-8")
    return folder


async def ask(link: Link, matter: MatterId, question: str) -> JobId:
    request = Ask(matter=matter, conversation="c", question=question, key=f"{matter} {question}")
    accepted = await link.call(request)
    assert isinstance(accepted, Accepted)
    return accepted.job


async def events_of(link: Link, job: JobId) -> list[Event]:
    return [event async for event in link.follow(job)]


async def reply(link: Link, job: JobId) -> str:
    last = (await events_of(link, job))[-1].body
    assert isinstance(last, Completed), last
    assert last.answer is not None
    return last.answer.text


async def board_of(link: Link, matter: MatterId, job: JobId) -> str:
    listed = await link.call(ListJobs(matter=matter))
    assert isinstance(listed, Jobs)
    return next(one.board for one in listed.jobs if one.id == job)


async def lent(box: JoinedBox, state: JobState) -> str:
    """The matter of the one call the box took, once it is in this state."""
    while True:
        if found := [matter for matter, now in box.lent() if now == state]:
            (matter,) = found
            return matter
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def busy(link: Link, matter: MatterId) -> AsyncIterator[None]:
    """Box one's own board is at work on another matter of its own."""
    job = await ask(link, matter, "keep the board busy")
    async for event in link.follow(job):
        if type(event.body).__name__ == "Started":
            break
    yield


OWN = ({"text": HERE, "when": "boiler?"}, NEVER_ENDS | {"when": "busy"})


@pytest.mark.slow
async def test_a_job_whose_own_board_is_busy_is_worded_on_the_other_box(papers: Path) -> None:
    scripts = {"one": OWN, "two": ({"text": THERE},)}
    async with (
        asyncio.timeout(280),
        two_joined(scripts, papers) as (one, two, leaves, stays),
        one.line() as link,
        busy(link, stays),
    ):
        job = await ask(link, leaves, "When was the boiler?")
        assert THERE in await reply(link, job)
        assert await board_of(link, leaves, job) == "one.to-two"
        assert await lent(two, JobState.DONE) == leaves
        kept = await ask(link, stays, "Where was the boiler?")
        assert await board_of(link, stays, kept) == "one.a"  # it waits rather than leave
        assert [matter for matter, _ in two.lent()] == [leaves]
        said = one.operator("doctor", "--json", check=False)
        assert "it answers: board two.a, the same weights as one.a" in said
        assert "one: prompts of 1 matter may leave it" in said
        for path in two.state.rglob("*"):
            if path.is_file():
                assert b"boiler" not in path.read_bytes(), path
        assert b"prompt.lent" in (one.state / "audit" / f"{leaves}.jsonl").read_bytes()


@pytest.mark.slow
async def test_the_receiver_takes_nothing_of_a_matter_it_knows_as_staying(papers: Path) -> None:
    """Though box one's settings let it leave: the reply is worded at home."""
    scripts = {"one": OWN, "two": ({"text": THERE},)}
    async with (
        asyncio.timeout(280),
        two_joined(scripts, papers, staying_there=True) as (one, two, leaves, stays),
        one.line() as link,
    ):
        warm = await ask(link, stays, "keep the board busy")
        job = await ask(link, leaves, "When was the boiler?")
        assert await board_of(link, leaves, job) == "one.to-two"
        await link.call(Cancel(job=warm))
        text = await reply(link, job)
        assert HERE in text
        assert THERE not in text
        assert two.lent() == []


@pytest.mark.slow
async def test_the_other_box_killed_while_it_words_ends_the_job_once(papers: Path) -> None:
    scripts = {"one": ({"text": HERE, "when": "boiler?"}, OWN[1]), "two": (NEVER_ENDS,)}
    async with (
        asyncio.timeout(280),
        two_joined(scripts, papers) as (one, two, leaves, stays),
        one.line() as link,
    ):
        warm = await ask(link, stays, "keep the board busy")
        job = await ask(link, leaves, "When was the boiler?")
        assert await lent(two, JobState.RUNNING) == leaves
        two.kill()
        await link.call(Cancel(job=warm))
        events = await events_of(link, job)
        assert sum(isinstance(event.body, LAST) for event in events) == 1
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        last = events[-1].body
        assert isinstance(last, Completed)
        assert last.answer is not None
        assert HERE in last.answer.text
