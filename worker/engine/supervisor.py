"""Keeps one model's engine up: start, test, watch, restart; sets a failing build aside.

Itself an `Engine`: callers see one that is sometimes away. A call that is lost before its first
word is asked once more by itself; after a word was said the caller must decide, because what it
holds is void.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from protocol.errors import AppError, BadRequest, Internal, Unavailable
from worker.engine import (
    Capabilities,
    Engine,
    EngineLost,
    EngineProvenance,
    EngineSettings,
    Health,
    Prompt,
    PromptProgress,
    PromptTooLong,
    ReasoningText,
    Request,
    State,
    StreamEvent,
    Text,
    Usage,
)
from worker.engine.builds import BuildNote, Builds, SetAside, build_key
from worker.engine.llama_server import LlamaServer
from worker.engine.self_test import run_self_test
from worker.engine.speeds import Speed

RESTARTS = 5
"""So many restarts within `RESTARTS_WINDOW_S`, and the engine waits for an operator."""
RESTARTS_WINDOW_S = 600.0
BACKOFF_S = (0.1, 1.0, 5.0, 15.0, 30.0)
"""Pause before each restart of a row; the first is short, because most ends are single."""


T = TypeVar("T")


class Child(Engine, Protocol):
    """An engine whose process can end: what the supervisor needs beside `Engine`."""

    @property
    def alive(self) -> bool:
        """Whether it may be asked."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def condemn(self, reason: str) -> None:
        """Let `ended` return although the process runs."""

    async def ended(self) -> str:
        """Wait until it ends; gives the reason in words."""


def supervised_llama_server(settings: EngineSettings) -> Supervised:
    """A supervised ``llama-server``, with the fallback build behind it where one is configured."""
    builds = [settings]
    if settings.fallback_binary is not None and settings.unit_socket is None:
        builds.append(msgspec.structs.replace(settings, binary=settings.fallback_binary))
    return Supervised([partial(LlamaServer, build) for build in builds], settings)


class Supervised:
    """See `worker.engine.Engine`.

    Args:
        makes: Makers of fresh children, the preferred build first.
        settings: Timeouts, floor, and where notes on builds are kept.
        on_state: Told every change of health, for an operator's channel.
        sleep: Waits before a restart.
    """

    def __init__(
        self,
        makes: Sequence[Callable[[], Child]],
        settings: EngineSettings,
        *,
        on_state: Callable[[Health], None] = lambda _health: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._makes = makes
        self._settings = settings
        self._on_state = on_state
        self._sleep = sleep
        self._builds = Builds(settings.state_file)
        self._child: Child | None = None
        self._ready = asyncio.Event()
        self._health = Health(state=State.DOWN, detail="not started")
        self._restarts = 0
        self._recent: deque[float] = deque(maxlen=RESTARTS)
        self._watcher: asyncio.Task[None] | None = None
        self._last: Child | None = None
        self._passed: set[str] = set()

    # --- lifetime --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start and test; after a quarantine this is an operator's word to try again."""
        if self._watcher is not None and not self._watcher.done():
            await self._wait_ready()
            return
        if self._health.state is State.QUARANTINED:
            self._builds.pardon()
            self._recent.clear()
        self._say(State.STARTING)
        try:
            self._child = self._last = await self._come_up()
        except BaseException as error:
            detail = error.message if isinstance(error, AppError) else "the start was broken off"
            self._say(State.DOWN, detail)
            raise
        self._say(State.READY)
        self._watcher = asyncio.create_task(self._watch(), name="engine-watch")

    async def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait({self._watcher})
            self._watcher = None
        if self._child is not None:
            await self._child.stop()
            self._child = None
        self._say(State.DOWN, "stopped")

    async def health(self) -> Health:
        if self._health.state is State.READY and self._child is not None:
            child = await self._child.health()
            return Health(state=child.state, detail=child.detail, restarts=self._restarts)
        return self._health

    @property
    def pid(self) -> int | None:
        """Process id of the child that answers now."""
        return self._child.pid if self._child is not None and self._ready.is_set() else None

    @property
    def capabilities(self) -> Capabilities:
        child = self._known()
        return child.capabilities

    @property
    def provenance(self) -> EngineProvenance:
        return self._known().provenance

    # --- asking ----------------------------------------------------------------------------------

    async def stream(
        self, request: Request, on_progress: Callable[[PromptProgress], None] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        retried = False
        while True:
            child = await self._wait_ready()
            said = False
            try:
                async with aclosing(child.stream(request, on_progress)) as events:
                    async for event in events:
                        said = said or isinstance(event, Text | ReasoningText)
                        yield event
                return
            except (EngineLost, Internal) as error:
                self._lose(child, error)
                if said or retried or isinstance(error, Internal):
                    raise
            except Unavailable:
                if said or retried or child.alive:
                    raise
                self._lose(child, EngineLost("the engine is away"))
            retried = True

    async def cancel(self, request_id: str) -> bool:
        return self._child is not None and await self._child.cancel(request_id)

    async def wait_idle(self, timeout_s: float) -> None:
        if self._child is not None:
            await self._child.wait_idle(timeout_s)

    async def count_tokens(self, prompt: Prompt, matter: str = "") -> int:
        return await self._once_more(lambda child: child.count_tokens(prompt, matter))

    async def count_texts(self, texts: Sequence[str]) -> tuple[int, ...]:
        return await self._once_more(lambda child: child.count_texts(texts))

    async def prewarm(self, matter: str, prompt: Prompt) -> Usage:
        return await self._once_more(lambda child: child.prewarm(matter, prompt))

    async def save(self, matter: str, prompt: Prompt, folder: Path) -> Path | None:
        return await self._once_more(lambda child: child.save(matter, prompt, folder))

    async def restore(self, matter: str, prompt: Prompt, folder: Path) -> bool:
        return await self._once_more(lambda child: child.restore(matter, prompt, folder))

    async def forget(self, matter: str) -> None:
        """Empty the slots; where there is a host-RAM cache, end the child and start a fresh one,
        because its entries cannot be removed: nothing of the matter is left in any memory."""
        child = await self._wait_ready()
        if self._settings.cache_ram_mib == 0:
            await child.forget(matter)
            return
        await child.wait_idle(self._settings.stall_timeout_s)
        self._ready.clear()
        child.condemn("restarted to forget a matter")
        await self._wait_ready()

    # --- inside ----------------------------------------------------------------------------------

    async def _once_more(self, act: Callable[[Child], Awaitable[T]]) -> T:
        """Do it, and again with the next child when this one is lost over it."""
        child = await self._wait_ready()
        try:
            return await act(child)
        except EngineLost as error:
            self._lose(child, error)
        return await act(await self._wait_ready())

    def _lose(self, child: Child, error: AppError) -> None:
        """Nobody asks this child any more; the watch ends it and starts the next."""
        child.condemn(error.message)
        if child is self._child:
            self._ready.clear()

    async def _come_up(self) -> Child:
        """The first build that starts and passes its tests.

        Raises:
            AppError: Of the last build that was tried.
        """
        failure: AppError = Unavailable("every build of this engine is set aside")
        for make in self._makes:
            child = make()
            try:
                await child.start()
                key = build_key(child.provenance)
                note = self._builds.note(key)
                if note.set_aside:
                    raise SetAside
                if self._settings.self_test:
                    await self._test(child, key, note)
                return child
            except AppError as error:
                failure = error
                await child.stop()
            except OSError as error:
                await child.stop()
                said = error.strerror or "the system refused"
                failure = Unavailable(f"the engine could not be started: {said}")
                failure.__cause__ = error
            except BaseException:
                await child.stop()
                raise
        raise failure

    async def _test(self, child: Child, key: str, note: BuildNote) -> None:
        try:
            passed = await run_self_test(
                child,
                expected_sha256=note.answer_sha256,
                long_tokens=self._settings.long_test_tokens,
                expected_long_sha256=note.long_answer_sha256,
                floor_tokens_per_s=self._settings.floor_tokens_per_s,
                brief=key in self._passed,
            )
        except PromptTooLong as error:  # no fault of the build
            raise BadRequest(
                f"context_tokens is {child.capabilities.context_tokens}: too few for the"
                " start-up test",
                next_step="set context_tokens to 1024 or more",
            ) from error
        except AppError:
            self._builds.failed(key)
            raise
        self._passed.add(key)
        self._builds.passed(key, passed)
        Speed(self._settings.speeds_file, self._settings.name, child).note(passed.usage)

    async def _watch(self) -> None:
        """Wait for the child's end, start another; give up when it ends too often."""
        while self._child is not None:
            reason = await self._child.ended()
            self._ready.clear()
            self._say(State.DOWN, f"{reason}; it is being restarted")
            await self._child.stop()
            while not await self._restarted():
                pass

    async def _restarted(self) -> bool:
        """Try once; true when a child is up, or when there is nothing left to try."""
        now = asyncio.get_running_loop().time()
        while self._recent and now - self._recent[0] > RESTARTS_WINDOW_S:
            self._recent.popleft()
        if len(self._recent) == RESTARTS and self._set_aside():
            self._recent.clear()
        if len(self._recent) == RESTARTS:
            self._child = None
            self._say(
                State.QUARANTINED,
                f"{RESTARTS} restarts in {RESTARTS_WINDOW_S / 60:.0f} minutes: "
                f"{self._health.detail}",
            )
            return True
        pause_s = BACKOFF_S[min(len(self._recent), len(BACKOFF_S) - 1)]
        self._recent.append(now)
        self._restarts += 1
        await self._sleep(pause_s)
        try:
            self._child = self._last = await self._come_up()
        except AppError as error:
            self._say(State.DOWN, error.message)
            return False
        self._say(State.READY)
        return True

    def _set_aside(self) -> bool:
        """Set the build that keeps ending aside, where there is another one; tell if there is."""
        if self._last is None or len(self._makes) < 2:
            return False
        key = build_key(self._last.provenance)
        already = self._builds.note(key).set_aside
        self._builds.set_aside(key)
        return not already

    async def _wait_ready(self) -> Child:
        """The child, once it may be asked.

        Raises:
            Unavailable: It is not up, and will not be within the start limit.
        """
        if not self._ready.is_set():
            if self._watcher is None or self._watcher.done():
                raise Unavailable(f"the engine is away: {self._health.detail}")
            try:
                async with asyncio.timeout(self._settings.start_timeout_s):
                    await self._ready.wait()
            except TimeoutError as error:
                raise Unavailable(f"the engine is away: {self._health.detail}") from error
        assert self._child is not None
        return self._child

    def _known(self) -> Child:
        if self._last is None:
            raise Unavailable("the engine is not started")
        return self._last

    def _say(self, state: State, detail: str = "") -> None:
        if state is State.READY:
            self._ready.set()
        else:
            self._ready.clear()
        self._health = Health(state=state, detail=detail, restarts=self._restarts)
        self._on_state(self._health)
