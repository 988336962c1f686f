"""Requests that only look: matters, jobs, documents, a page, an answer, the worker's health."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from protocol.errors import NotFound
from protocol.events import Completed, Event, Words
from protocol.ids import MatterId
from protocol.jobs import (
    AnswerIs,
    Documents,
    Done,
    Forget,
    GetAnswer,
    Health,
    HealthIs,
    Job,
    Jobs,
    JobState,
    ListDocuments,
    ListJobs,
    ListMatters,
    Matters,
    OpenSource,
    Result,
    SourcePage,
)
from rag import production
from rag.coverage import coverage
from rag.ingest import ledger
from worker.boxes import LEND
from worker.handlers import Office
from worker.holds import refuse_if_held
from worker.service import Caller
from worker.shelf import Held

_MOST_JOBS = 200


class Look:
    """Answers what is asked about what there is."""

    def __init__(
        self, office: Office, health: Callable[[bool], Awaitable[dict[str, tuple[str, str]]]]
    ) -> None:
        self._office = office
        self._health = health

    async def matters(self, request: ListMatters, caller: Caller) -> Result:
        """The matters this person may see."""
        shelf = self._office.shelf
        found = []
        for matter in caller.matters:
            if shelf.exists(matter):
                async with shelf.use(matter) as held:
                    found.append(held.record.matter)
        return Matters(matters=tuple(found))

    async def jobs(self, request: ListJobs, caller: Caller) -> Result:
        """The newest jobs with their review state."""
        most = max(1, min(request.most, _MOST_JOBS))
        jobs = await self._office.queue.jobs(request.matter, most)
        jobs = tuple(job for job in jobs if job.kind != LEND)  # calls on another box of this line
        async with self._office.shelf.use(request.matter) as held:
            return Jobs(jobs=tuple(_with_review(held, job) for job in jobs))

    async def documents(self, request: ListDocuments, caller: Caller) -> Result:
        """The record with its ledger and coverage."""
        async with self._office.shelf.use(request.matter) as held:
            return await asyncio.to_thread(
                lambda: Documents(
                    documents=tuple(held.record.documents()),
                    ledger=ledger(held.record),
                    coverage=coverage(held.record),
                    productions=production.told(held.record),
                )
            )

    async def page(self, request: OpenSource, caller: Caller) -> Result:
        """One page of a document."""
        async with self._office.shelf.use(request.matter) as held:
            info = next(
                (one for one in held.record.documents() if one.id == request.document), None
            )
            if info is None:
                raise NotFound("no such document in this matter")
            pages = held.record.pages(info.id)
            page = next((one for one in pages if one.number == request.page), None)
            if page is None:
                raise NotFound(f"this document has {len(pages)} pages")
            held.work.put_opening(caller.person, info.id, page.number)
            text = await asyncio.to_thread(held.record.text, info.id)
            return SourcePage(document=info, page=page, text=text[page.start : page.end])

    async def answer(self, request: GetAnswer, caller: Caller) -> Result:
        """The stored answer of a job."""
        job = await self._office.queue.job(request.job)
        async with self._office.shelf.use(job.matter) as held:
            return AnswerIs(answer=held.work.answer(job.id))

    async def forget(self, request: Forget, caller: Caller) -> Result:
        """Deletes a conversation's turns.

        Raises:
            Conflict: The matter is on legal hold.
        """
        async with self._office.shelf.use(request.matter) as held:
            refuse_if_held(held.record.folder)
            held.work.forget(request.conversation)
        self._office.journal(request.matter).seal(
            "conversation.forgotten",
            by=caller.person,
            through=caller.through,
            now=self._office.now(),
        )
        return Done()

    async def health(self, request: Health, caller: Caller) -> Result:
        """State of the worker's parts."""
        return HealthIs(parts=await self._health(request.prove))

    async def join_words(self, event: Event, matter: MatterId) -> Event:
        """An event with the words it only names, for sending."""
        body = event.body
        if isinstance(body, Completed):
            async with self._office.shelf.use(matter) as held:
                answer = held.work.answer(event.job)
            return msgspec.structs.replace(event, body=msgspec.structs.replace(body, answer=answer))
        if isinstance(body, Words):
            async with self._office.shelf.use(matter) as held:
                text = held.work.part(event.job, body.part)
            return msgspec.structs.replace(event, body=msgspec.structs.replace(body, text=text))
        return event


def _with_review(held: Held, job: Job) -> Job:
    if job.state is not JobState.DONE:
        return job
    try:
        answer = held.work.answer(job.id)
    except NotFound:
        return job
    return msgspec.structs.replace(job, review=answer.review, answer_sha256=answer.text_sha256)
