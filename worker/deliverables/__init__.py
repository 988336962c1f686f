"""What a deliverable is: a plan of steps over one matter that ends in a `Draft`.

Each file of this folder is one deliverable with one coroutine ``make(desk, request)``. Code does
what code can (values, tables, order, places); a model only words or orders. A draft is not shown
until the pipeline has checked every item in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

from protocol.answers import Provenance, Timings
from protocol.errors import Unavailable
from protocol.events import Found, Progress, Stage
from protocol.ids import DocumentId
from protocol.record import Coverage, DocumentClass, DocumentInfo, Hit
from rag.coverage import coverage
from rag.embedding import Embedder
from rag.reranking import Reranker
from rag.retrieve import retrieve
from rag.scope import EVERYTHING, Scope, only_filters, parse
from worker.config import Settings
from worker.engine import Engine, PromptProgress
from worker.engine.speeds import Eta, Speed
from worker.jobs import JobContext
from worker.quoting import Sentence
from worker.read_ahead import ReadAhead
from worker.shelf import Held
from worker.threads import to_the_end


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table that code computed, and where its proof stands in the reply's text."""

    cells: tuple[str, ...]
    start: int
    end: int
    """``[start, end)`` of the quotation that proves it; the check gives its place and mark. Empty
    for a row that says that something was not found."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A reply before it is checked."""

    question: str
    text: str
    coverage: Coverage
    timings: Timings = field(default_factory=Timings)
    provenance: Provenance = field(default_factory=Provenance)
    columns: tuple[str, ...] = ()
    """Of the table, where the reply has one; the check adds place and verdict."""
    rows: tuple[Row, ...] = ()
    proof_columns: tuple[str, str] = ("place", "mark")
    """What the check's two columns are called: of what the place and the verdict are."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Colleague:
    """Another board that may be asked within one job."""

    board: str
    engine: Engine
    aside: Callable[[], AbstractAsyncContextManager[None]]
    """Nothing is read ahead on that board until the block ends."""
    ready: Callable[[], Awaitable[bool]]
    """Whether its engine runs and nobody holds the board."""
    speed: Speed | None = None


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the maker of a deliverable works with: one job, one matter, one board's engine."""

    context: JobContext
    matter: Held
    engine: Engine
    embedder: Embedder
    embedding: asyncio.Lock
    """An embedder is used by one thread at a time."""
    settings: Settings
    reranker: Reranker | None
    """Looks at the first passages again; used while `embedding` is held."""
    extractive: bool
    """Whether the model only orders the record's words (see `worker.router`)."""
    speed: Speed | None = None
    """How fast the model was found to be on this board."""
    ahead: ReadAhead | None = None
    """Keeps the matter's record in the engine between questions."""
    reader: Colleague | None = None
    """Who reads a reply once more; None where the writer's own model does."""
    helpers: tuple[Colleague, ...] = ()
    """Other boards on which parts of a long work may be done at the same time."""
    scope: Scope = EVERYTHING
    """What of the matter the request is about, by its filters."""

    async def within(self, text: str) -> tuple[Desk, str]:
        """The desk of a request with filters in its words, and the words without them.

        Raises:
            BadRequest: A filter cannot be kept.
        """
        scope = await asyncio.to_thread(parse, text, self.matter.record)
        return replace(self, scope=scope), scope.words

    async def covered(
        self, searched: str, documents: Sequence[DocumentId] | None = None
    ) -> Coverage:
        """What was read of the record, or of the documents that a request named or filtered.

        Args:
            searched: What was looked through, in words.
            documents: Those that were looked at where the request named some.
        """
        if self.scope.filters is not None:
            searched = f"{self.scope.told}: {searched}"
            documents = self.scope.documents if documents is None else documents
        return await asyncio.to_thread(
            coverage, self.matter.record, documents=documents, searched=searched
        )

    @property
    def scope_notes(self) -> tuple[str, ...]:
        """What stands beside a reply that was made of a part of the record."""
        return (self.scope.note,) if self.scope.note else ()

    def at(self, colleague: Colleague) -> Desk:
        """The same desk at another board's engine."""
        return replace(
            self, engine=colleague.engine, speed=colleague.speed, ahead=None, reader=None
        )

    async def stage(self, stage: Stage, done: int = 0, total: int = 0) -> None:
        """Says how far a stage is."""
        await self.context.say(Progress(stage=stage, done=done, total=total))

    async def read(self, progress: PromptProgress, eta: Eta) -> None:
        """Says how far the engine has read the prompt, and how long the rest will take."""
        eta_s, guessed = eta.say(progress, time.monotonic())
        said = Progress(
            stage=Stage.READING,
            done=progress.processed,
            total=progress.total,
            eta_s=eta_s,
            eta_estimated=guessed,
        )
        await self.context.say(said)

    async def retrieve(self, question: str, top_k: int) -> tuple[Hit, ...]:
        """The passages that answer a question best; by words alone while the embedder is away."""
        async with self.embedding:
            try:
                return await to_the_end(
                    retrieve,
                    self.matter.record,
                    question,
                    embedder=self.embedder,
                    top_k=top_k,
                    filters=self.scope.filters,
                    reranker=self.reranker,
                )
            except Unavailable:
                return await to_the_end(
                    retrieve,
                    self.matter.record,
                    question,
                    embedder=None,
                    top_k=top_k,
                    filters=self.scope.filters,
                )

    async def found(self, hits: Sequence[Hit]) -> None:
        """Says from how much the reply will be made."""
        documents = {hit.passage.span.document for hit in hits}
        await self.context.say(Found(passages=len(hits), documents=len(documents)))

    async def sentences(self, document: DocumentId) -> tuple[Sentence, ...]:
        """All quotable sentences of a document, in order."""
        return await self.matter.sentences(document)

    def chosen(self, documents: Sequence[DocumentId]) -> tuple[DocumentInfo, ...]:
        """The named documents of the record, all of them when none is named; within the filters."""
        every = self.matter.record.documents()
        if self.scope.filters is not None:
            inside = set(self.scope.documents)
            every = [info for info in every if info.id in inside]
        if not documents:
            return tuple(every)
        named = set(documents)
        return tuple(info for info in every if info.id in named)

    def telling(
        self, documents: Sequence[DocumentId]
    ) -> tuple[tuple[DocumentInfo, ...], tuple[str, ...]]:
        """The documents a reply about the record is made from, and a note on what is left out.

        Our own output never tells anything, and the lawyers' own papers only when they are named:
        what stands in them is no fact. A note names what is left out, and what is privileged.
        """
        chosen = [
            info
            for info in self.chosen(documents)
            if info.document_class is not DocumentClass.MODEL_OUTPUT
        ]
        filters = self.scope.filters
        named = bool(documents) or bool(filters and filters.names_papers)
        told = [
            info
            for info in chosen
            if named or info.document_class is not DocumentClass.WORK_PRODUCT
        ]
        kept = [info.title for info in chosen if info not in told]
        closed = [info.title for info in told if info.privileged]
        notes = (
            f"Left out as the lawyers' own papers: {', '.join(kept)}." if kept else "",
            f"Made from what is marked as privileged: {', '.join(closed)}." if closed else "",
        )
        return tuple(told), (*self.scope_notes, *filter(None, notes))

    async def narrowed(self, only: str) -> Desk:
        """The desk of a request that may bring filters besides the documents it names.

        Raises:
            BadRequest: A filter cannot be kept, or words stand beside the filters.
        """
        return replace(self, scope=await asyncio.to_thread(only_filters, only, self.matter.record))
