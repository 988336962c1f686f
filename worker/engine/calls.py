"""The calls an engine is working on: one slot each, cancel, deadline, and when it is idle again.

Shared by the keepers. A keeper gives the raw stream; this file gives it a slot, ends it when asked,
and frees the slot only once the engine has really let go of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from protocol.errors import AppError, Unavailable
from worker.engine import (
    AnswerMalformed,
    EngineLost,
    Finished,
    FinishReason,
    PromptProgress,
    ReasoningText,
    Request,
    StreamEvent,
    Text,
    Usage,
)
from worker.engine.schema import broken_because

Source = Callable[[], AsyncGenerator[StreamEvent]]

IDLE_POLL_S = 0.05
"""First wait between looks at a slot that was torn away; it doubles up to the next figure."""
IDLE_POLL_MAX_S = 0.4


class _Call:
    """What is known of a running call."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.events: asyncio.Queue[StreamEvent | AppError | None] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None
        self.stopped: FinishReason | AppError | None = None
        self.usage = Usage()
        self.text: list[str] = []

    def stop(self, reason: FinishReason | AppError) -> None:
        if self.stopped is None and self.task is not None and not self.task.done():
            self.stopped = reason
            self.task.cancel()

    def end(self, task: asyncio.Task[None]) -> None:
        """Tell the consumer how the task ended; it may have been stopped before it began."""
        if task.cancelled():
            if isinstance(self.stopped, FinishReason):
                self.events.put_nowait(self.cut_short(self.stopped))
            elif self.stopped is not None:
                self.events.put_nowait(self.stopped)
        elif isinstance(error := task.exception(), AppError):
            self.events.put_nowait(error)
        elif error is not None:  # a fault of ours must reach the caller, not end in a task
            fault = Unavailable("the engine's answer could not be read")
            fault.__cause__ = error
            self.events.put_nowait(fault)
        self.events.put_nowait(None)

    def note(self, event: StreamEvent) -> None:
        """Keep count, so that a call that is cut short still says what it took."""
        match event:
            case PromptProgress(total=total, cached=cached):
                self.usage = Usage(prompt_tokens=total, reused_tokens=cached)
            case Text(delta=delta):
                self.text.append(delta)
                self._one_more()
            case ReasoningText():
                self._one_more()
            case Finished(usage=usage):
                self.usage = usage

    def _one_more(self) -> None:
        seen = self.usage
        self.usage = Usage(
            prompt_tokens=seen.prompt_tokens,
            reused_tokens=seen.reused_tokens,
            output_tokens=seen.output_tokens + 1,
        )

    def cut_short(self, reason: FinishReason) -> Finished:
        seen = self.usage
        return Finished(
            usage=Usage(
                prompt_tokens=seen.prompt_tokens,
                reused_tokens=seen.reused_tokens,
                output_tokens=seen.output_tokens,
                finish_reason=reason,
            )
        )


class Calls:
    """Gives out slots and takes them back.

    Args:
        slots: How many calls may work at the same time.
        working: How many slots the engine itself says are at work; asked after a call was torn
            away. It raises `Unavailable` when the engine is gone, which frees the slot.
        hung: Told when the engine is still at work so long after a call was torn away.
        limit_s: That long.
    """

    def __init__(
        self,
        slots: int,
        working: Callable[[], Awaitable[int]],
        *,
        hung: Callable[[], None] = lambda: None,
        limit_s: float = 60.0,
    ) -> None:
        self._hung = hung
        self._limit_s = limit_s
        self._free = asyncio.Semaphore(slots)
        self._working = working
        self._calls: dict[str, _Call] = {}
        self._streaming = 0
        self._releases: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._taken = 0

    @property
    def busy(self) -> bool:
        """Whether any slot is taken, by a call or by what is left of one."""
        return self._taken > 0

    def cancel(self, request_id: str) -> bool:
        """See `Engine.cancel`."""
        call = self._calls.get(request_id)
        if call is None:
            return False
        call.stop(FinishReason.CANCELLED)
        return True

    async def wait_idle(self, timeout_s: float) -> None:
        """See `Engine.wait_idle`."""
        if self._idle.is_set():
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError as error:
            raise Unavailable("the engine still works on what was stopped") from error

    async def close(self) -> None:
        """End every call as lost and forget every slot: the engine is gone."""
        for call in tuple(self._calls.values()):
            call.stop(EngineLost("the engine went away while it worked"))
        for release in tuple(self._releases):
            release.cancel()
        if self._releases:
            await asyncio.wait(self._releases)

    async def run(
        self,
        request: Request,
        source: Source,
        on_progress: Callable[[PromptProgress], None] | None = None,
    ) -> AsyncGenerator[StreamEvent]:
        """Work the call in a slot and yield its events; see `Engine.stream` for the rules."""
        if request.id in self._calls:
            raise ValueError("a call of this id is running")
        call = _Call(request)
        self._calls[request.id] = call
        call.task = asyncio.create_task(self._in_slot(call, source), name="engine-call")
        call.task.add_done_callback(call.end)
        deadline_s = request.limits.deadline_s
        timer = None
        if deadline_s is not None:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(deadline_s, call.stop, FinishReason.DEADLINE)
        try:
            while (event := await call.events.get()) is not None:
                if isinstance(event, AppError):
                    raise event
                if isinstance(event, PromptProgress) and on_progress is not None:
                    on_progress(event)
                yield event
        finally:
            if timer is not None:
                timer.cancel()
            call.task.cancel()
            await asyncio.wait({call.task})
            del self._calls[request.id]

    async def _in_slot(self, call: _Call, source: Source) -> None:
        """Pump the raw stream into the call's queue, in a task that `cancel` can end."""
        await self._free.acquire()
        self._taken += 1
        self._idle.clear()
        self._streaming += 1
        whole = False
        try:
            async with aclosing(source()) as events:
                async for event in events:
                    call.note(event)
                    if isinstance(event, Finished):
                        whole = True
                        _refuse_malformed(call)
                    call.events.put_nowait(event)
        finally:
            self._streaming -= 1
            if whole:
                self._release()
            else:
                later = asyncio.create_task(self._release_when_free(), name="engine-release")
                self._releases.add(later)
                later.add_done_callback(self._releases.discard)

    async def _release_when_free(self) -> None:
        """Hold the slot until the engine works on no more calls than stream now."""
        pause_s = IDLE_POLL_S
        try:
            async with asyncio.timeout(self._limit_s):
                while await self._working() > self._streaming:
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, IDLE_POLL_MAX_S)
        except Unavailable:
            pass  # an engine that is gone works on nothing
        except TimeoutError:
            self._hung()
        finally:
            self._release()

    def _release(self) -> None:
        self._taken -= 1
        if self._taken == 0:
            self._idle.set()
        self._free.release()


def _refuse_malformed(call: _Call) -> None:
    schema = call.request.limits.json_schema
    if schema is None:
        return
    usage = call.usage
    if usage.finish_reason is FinishReason.LENGTH:
        raise AnswerMalformed("the answer was cut before its form was complete", usage=usage)
    reason = broken_because("".join(call.text), schema)
    if reason:
        raise AnswerMalformed(f"the answer does not have the asked form: {reason}", usage=usage)
