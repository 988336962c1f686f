"""A marker in question, page, answer and error: never in the database's files or its log."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator

import pytest

from bench import postgres
from protocol.errors import BadRequest
from protocol.events import Completed, Found, Words
from protocol.ids import MatterId
from protocol.jobs import JobState
from worker.jobs import JobContext, StepValue, open_shared_queue
from worker.jobs.runner import Runner
from worker.jobs.testing import new_job

pytestmark = pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing())

MARKER = "Zebrastein"
PAGE = f"{MARKER} reported it to facilities on January 9, 2024."


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    with postgres.server() as running:
        yield running


async def _answers(context: JobContext) -> Completed:
    async def retrieve() -> StepValue:
        return {"sha256": hashlib.sha256(PAGE.encode()).hexdigest()}

    await context.step("retrieve", retrieve)
    await context.say(Found(passages=1, documents=1))
    return Completed(answer_sha256="a" * 64, verified=1, to_look_at=0, failing=0)


async def _keeps_text_in_a_step(context: JobContext) -> Completed:
    async def answer() -> StepValue:
        return {"text": PAGE}

    await context.step("answer", answer)
    raise AssertionError("the queue took text in a step")


async def _says_text(context: JobContext) -> Completed:
    await context.say(Words(part=1, text=PAGE))
    raise AssertionError("the queue took text in an event")


async def _refuses_with_text(context: JobContext) -> Completed:
    raise BadRequest(PAGE, next_step=PAGE, reference=PAGE)


WORKS = {
    "answers": (_answers, JobState.DONE),
    "step": (_keeps_text_in_a_step, JobState.FAILED),
    "says": (_says_text, JobState.FAILED),
    "refuses": (_refuses_with_text, JobState.FAILED),
}


async def test_no_word_reaches_the_database(server: postgres.Server) -> None:
    queue = open_shared_queue(server.conninfo, box="one")

    async def work(context: JobContext) -> Completed:
        return await WORKS[context.kind][0](context)

    async def idle(board: str) -> None:
        """Nothing runs after the work."""

    runner = Runner(queue, {"a": 1}, work, idle=idle)
    await runner.start()
    for kind, (_, state) in WORKS.items():
        job = await queue.add(
            new_job("M-SEEN", kind=kind, board="a", key=f"{kind} {PAGE}", request=PAGE)
        )
        async with asyncio.timeout(60):
            after = 0
            while events := await queue.wait_event(job.id, after):
                after = events[-1].seq
        assert (await queue.job(job.id)).state is state
    assert len(await queue.jobs(MatterId("M-SEEN"))) == len(WORKS)
    await runner.shut_down()
    await queue.close()
    server.stop()  # now everything is in its files
    held = [path.read_bytes() for path in server.folder.rglob("*") if path.is_file()]
    assert any(b"M-SEEN" in content for content in held), "looked at nothing"
    assert not any(MARKER.encode() in content for content in held)
