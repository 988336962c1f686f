"""Requests that become jobs: the words go to the matter's file, the job to the queue."""

from __future__ import annotations

import asyncio
from typing import Final

from protocol.errors import BadRequest, NotFound
from protocol.ids import DocumentId
from protocol.jobs import (
    Accepted,
    Ask,
    Cancel,
    Chronology,
    CiteCheck,
    Done,
    Extract,
    Find,
    Ingest,
    Result,
    Summarize,
    WorkRequest,
    WriteDraft,
)
from rag.matters import OpenMatter
from rag.scope import only_filters, parse
from worker.deliverables.column_names import check as check_columns
from worker.handlers import Office
from worker.jobs import NewJob
from worker.logs import Log
from worker.placing import Placing
from worker.service import Caller
from worker.shelf import Held

MOST_CHARS: Final = 20_000
"""Longest question, in characters: about ten pages. A longer text belongs into a file."""

WEIGHT_S: Final[dict[type[WorkRequest], float]] = {
    Find: 1.0,
    Ask: 20.0,
    Extract: 5.0,
    Chronology: 10.0,
    CiteCheck: 10.0,
    WriteDraft: 10.0,
    Summarize: 30.0,
    Ingest: 60.0,
}
"""First guess of the seconds a kind takes, until the box has learned better (`worker.weights`)."""

_LOG: Final = Log("work")
_WHAT: Final = frozenset({"dates", "amounts", "parties", "facts", "all", "columns"})


class Work:
    """Takes work in."""

    def __init__(self, office: Office, placing: Placing) -> None:
        self._office = office
        self._placing = placing

    async def submit(self, request: WorkRequest, caller: Caller) -> Result:
        """Puts a request in line; it is on disk when this returns.

        Raises:
            BadRequest: It is empty, too long, or asks for what there is not.
            NotFound: It names a document that the matter has not got.
            Conflict: Its key was used for another request.
        """
        _check(request)
        office = self._office
        async with office.shelf.use(request.matter) as held:
            await asyncio.to_thread(_check_filters, request, held.record)
            if documents := _documents_of(request):
                known = {info.id for info in held.record.documents()}
                if not known.issuperset(documents):
                    raise NotFound("no such document in this matter")
            sha256 = held.work.put_request(request)
            kind = _kind(request)
            choice = await self._placing.board_for(kind, request.matter)
            job = await office.queue.add(
                NewJob(
                    matter=request.matter,
                    kind=kind,
                    user=caller.person,
                    board=choice.name,
                    weight_s=self._weight_s(request, held, choice.name),
                    key=request.key,
                    request_sha256=sha256,
                )
            )
            self._placing.placed(job)
        _LOG.info("job.placed", job=job.id, board=job.board, reason=choice.code)
        office.journal(request.matter).seal(
            "job.accepted",
            by=caller.person,
            through=caller.through,
            now=office.now(),
            job=job.id,
            details={"kind": kind, "request": sha256},
        )
        return Accepted(job=job.id, last_seq=job.last_seq)

    def _weight_s(self, request: WorkRequest, held: Held, board: str) -> float:
        named = _documents_of(request)
        infos = held.record.documents()
        pages = sum(info.pages for info in infos if not named or info.id in named)
        guess = WEIGHT_S[type(request)]
        return self._office.weights.of(board, _kind(request), pages, guess).seconds

    async def cancel(self, request: Cancel, caller: Caller) -> Result:
        """Stops a job; asking twice is harmless."""
        job = await self._office.queue.stop(request.job)
        self._office.journal(job.matter).seal(
            "job.stop_asked",
            by=caller.person,
            through=caller.through,
            now=self._office.now(),
            job=job.id,
        )
        return Done()


def _documents_of(request: WorkRequest) -> tuple[DocumentId, ...]:
    """The documents a request names; none means all."""
    if isinstance(request, CiteCheck):
        return () if request.document is None else (request.document,)
    return tuple(getattr(request, "documents", ()))


def _check(request: WorkRequest) -> None:
    if not request.key or len(request.key) > 200:
        raise BadRequest("a request carries a key of 1 to 200 characters")
    text = ""
    if isinstance(request, Ask):
        text = request.question
    elif isinstance(request, Find):
        text = request.text
    elif isinstance(request, Extract):
        if request.what not in _WHAT or (request.what == "columns") != bool(request.columns):
            raise BadRequest(
                "there is no such extract", next_step=f"choose {', '.join(sorted(_WHAT))}"
            )
        if request.columns:
            check_columns(request.columns)
        return
    elif isinstance(request, CiteCheck):
        if (request.document is None) == (not request.text.strip()):
            raise BadRequest("name one document to check, or give a text")
        if request.document is not None:
            return
        text = request.text
    elif isinstance(request, WriteDraft):
        text = f"{request.form} {request.about} {request.witness}"
    else:
        return
    if not text.strip():
        raise BadRequest("the question is empty")
    if len(text) > MOST_CHARS:
        raise BadRequest(
            f"the question has {len(text):,} characters; {MOST_CHARS:,} is the most",
            next_step="put the text into a file of the matter and ask about it",
        )


def _check_filters(request: WorkRequest, record: OpenMatter) -> None:
    """Refuses at once what the job would refuse later: a filter that cannot be kept.

    Raises:
        BadRequest: The message says which filter and why.
    """
    if isinstance(request, Ask | Find):
        words = request.question if isinstance(request, Ask) else request.text
        if not parse(words, record).words:
            raise BadRequest(
                "the filters say where to look, not for what",
                next_step="write what to look for beside them",
            )
    elif isinstance(request, WriteDraft):
        parse(request.about, record)
        parse(request.witness, record)
    elif isinstance(request, Summarize | Extract | Chronology):
        only_filters(request.only, record)


def _kind(request: WorkRequest) -> str:
    return str(type(request).__struct_config__.tag)
