"""One job from its request to a held draft: make, check, keep, and say that it is done.

The deliverable makes a draft; the checker judges every item in it; the answer is stored as awaiting
review. Steps remember ids and hashes only. If the checker cannot run, nothing is green: the whole
reply is one item to look at, "not checked".
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

import verify
from protocol.answers import (
    AMBER,
    GREEN,
    RED,
    Answer,
    Claim,
    Finding,
    ItemKind,
    Provenance,
    ReviewState,
    SentenceClass,
    Table,
    Timings,
    Verdict,
)
from protocol.errors import AppError, BadRequest
from protocol.events import Completed, Stage
from protocol.jobs import (
    Ask,
    Chronology,
    CiteCheck,
    Extract,
    Find,
    Ingest,
    Job,
    Summarize,
    WorkRequest,
    WriteDraft,
)
from rag.embedding import Embedder
from rag.reranking import Reranker
from worker import told
from worker.checking import checked
from worker.config import Settings
from worker.deliverables import (
    Colleague,
    Desk,
    Draft,
    answering,
    chronology,
    citecheck,
    drafting,
    extraction,
    finding,
    reading,
    summary,
)
from worker.engine import Engine, State
from worker.engine.speeds import Speed
from worker.jobs import JobContext
from worker.logs import Log
from worker.read_ahead import ReadAhead
from worker.review import text_sha256
from worker.router import Router, is_extractive
from worker.shelf import Held, Shelf
from worker.threads import to_the_end
from worker.weights import Weights

_LOG: Final = Log("pipeline")

MAKERS: Final[dict[type[WorkRequest], Callable[[Desk, Any], Awaitable[Draft]]]] = {
    Ask: answering.make,
    Find: finding.make,
    Summarize: summary.make,
    Extract: extraction.make,
    Chronology: chronology.make,
    CiteCheck: citecheck.make,
    WriteDraft: drafting.make,
    Ingest: reading.make,
}
"""What makes the draft of each kind of work, each in a file of `worker.deliverables`."""

_NOT_CHECKED: Final = "The checker could not run: nothing in this reply has been checked."


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board's engine and what is known of its model."""

    engine: Engine
    billion_parameters: float | None
    ready: asyncio.Event
    """Set once the engine's start has ended, well or not."""
    speed: Speed | None = None
    """How fast its model was found to be."""
    ahead: ReadAhead | None = None
    """Reads records into the engine between jobs; None where the model only orders sentences."""

    away: bool = False
    """Whether it is another box: it words replies, and is no reader and no helper beside."""

    def aside(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Nothing is read ahead on this board until the block ends."""
        return self.ahead.aside() if self.ahead else contextlib.nullcontext()


async def _never(_: str) -> bool:
    return False


class Pipeline:
    """The work of every job; `worker.jobs.runner` calls it."""

    def __init__(
        self,
        *,
        shelf: Shelf,
        boards: Mapping[str, Board],
        embedder: Embedder,
        reranker: Reranker | None = None,
        settings: Settings,
        job: Callable[[Any], Awaitable[Job]],
        now: Callable[[], dt.datetime],
        on_reply: Callable[[Timings, Provenance], None] = lambda *_: None,
        paused: Callable[[str], Awaitable[bool]] = _never,
        weights: Weights | None = None,
    ) -> None:
        """Joins the parts.

        Args:
            weights: Told how long each job took.
            paused: Whether somebody holds a board: then no other board's job asks it either.
            on_reply: Told where the time of every reply went and who made it; it must not fail.
        """
        self._on_reply = on_reply
        self._weights = weights or Weights()
        self._shelf = shelf
        self._boards = boards
        self._embedder = embedder
        self._reranker = reranker
        self._embedding = asyncio.Lock()
        self._settings = settings
        self._job = job
        self._now = now
        self._paused = paused
        self._router = Router(settings)

    async def warm(self) -> None:
        """Loads the embedder's weights before the first question needs them."""
        async with self._embedding:
            try:
                await to_the_end(self._embedder.embed_question, "warm")
            except AppError as error:
                _LOG.warning("embedder.away", code=error.code)

    async def work(self, context: JobContext) -> Completed:
        """Runs one job.

        Raises:
            AppError: It cannot end well; the runner turns it into the job's last event.
        """
        started = time.perf_counter()
        queue_ms = await self._queue_ms(context)
        board = self._boards[context.board]
        async with self._shelf.use(context.matter) as held, board.aside():
            request = held.work.request(context.request_sha256)
            if isinstance(request, Ask | Summarize):
                await board.ready.wait()
            desk = Desk(
                context=context,
                matter=held,
                engine=board.engine,
                embedder=self._embedder,
                reranker=self._reranker,
                embedding=self._embedding,
                settings=self._settings,
                extractive=is_extractive(self._settings, board.billion_parameters),
                speed=board.speed,
                ahead=board.ahead,
                reader=self._reader(context.board),
                helpers=self._others(context.board),
            )
            maker = MAKERS.get(type(request))
            if maker is None:
                raise BadRequest("this worker does not do that")
            draft = await maker(desk, request)
            await desk.stage(Stage.CHECKING)
            answer = await self._checked(context, held, draft, queue_ms, started)
            held.work.put_answer(answer)
            self._on_reply(answer.timings, answer.provenance)
            held.work.drop_parts(context.job)
            if isinstance(request, Ask):
                held.work.put_turn(context.job, request.conversation, request.question, answer.text)
            if isinstance(request, Ingest) and board.ahead:
                board.ahead.want(context.matter)
        if context.attempt == 1:  # a later one finds the first one's steps done
            took_s = time.perf_counter() - started
            self._weights.took(context.board, context.kind, answer.coverage.pages, took_s)
        return completed(answer)

    def _reader(self, writer: str) -> Colleague | None:
        if self._boards[writer].away:
            return None
        name = self._router.reader_for(writer).name
        if name == writer or name not in self._boards:
            return None
        return self._colleague(name)

    def _colleague(self, name: str) -> Colleague:
        board = self._boards[name]

        async def ready() -> bool:
            if not board.ready.is_set() or await self._paused(name):
                return False
            return (await board.engine.health()).state in (State.READY, State.BUSY)

        return Colleague(
            board=name, engine=board.engine, aside=board.aside, ready=ready, speed=board.speed
        )

    def _others(self, own: str) -> tuple[Colleague, ...]:
        return tuple(
            self._colleague(name)
            for name, board in self._boards.items()
            if name != own
            and not board.away
            and not is_extractive(self._settings, board.billion_parameters)
        )

    async def _queue_ms(self, context: JobContext) -> float:
        waited = self._now() - (await self._job(context.job)).created_at
        return max(0.0, waited.total_seconds() * 1000)

    async def _checked(
        self, context: JobContext, held: Held, draft: Draft, queue_ms: float, started: float
    ) -> Answer:
        checking = time.perf_counter()
        notes: tuple[str, ...] = draft.notes
        version = verify.CHECKER_VERSION
        try:
            report = await checked(
                draft.text, held.opened(), job=context.job, user_text=draft.question
            )
        except Exception as error:  # whatever it is: an unchecked reply must not look checked
            _LOG.trouble("check.failed", error, job=context.job)
            items, claims = _unchecked(draft.text)
            notes = (_NOT_CHECKED, *notes)
        else:
            items, claims = report.findings, report.sentences
            notes = (*notes, *report.notes)
        now = time.perf_counter()
        record = {
            place.document: place.text_sha256
            for item in items
            for place in (*item.places, *item.also_in)
            if place.text_sha256
        }
        return Answer(
            job=context.job,
            matter=context.matter,
            kind=context.kind,
            question=draft.question,
            text=draft.text,
            items=items,
            sentences=claims,
            coverage=draft.coverage,
            timings=msgspec.structs.replace(
                draft.timings,
                queue_ms=queue_ms,
                checking_ms=(now - checking) * 1000,
                total_ms=queue_ms + (now - started) * 1000,
                board=context.board,
            ),
            provenance=msgspec.structs.replace(
                draft.provenance, checker_version=version, record=record
            ),
            text_sha256=text_sha256(draft.text),
            review=ReviewState.AWAITING,
            table=_table(draft, items),
            notes=tuple(dict.fromkeys(notes)),
        )


def completed(answer: Answer) -> Completed:
    """The last event of a job that ended with this answer; it counts, it holds no words."""
    found = told.verdicts(answer)
    return Completed(
        answer_sha256=answer.text_sha256,
        verified=sum(verdict in GREEN for verdict in found),
        to_look_at=sum(verdict in AMBER for verdict in found),
        failing=sum(verdict in RED for verdict in found),
    )


def _unchecked(text: str) -> tuple[tuple[Finding, ...], tuple[Claim, ...]]:
    item = Finding(
        number=1,
        start=0,
        end=len(text),
        kind=ItemKind.STATEMENT,
        verdict=Verdict.CHECK,
        reason="not checked",
    )
    claim = Claim(start=0, end=len(text), sentence_class=SentenceClass.UNSUPPORTED, items=(1,))
    return (item,), (claim,)


def _table(draft: Draft, items: tuple[Finding, ...]) -> Table | None:
    """The draft's rows, each with the verdict and place of the item that proves it."""
    if not draft.columns:
        return None
    rows, numbers = [], []
    for row in draft.rows:
        proof = next(
            (
                one
                for one in items
                if row.start <= one.start
                and one.end <= row.end
                and one.verdict is not Verdict.NOT_A_QUOTE
            ),
            None,
        )
        unproven = "NOT CHECKED" if row.end > row.start else ""
        verdict = proof.verdict.replace("_", " ") if proof else unproven
        if proof and proof.verdict in GREEN and draft.proof_columns[1] in told.ONLY_WORDS:
            verdict = told.AS_THERE  # the words shown are right; the finding beside them may be red
        place = "; ".join(one.pin_cite for one in proof.places) if proof else ""
        rows.append((*row.cells, place, verdict))
        numbers.append(proof.number if proof else 0)
    return Table(
        columns=(*draft.columns, *draft.proof_columns), rows=tuple(rows), items=tuple(numbers)
    )
