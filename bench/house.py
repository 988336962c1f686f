"""A worker in one process for benches and tests: real record, queue, pipeline, checker and gate.

Only the line and the model are left out: requests go straight to the handlers, and the engine says
what its script says. Whoever asks is always the same reviewer.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from protocol.answers import Answer
from protocol.events import Completed, Event, Failed
from protocol.ids import MatterId, UserName
from protocol.jobs import Accepted, Ask, WorkRequest
from protocol.record import DocumentInfo, Matter
from rag.embedding import Embedder, HashEmbedder
from rag.ingest import ingest
from rag.matters import create
from worker.config import Settings
from worker.engine import Engine, EngineSettings
from worker.engine.scripted import Line, Script, Scripted
from worker.handlers import Office
from worker.handlers.decide import Gate
from worker.handlers.edit import Edits
from worker.handlers.look import Look
from worker.handlers.work import Work
from worker.heads import Heads
from worker.jobs import JobQueue
from worker.jobs.memory import MemoryQueue
from worker.jobs.runner import Runner
from worker.pipeline import Board, Pipeline
from worker.placing import Placing
from worker.read_ahead import ReadAhead
from worker.router import Router
from worker.service import Caller
from worker.shelf import Shelf

CODE: Final = MatterId("M-7F3K")
"""The one matter of a house."""
YOU: Final = Caller(person=UserName("you"), through=None, matters=(CODE,))
SAMPLE: Final = Path(__file__).parents[1] / "tests" / "data" / "sample" / "hartwell-v-northgate"


def utc_now() -> dt.datetime:
    """The present time, aware and in UTC."""
    return dt.datetime.now(dt.UTC)


def read_matter(
    root: Path,
    folder: Path,
    title: str = "Hartwell v. Northgate",
    embedder: Embedder | None = None,
) -> None:
    """Makes the matter under ``root`` and reads a folder of files into it."""
    matter = Matter(id=CODE, title=title, opened_at=utc_now())
    with create(root / "matters" / CODE, matter) as held:
        ingest(held, embedder=embedder or HashEmbedder(), folder=folder)


class House:
    """What a handler is asked goes through queue, runner and pipeline."""

    def __init__(
        self, root: Path, shelf: Shelf, queue: JobQueue, office: Office, board: Board
    ) -> None:
        """Joins the parts; `open_house` builds them."""
        self.root, self.shelf, self.queue, self.office = root, shelf, queue, office
        self.board = board
        self.engine: Any = board.engine
        self.work = Work(office, Placing(Router(Settings(state=root)), queue))
        self.gate = Gate(office)
        self.edits = Edits(office)
        self.look = Look(office, _no_health)
        self.matter = CODE
        self._keys = 0

    async def documents(self) -> tuple[DocumentInfo, ...]:
        """The documents of the matter."""
        async with self.shelf.use(CODE) as held:
            return tuple(held.record.documents())

    @property
    def folder(self) -> Path:
        """The matter's folder."""
        return self.root / "matters" / CODE

    def key(self) -> str:
        """A key that was not used before."""
        self._keys += 1
        return f"key-{self._keys}"

    def ask(self, question: str, conversation: str = "c") -> Ask:
        """A question with a fresh key."""
        return Ask(matter=CODE, conversation=conversation, question=question, key=self.key())

    async def last(self, request: WorkRequest) -> Event:
        """The last event of a request, with its words."""
        accepted = await self.work.submit(request, YOU)
        assert isinstance(accepted, Accepted)
        after = 0
        while events := await self.queue.wait_event(accepted.job, after):
            after = events[-1].seq
            if isinstance(events[-1].body, Completed | Failed):
                return await self.look.join_words(events[-1], CODE)
        raise AssertionError("the job ended without a last event")

    async def answer(self, request: WorkRequest) -> Answer:
        """The reply to a request that must end well."""
        body = (await self.last(request)).body
        assert isinstance(body, Completed), body
        assert body.answer is not None
        return body.answer


async def _no_health() -> dict[str, tuple[str, str]]:
    return {}


@contextlib.asynccontextmanager
async def open_house(
    root: Path,
    script: Script | Sequence[Line] = (),
    *,
    composition: str = "model",
    queue: JobQueue | None = None,
    engine: Engine | None = None,
    embedder: Embedder | None = None,
    others: Mapping[str, Engine] | None = None,
    reads_ahead: bool = False,
    **settings: Any,
) -> AsyncIterator[House]:
    """Opens a house around a script.

    Args:
        root: Where the matter was made.
        script: What the engine says.
        composition: Who words a reply.
        queue: A queue that outlives the house, with the drafts of before; without one the house
            begins anew and its jobs and drafts of before are gone.
        engine: Instead of the script; started and stopped here.
        embedder: The one that read the matter; hashed vectors when none is given.
        others: Further boards by name, each with its engine; started and stopped here.
        reads_ahead: Whether records are read into the engine between jobs.
        settings: Further settings of the worker.
    """
    if queue is None:
        for stale in ("work.sqlite", "work.sqlite-wal", "work.sqlite-shm"):
            (root / "matters" / CODE / stale).unlink(missing_ok=True)
    engine = engine or Scripted(script or (Line(text="[[1]]"),))
    await engine.start()
    shelf = Shelf(root / "matters")
    queue = MemoryQueue(utc_now) if queue is None else queue
    ready = asyncio.Event()
    ready.set()
    if others:
        names = ("A", *others)
        settings["boards"] = tuple(EngineSettings(name=name, engine="scripted") for name in names)
    chosen = Settings(state=root, composition=composition, **settings)  # type: ignore[arg-type]
    ahead = ReadAhead(
        "A",
        engine=engine,
        ready=ready,
        heads=Heads(chosen.whole_record_tokens, chosen.answer_tokens),
        shelf=shelf,
        matters=root / "matters",
        slot_bytes=1 << 40,
    )
    board = Board(
        engine=engine,
        billion_parameters=None,
        ready=ready,
        ahead=ahead if reads_ahead else None,
    )
    more = {}
    for name, other in (others or {}).items():
        await other.start()
        more[name] = Board(engine=other, billion_parameters=None, ready=ready)
    pipeline = Pipeline(
        shelf=shelf,
        boards={"A": board, **more},
        embedder=embedder or HashEmbedder(),
        settings=chosen,
        job=queue.job,
        now=utc_now,
    )

    async def idle(_: str) -> None:
        async with board.aside():
            await engine.wait_idle(5.0)

    runner = Runner(queue, {"A": 1}, pipeline.work, idle=idle)
    await runner.start()
    reading = asyncio.create_task(ahead.run()) if reads_ahead else None
    office = Office(shelf=shelf, queue=queue, audit=root / "audit", now=utc_now)
    try:
        yield House(root, shelf, queue, office, board)
    finally:
        await runner.shut_down()
        if reading is not None:
            reading.cancel()
            await asyncio.wait({reading})
        await shelf.close()
        for one in (engine, *(others or {}).values()):
            await one.stop()
