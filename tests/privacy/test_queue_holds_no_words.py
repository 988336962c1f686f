"""A marker in question, page, answer and error: never in the queue's files or any log."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.errors import BadRequest, ErrorValue
from protocol.events import Completed, Found, Words
from protocol.ids import MatterId, UserName
from protocol.jobs import JobState
from worker import logs
from worker.jobs import JobContext, Lease, NewJob, StepValue, open_queue
from worker.jobs.runner import Runner

MARKER = "Zebrastein"
QUESTION = f"When did {MARKER} first know of the leak?"
PAGE = f"{MARKER} reported it to facilities on January 9, 2024."


def clock() -> dt.datetime:
    return dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    """Everything the process logs, as a program that has called `logs.setup` would write it."""
    ours, root = logging.getLogger("secondchair"), logging.getLogger()
    kept = (ours.handlers[:], ours.level, ours.propagate, root.handlers[:], root.level)
    stream = io.StringIO()
    logs.setup(stream, level=logging.DEBUG)
    yield stream
    ours.handlers[:], ours.level, ours.propagate, root.handlers[:], root.level = kept
    logging.captureWarnings(False)


async def _answers(context: JobContext) -> Completed:
    """Work as it should be: hashes and places go to the queue, words elsewhere."""

    async def retrieve() -> StepValue:
        return {"passages": ["d-1:0-40"], "sha256": hashlib.sha256(PAGE.encode()).hexdigest()}

    await context.step("retrieve", retrieve)
    await context.say(Found(passages=1, documents=1))
    await context.say(Words(part=1))
    answer = hashlib.sha256(PAGE.encode()).hexdigest()
    return Completed(answer_sha256=answer, verified=1, to_look_at=0, failing=0)


async def _keeps_text_in_a_step(context: JobContext) -> Completed:
    async def answer() -> StepValue:
        return {"text": PAGE}

    await context.step("answer", answer)
    raise AssertionError("the queue took text in a step")


async def _names_a_step_by_text(context: JobContext) -> Completed:
    async def answer() -> StepValue:
        return {}

    await context.step(PAGE, answer)
    raise AssertionError("the queue took text as a step's name")


async def _says_text(context: JobContext) -> Completed:
    await context.say(Words(part=1, text=PAGE))
    raise AssertionError("the queue took text in an event")


async def _ends_with_text(context: JobContext) -> Completed:
    return Completed(answer_sha256=PAGE, verified=0, to_look_at=0, failing=0)


async def _raises_text(context: JobContext) -> Completed:
    raise RuntimeError(PAGE)


async def _refuses_with_text(context: JobContext) -> Completed:
    raise BadRequest(PAGE, next_step=QUESTION, reference=PAGE)


WORKS = {
    "answers": (_answers, JobState.DONE),
    "step": (_keeps_text_in_a_step, JobState.FAILED),
    "name": (_names_a_step_by_text, JobState.FAILED),
    "says": (_says_text, JobState.FAILED),
    "ends": (_ends_with_text, JobState.FAILED),
    "raises": (_raises_text, JobState.FAILED),
    "refuses": (_refuses_with_text, JobState.FAILED),
}


def _files_hold_no_marker(folder: Path) -> None:
    held = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert held["queue.sqlite"], "looked at nothing"
    for name, content in held.items():
        assert MARKER.encode() not in content, name
        assert MARKER.encode("utf-16-le") not in content, name


async def test_no_word_reaches_the_queue_or_the_log(tmp_path: Path, log_lines: io.StringIO) -> None:
    queue = open_queue(tmp_path / "queue.sqlite", clock)

    async def work(context: JobContext) -> Completed:
        return await WORKS[context.kind][0](context)

    async def idle(board: str) -> None:
        """Nothing runs after the work."""

    async def keep_failure(lease: Lease, error: ErrorValue) -> None:
        raise OSError(f"disk full while writing {PAGE}")

    runner = Runner(queue, {"a": 1}, work, idle=idle, keep_failure=keep_failure)
    await runner.start()
    for kind, (_, state) in WORKS.items():
        new = NewJob(
            matter=MatterId("M-AAAA"),
            kind=kind,
            user=UserName("you"),
            board="a",
            weight_s=1,
            key=kind + QUESTION,  # a careless client
            request_sha256=hashlib.sha256(kind.encode()).hexdigest(),
        )
        job = await queue.add(new)
        async with asyncio.timeout(60):
            after = 0
            while events := await queue.wait_event(job.id, after):
                after = events[-1].seq
                assert MARKER not in repr(events)
        assert (await queue.job(job.id)).state is state
        _files_hold_no_marker(tmp_path)  # while the side files are full
    assert len(await queue.jobs(MatterId("M-AAAA"))) == len(WORKS)
    await queue.close_matter(MatterId("M-AAAA"))
    _files_hold_no_marker(tmp_path)
    await runner.shut_down()
    await queue.close()
    _files_hold_no_marker(tmp_path)
    assert log_lines.getvalue().count("\n") >= len(WORKS) - 1, "nothing was logged"
    assert MARKER not in log_lines.getvalue()


@pytest.mark.parametrize("field", ["kind", "board", "user", "matter", "request_sha256"])
async def test_a_request_with_words_in_an_id_is_refused_before_the_file(
    tmp_path: Path, field: str
) -> None:
    good = {
        "matter": "M-AAAA",
        "kind": "ask",
        "user": "you",
        "board": "a",
        "weight_s": 1.0,
        "key": "k",
        "request_sha256": "0" * 64,
    }
    queue = open_queue(tmp_path / "queue.sqlite", clock)
    with pytest.raises(ValueError) as refused:
        await queue.add(NewJob(**{**good, field: QUESTION}))  # type: ignore[arg-type]
    assert MARKER not in str(refused.value)
    _files_hold_no_marker(tmp_path)
    await queue.close()


async def test_a_closed_matter_leaves_not_even_its_code_in_the_file(tmp_path: Path) -> None:
    """Deleted rows are overwritten, and the log that held them is cut to nothing."""
    queue = open_queue(tmp_path / "queue.sqlite", clock)
    for number in range(50):
        for matter in ("M-GANE", "M-STAY"):
            await queue.add(
                NewJob(
                    matter=MatterId(matter),
                    kind="ask",
                    user=UserName("you"),
                    board="a",
                    weight_s=1,
                    key=f"{matter}-{number}",
                    request_sha256="0" * 64,
                )
            )
    assert any(b"M-GANE" in file.read_bytes() for file in tmp_path.iterdir())
    await queue.close_matter(MatterId("M-GANE"))
    assert not any(b"M-GANE" in file.read_bytes() for file in tmp_path.iterdir())
    assert any(b"M-STAY" in file.read_bytes() for file in tmp_path.iterdir())
    await queue.close()
