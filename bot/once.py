"""One question, one answer: for scripts and other programs, with no thread to come back to."""

from __future__ import annotations

from collections.abc import Callable

from bot.conversation import Worker
from bot.progress import Watch
from bot.words import Words
from protocol.answers import Answer
from protocol.errors import Conflict, Internal, from_wire
from protocol.events import Completed, Failed, Stopped
from protocol.jobs import Accepted, AnswerIs, GetAnswer, WorkRequest


async def answer_once(
    worker: Worker,
    request: WorkRequest,
    *,
    words: Words,
    on_progress: Callable[[Watch], None],
) -> Answer:
    """Asks, waits and gives the whole answer.

    Args:
        worker: The line.
        request: What is asked.
        words: The catalogue for the progress.
        on_progress: Told after every event.

    Raises:
        Conflict: Somebody stopped the job.
        AppError: The worker refused or failed.
    """
    accepted = await worker.call(request)
    assert isinstance(accepted, Accepted)
    watch = Watch(words)
    async for event in worker.follow(accepted.job):
        watch.feed(event)
        match event.body:
            case Completed(answer=Answer() as answer):
                return answer
            case Completed():
                stored = await worker.call(GetAnswer(job=accepted.job))
                assert isinstance(stored, AnswerIs)
                return stored.answer
            case Failed(error=error):
                raise from_wire(error)
            case Stopped():
                raise Conflict("the job was stopped on request")
            case _:
                on_progress(watch)
    raise Internal("the job's events ended without an end", reference=accepted.job)
