"""One thread of one person: the matter it is bound to, the reply shown last, the line, the face.

The commands (`bot.asking`, `bot.deciding`, `bot.browsing`) act on a `Conversation`; `bot.chat`
chooses among them. A conversation knows requests and events, never how a reply is made, and it
keeps words in memory only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from bot import failures, render
from bot.blocks import Block, Piece, paragraph
from bot.look import Look
from bot.misuse import Misuse
from bot.outbox import Outbox
from bot.progress import Watch
from bot.slash import Typed
from protocol.answers import Answer, Finding
from protocol.events import LAST, Completed, Event, Failed
from protocol.ids import JobId, MatterId, job_id
from protocol.jobs import AnswerIs, GetAnswer, Request, Result
from protocol.record import DocumentInfo, Matter


class Frontend(Protocol):
    """Where one person reads and types.

    What `show` was given stays; what `progress` was given replaces the progress before it, and may
    be dropped by a face that cannot replace. Neither raises for text it cannot print: it prints a
    stand-in. All are called from the event loop only.
    """

    @property
    def look(self) -> Look:
        """How to build what is shown now; the width may change between calls."""
        ...

    def show(self, blocks: Sequence[Block]) -> None:
        """Adds blocks below what was shown, in the place of the progress."""
        ...

    def progress(self, watch: Watch) -> None:
        """Shows where a job is."""
        ...

    async def ask(self, question: str) -> str | None:
        """One line from the person; None when there are no more."""
        ...


class Worker(Protocol):
    """What a conversation needs of the line; `bot.link.Link` is one."""

    async def call(self, request: Request) -> Result:
        """The result of a request. Raises `AppError`."""
        ...

    def follow(self, job: JobId, after: int = 0) -> AsyncIterator[Event]:
        """The job's events after a number, each once. Raises `AppError`."""
        ...


class Conversation:
    """A thread bound to at most one matter at a time."""

    def __init__(
        self,
        worker: Worker,
        front: Frontend,
        outbox: Outbox,
        *,
        thread: str,
        new_key: Callable[[], str],
    ) -> None:
        """Joins the parts; nothing is sent yet.

        Args:
            worker: The line.
            front: The face.
            outbox: What was shown in this thread.
            thread: The thread's id: the worker keeps its turns under it.
            new_key: Makes the key that lets a request be sent twice harmlessly.
        """
        self.worker = worker
        self.front = front
        self.outbox = outbox
        self.thread = thread
        self.new_key = new_key
        self.matter: Matter | None = None
        self.documents: tuple[DocumentInfo, ...] = ()
        """The record of the matter as it was listed last."""
        self.answer: Answer | None = None
        """The reply that was shown last."""
        self.job: JobId | None = None
        """The job that was asked for or shown last."""

    # --- what there is to act on ---

    @property
    def channel(self) -> str:
        """The thread in its matter: where the outbox counts what was shown."""
        return f"{self.thread}/{self.matter.id}" if self.matter else self.thread

    def bound(self) -> MatterId:
        """The matter's code.

        Raises:
            Misuse: No matter is chosen.
        """
        if self.matter is None:
            raise Misuse("no_matter", next_step="no_matter_next")
        return self.matter.id

    def bind(self, matter: Matter) -> None:
        """Binds the thread to a matter; nothing of the one before can be acted on any more."""
        self.matter = matter
        self.documents = ()
        self.answer = self.job = None

    def last(self) -> Answer:
        """The reply that was shown last.

        Raises:
            Misuse: There is none.
        """
        if self.answer is None:
            raise Misuse("no_answer", next_step="no_answer_next")
        return self.answer

    def item(self, number: int) -> Finding:
        """An item of the last reply.

        Raises:
            Misuse: There is no reply, or no such item in it.
        """
        for item in self.last().items:
            if item.number == number:
                return item
        raise Misuse("no_item", number=number)

    def job_of(self, typed: Typed) -> JobId:
        """The job that a line names; the last one where it names none.

        Raises:
            Misuse: It names no job, or something else.
        """
        if not typed.rest and self.job is not None:
            return self.job
        try:
            return job_id(typed.rest.upper())
        except ValueError:
            raise Misuse("needs", name=typed.name, what="job_code") from None

    # --- what is shown ---

    def say(self, key: str, **blanks: object) -> None:
        """Shows one sentence of the catalogue."""
        words = self.front.look.words
        self.front.show([paragraph(Piece(words(key, **blanks)), hang=3)])

    def reply(self, answer: Answer, asked: str = "") -> None:
        """Shows a reply, which is from then on the last one."""
        self.answer, self.job = answer, answer.job
        title = self.matter.title if self.matter and self.matter.id == answer.matter else ""
        self.front.show(render.reply(answer, self.front.look, title=title, asked=asked))

    async def stored(self, job: JobId) -> Answer:
        """The answer as the worker holds it now.

        Raises:
            NotFound: The job has none, or there is no such job for this person.
        """
        result = await self.worker.call(GetAnswer(job=job))
        assert isinstance(result, AnswerIs)
        return result.answer

    async def follow(self, job: JobId, after: int, asked: str) -> None:
        """Shows a job's events after number ``after`` until its last.

        Cancelling this leaves the job at work.

        Args:
            job: What to follow.
            after: The number of the last event that was shown.
            asked: The line it answers.
        """
        watch = Watch(self.front.look.words)
        channel = self.channel
        async for event in self.worker.follow(job, after):
            watch.feed(event)
            last = isinstance(event.body, LAST)
            if last:
                await self._end(event, asked)
            else:
                self.front.progress(watch)
            self.outbox.shown(channel, job, event.seq, last=last)

    async def _end(self, event: Event, asked: str) -> None:
        look = self.front.look
        match event.body:
            case Completed(answer=answer):
                self.reply(answer or await self.stored(event.job), asked)
            case Failed(error=error):
                kept = look.words("error.kept_sent", job=event.job)
                self.front.show(failures.error_blocks(error, look, kept=kept))
            case _:
                self.front.show(failures.stopped(event.job, look))
