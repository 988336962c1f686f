"""Requests that only look: matters, jobs, documents, a page, an answer, the worker's health."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from protocol.errors import NotFound
from protocol.events import Completed, Event, Words
from protocol.ids import DocumentId, JobId, MatterId
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
    ListAudit,
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
from worker.asked import holds, shown, words_of
from worker.boxes import LEND
from worker.handlers import Office
from worker.holds import refuse_if_held
from worker.service import Caller
from worker.shelf import Held
from worker.trail import trail

_MOST_JOBS = 200
_MOST_ENTRIES = 200
_ALL_JOBS = 1_000_000
"""More than a queue keeps of a matter."""
_AT_ONCE = 200
"""Requests read before others get their turn."""


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
        """The newest jobs with their review state; on request with what each asked for."""
        most = max(1, min(request.most, _MOST_JOBS))
        back = request.asked or bool(request.words.strip()) or request.before is not None
        jobs = await self._office.queue.jobs(request.matter, _ALL_JOBS if back else most)
        jobs = tuple(job for job in jobs if job.kind != LEND)  # calls on another box of this line
        async with self._office.shelf.use(request.matter) as held:
            if back:
                return await self._looked_back(held, request, jobs, most)
            return Jobs(jobs=tuple(_with_review(held, job) for job in jobs))

    async def _looked_back(
        self, held: Held, request: ListJobs, jobs: tuple[Job, ...], most: int
    ) -> Jobs:
        if request.before is not None:
            jobs = tuple(job for job in jobs if job.id < request.before)
        hashes = await self._office.queue.requests(request.matter)
        titles = {one.id: one.title or one.name for one in held.record.documents()}
        said: dict[JobId, str] = {}
        fitting: list[Job] = []
        for number, job in enumerate(jobs, start=1):
            if request.words.strip() or len(fitting) < most:
                said[job.id] = _said(held, hashes.get(job.id, ""), titles)
            if holds(said.get(job.id, ""), request.words):
                fitting.append(job)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        page = fitting[:most]
        return Jobs(
            jobs=tuple(_with_review(held, job) for job in page),
            asked={job.id: shown(said[job.id]) for job in page} if request.asked else {},
            more=len(fitting) - len(page),
        )

    async def audit(self, request: ListAudit, caller: Caller) -> Result:
        """The end of the matter's journal; the whole chain is followed for it."""
        most = max(1, min(request.most, _MOST_ENTRIES))
        if not self._office.shelf.exists(request.matter):
            raise NotFound("no such matter")
        return await asyncio.to_thread(trail, self._office.audit, request.matter, most)

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


def _said(held: Held, sha256: str, titles: Mapping[DocumentId, str]) -> str:
    try:
        return words_of(held.work.request(sha256), titles)
    except NotFound:  # its words are gone
        return ""


def _with_review(held: Held, job: Job) -> Job:
    if job.state is not JobState.DONE:
        return job
    try:
        answer = held.work.answer(job.id)
    except NotFound:
        return job
    return msgspec.structs.replace(job, review=answer.review, answer_sha256=answer.text_sha256)
