"""Works for other boxes: the OpenAI-style interface on a unix socket, one job of the line a call.

Only the gateway connects here, for keys of role ``box``. A call is a job of kind ``lend`` on the
board, so that it waits its turn fairly among everybody's, is seen, counted and stopped like any
other, and holds a lease: when this box dies, the lease runs out. When the borrower dies, its line
closes and the job is stopped. Prompt and words pass through memory; none is kept or logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from protocol.errors import AppError, BadRequest, Unavailable
from protocol.events import Completed
from protocol.ids import JobId, UserName
from protocol.jobs import JobState
from worker.boxes import CHAT_PATH, LEND, MODELS_PATH, OFFER_PATH, Loan, Offer, Rules
from worker.engine import (
    Engine,
    EngineLost,
    Finished,
    FinishReason,
    Limits,
    Prompt,
    PromptProgress,
    ReasoningText,
    Request,
    StreamEvent,
    Text,
    Turn,
)
from worker.jobs import JobContext, JobQueue, NewJob
from worker.logs import Log

MOST_BYTES: Final = 16 << 20
"""Largest request: a prompt of some million tokens."""

_LOG: Final = Log("boxes")


class _Message(msgspec.Struct):
    role: str
    content: str


class _Form(msgspec.Struct):
    """``response_format`` as `worker.engine.chat_api.sampling` sends it."""

    json_schema: dict[str, Any]


class _Asked(msgspec.Struct):
    """A request, as far as we take it."""

    messages: list[_Message]
    metadata: Loan
    max_tokens: int
    temperature: float = 0.0
    seed: int = 1
    response_format: _Form | None = None


class _Turn:
    """A call in line: when it may begin, and when it is over."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.over = asyncio.Event()
        self.speaking = False
        """Whether words were sent already."""
        self.ended = False
        """Whether it came to an end of its own, good or bad."""
        self.error: AppError | None = None


class Lender:
    """Lends one engine.

    Args:
        engine: What works.
        queue: The line it is taken from.
        board: The board's name in that line; its runner gives jobs of kind ``lend`` to `work`.
        model_sha256: Hash of the weights.
        rules: What is not taken.
    """

    def __init__(
        self, engine: Engine, queue: JobQueue, *, board: str, model_sha256: str, rules: Rules
    ) -> None:
        self._engine = engine
        self._queue = queue
        self._board = board
        self._model_sha256 = model_sha256
        self._rules = rules
        self._turns: dict[str, _Turn] = {}

    @contextlib.asynccontextmanager
    async def open(self, path: Path) -> AsyncIterator[Lender]:
        """Listens on the socket until the block ends."""
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_get(OFFER_PATH, self._offer)
        app.router.add_get(MODELS_PATH, self._models)
        app.router.add_post(CHAT_PATH, self._lend)
        # A borrower that goes away cancels what it asked for.
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        path.unlink(missing_ok=True)
        try:
            await web.UnixSite(runner, str(path)).start()
            path.chmod(0o660)
            yield self
        finally:
            await runner.cleanup()
            path.unlink(missing_ok=True)

    async def work(self, context: JobContext) -> Completed:
        """The job's part: its place on the board is the call's until the call is over.

        Raises:
            Unavailable: Nobody waits for it any more.
        """
        turn = self._turns.get(context.request_sha256)
        if turn is None:
            raise Unavailable("the box that asked is gone")
        turn.begun.set()
        await turn.over.wait()
        if turn.error is not None:
            raise turn.error
        return Completed(answer_sha256="", verified=0, to_look_at=0, failing=0)

    async def _offer(self, request: web.Request) -> web.Response:
        health, can = await self._engine.health(), self._engine.capabilities
        offer = Offer(
            box=self._rules.box,
            board=self._board,
            model_sha256=self._model_sha256,
            context_tokens=can.context_tokens,
            slots=can.slots,
            state=health.state.value,
            schema=can.schema,
        )
        return _json(offer)

    async def _models(self, request: web.Request) -> web.Response:
        return _json({"data": [{"id": self._model_sha256}]})

    async def _lend(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        try:
            asked = msgspec.json.decode(body, type=_Asked)
            self._rules.check_taking(asked.metadata)
            prompt = _prompt(asked.messages)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
            return _refused(400)  # what msgspec says may repeat what was sent
        except AppError as error:
            _LOG.warning("loan.refused", code=error.code)
            return _refused(403 if isinstance(error, BadRequest) else 503)
        loan = asked.metadata
        reference = hashlib.sha256(loan.call.encode() + b"\0" + body).hexdigest()
        turn = self._turns[reference] = _Turn()
        job: JobId | None = None
        try:
            added = await self._queue.add(
                NewJob(
                    matter=loan.matter,
                    kind=LEND,
                    user=UserName(loan.box),
                    board=self._board,
                    weight_s=loan.weight_s,
                    key=loan.call,
                    request_sha256=reference,
                )
            )
            job = added.id
            if added.state not in (JobState.WAITING, JobState.RUNNING):
                turn.ended = True
                return _refused(409)  # this call was made and ended before
            await turn.begun.wait()
            response = await self._stream(request, turn, job, loan, prompt, _limits(asked))
            turn.ended = True
            return response
        except AppError as error:
            turn.ended, turn.error = True, error
            if turn.speaking and request.transport is not None:
                # The status is sent: a line that breaks is all that can still be said.
                request.transport.abort()
            return _refused(503 if error.retry else 400)
        finally:
            self._turns.pop(reference, None)
            if job is not None and not turn.ended:  # the borrower went away
                await asyncio.shield(self._queue.stop(job))
            turn.over.set()

    async def _stream(
        self,
        request: web.Request,
        turn: _Turn,
        job: JobId,
        loan: Loan,
        prompt: Prompt,
        limits: Limits,
    ) -> web.StreamResponse:
        asked = Request(id=job, matter=loan.matter, prompt=prompt, limits=limits)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        async with aclosing(self._engine.stream(asked)) as events:
            async for event in events:
                if not response.prepared:  # what goes wrong before it gets a status of its own
                    turn.speaking = True
                    await response.prepare(request)
                await response.write(b"data: " + msgspec.json.encode(_chunk(event)) + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        _LOG.info("loan.done", job=job)
        return response


def _prompt(said: list[_Message]) -> Prompt:
    """The prompt that gives these messages again; see `worker.engine.messages`."""
    system = ""
    if said and said[0].role == "system":
        system, said = said[0].content, said[1:]
    if len(said) % 2 == 0:
        raise BadRequest("a request ends with a question")
    turns = tuple(
        Turn(question=asked.content, answer=answered.content)
        for asked, answered in zip(said[:-1:2], said[1::2], strict=True)
    )
    return Prompt(system=system, turns=turns, question=said[-1].content)


def _limits(asked: _Asked) -> Limits:
    schema = None if asked.response_format is None else asked.response_format.json_schema["schema"]
    return Limits(
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        seed=asked.seed,
        json_schema=schema,
    )


def _chunk(event: StreamEvent) -> dict[str, Any]:
    """An event as a chunk of the interface, as `worker.engine.chat_api` reads it."""
    match event:
        case Text(delta=delta):
            return {"choices": [{"delta": {"content": delta}}]}
        case ReasoningText(delta=delta):
            return {"choices": [{"delta": {"reasoning_content": delta}}]}
        case PromptProgress(total=total, cached=cached, processed=processed):
            progress = {"total": total, "cache": cached, "processed": processed}
            return {"choices": [], "prompt_progress": progress}
        case Finished(usage=usage):
            if usage.finish_reason in (FinishReason.CANCELLED, FinishReason.DEADLINE):
                raise EngineLost("the call was ended on this box")
            return {
                "choices": [{"delta": {}, "finish_reason": usage.finish_reason.value}],
                "usage": {
                    "prompt_tokens": usage.prompt_tokens,
                    "completion_tokens": usage.output_tokens,
                },
                "timings": {
                    "cache_n": usage.reused_tokens,
                    "prompt_ms": usage.prefill_ms,
                    "predicted_ms": usage.decode_ms,
                },
            }


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _refused(status: int) -> web.Response:
    """A status and no words: they might repeat the request."""
    return web.Response(status=status)
