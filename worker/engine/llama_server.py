"""A ``llama-server`` child as an engine: one model, pinned to one board, spoken to over a socket.

The child is a configured binary, or the native server of the package ``xllamacpp`` in a process of
its own; both take the same flags. Where the engine has a unit of its own, `worker.engine.unit`
starts the same server and lends it. It always streams with prefill progress, because only then does
closing the stream stop it within a batch. It runs once: a child that ended is started again by
`worker.engine.supervisor`, which makes a fresh keeper.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from protocol.errors import AppError, Internal, Unavailable
from worker.boards.model_file import read_header
from worker.boards.sizes import refuse_cut
from worker.engine import (
    BETWEEN_BLOCKS,
    Capabilities,
    EngineProvenance,
    EngineSettings,
    Finished,
    Health,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    State,
    StreamEvent,
    Usage,
    bundled_model,
)
from worker.engine.asking import most_tokens, read_only, refuse_bad_limits
from worker.engine.build_help import read_help
from worker.engine.calls import Calls
from worker.engine.child import Child
from worker.engine.drafting import refuse_without_drafter
from worker.engine.fit import refuse_if_too_long
from worker.engine.llama_http import LlamaHttp
from worker.engine.loading import until_loaded
from worker.engine.models import file_sha256, verify_model
from worker.engine.run_folder import RunFolder
from worker.engine.server_flags import (
    recorded_flags,
    server_binary,
    server_flags,
    server_program,
)
from worker.engine.slot_keeper import SlotKeeper
from worker.engine.slot_test import try_slot_files, why_no_slot_files
from worker.engine.slots import Slots
from worker.engine.template_test import shared_tokens
from worker.engine.unit_child import UnitChild
from worker.engine.wall import Watch, walled


class LlamaServer:
    """See `worker.engine.Engine`; this keeper adds what `worker.engine.supervisor` needs."""

    kind = "llama_server"

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._calls = Calls(
            settings.slots,
            self._slots_working,
            hung=lambda: self.condemn("the engine did not stop when asked"),
            limit_s=settings.stall_timeout_s,
        )
        self._child: Child | UnitChild | None = None
        self._api: LlamaHttp | None = None
        self._run: RunFolder | None = None
        self._slots: SlotKeeper | None = None
        self._capabilities = Capabilities(context_tokens=settings.context_tokens)
        self._provenance = EngineProvenance(engine=self.kind, model=settings.name)
        self._watch = Watch(0)
        self._places = Slots(settings.slots)
        self._fault = ""
        self._faulty = asyncio.Event()

    # --- lifetime --------------------------------------------------------------------------------

    async def start(self) -> None:
        if self._child is not None:
            if not self.alive:
                raise Unavailable(f"the engine is away: {self._child.reason()}")
            return
        settings = self._settings
        model = settings.model if settings.model is not None else bundled_model()
        await asyncio.to_thread(self._refuse_unfit, model)  # before minutes of hashing
        weights = await asyncio.to_thread(verify_model, model, settings.model_sha256)
        binary = await asyncio.to_thread(file_sha256, self._binary())
        try:
            launch = self._attach if settings.unit_socket is not None else self._spawn
            socket, flags = await launch(model)
            self._api = LlamaHttp(socket, answer_timeout_s=settings.stall_timeout_s)
            await until_loaded(self._started_child(), self._api, settings.start_timeout_s)
            props = await self._api.props()
            template = str(props.get("chat_template", ""))
            self._provenance = EngineProvenance(
                engine=self.kind,
                model=settings.name,
                model_sha256=weights.sha256,
                binary_sha256=binary,
                build=str(props.get("build_info", "")),
                flags=await recorded_flags(flags),
                template_sha256=hashlib.sha256(template.encode()).hexdigest(),
            )
            await self._learn(props, model)
        except BaseException:
            await self.stop()
            raise

    def _refuse_unfit(self, model: Path) -> None:
        refuse_cut(model)
        refuse_without_drafter(self._settings, read_header(model))

    async def stop(self) -> None:
        await self._calls.close()
        if self._api is not None:
            await self._api.close()
        if self._child is not None:
            await self._child.stop()
        if self._run is not None:
            self._run.remove()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._started_child().pid

    @property
    def endpoint(self) -> str:
        """Where the child listens, for another client on this machine."""
        return self._server().endpoint

    @property
    def alive(self) -> bool:
        """Whether it may be asked."""
        return self._child is not None and self._child.alive and not self._fault

    def condemn(self, reason: str) -> None:
        """Note that this child must not answer any more; whoever waits in `ended` ends it."""
        self._fault = self._fault or reason
        self._faulty.set()

    async def ended(self) -> str:
        """Wait until the child ends or is condemned; gives the reason in words."""
        child = self._started_child()
        waits = [asyncio.create_task(child.wait()), asyncio.create_task(self._faulty.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return self._fault or child.reason()

    async def health(self) -> Health:
        if self._fault:
            return Health(state=State.DOWN, detail=self._fault)
        if self._child is None:
            return Health(state=State.DOWN, detail="not started")
        if not self._child.alive:
            return Health(state=State.DOWN, detail=self._child.reason())
        if self._calls.busy:
            return Health(state=State.BUSY)
        try:
            await self._server().get("/health", timeout_s=2.0)
        except AppError:
            return Health(state=State.DOWN, detail="the engine does not answer")
        if self._watch.read_again:
            return Health(state=State.READY, detail="a record that was just read was read again")
        return Health(state=State.READY)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def provenance(self) -> EngineProvenance:
        return self._provenance

    # --- counting --------------------------------------------------------------------------------

    async def count_tokens(self, prompt: Prompt, matter: str = "") -> int:
        return len(await self._server().prompt_tokens(walled(matter, prompt)))

    async def count_texts(self, texts: Sequence[str]) -> tuple[int, ...]:
        api = self._server()
        return tuple([len(await api.tokens(text)) for text in texts])

    async def _refuse_too_long(self, matter: str, prompt: Prompt, max_tokens: int) -> None:
        context = self._capabilities.context_tokens
        if most_tokens(matter, prompt) + max_tokens <= context:
            return
        tokens = await self.count_tokens(prompt, matter)
        if tokens + max_tokens <= context:
            return
        blocks = await self.count_texts([BETWEEN_BLOCKS + block for block in prompt.record])
        refuse_if_too_long(
            prompt_tokens=tokens, max_tokens=max_tokens, context_tokens=context, block_tokens=blocks
        )

    # --- asking ----------------------------------------------------------------------------------

    async def stream(
        self, request: Request, on_progress: Callable[[PromptProgress], None] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        limits = request.limits
        refuse_bad_limits(limits)
        self._server()
        await self._refuse_too_long(request.matter, request.prompt, limits.max_tokens)
        events = self._calls.run(
            request, lambda: self._asked(request.matter, request.prompt, limits), on_progress
        )
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def cancel(self, request_id: str) -> bool:
        return self._calls.cancel(request_id)

    async def wait_idle(self, timeout_s: float) -> None:
        await self._calls.wait_idle(timeout_s)

    async def prewarm(self, matter: str, prompt: Prompt) -> Usage:
        return await read_only(self, matter, prompt)

    async def _asked(
        self, matter: str, prompt: Prompt, limits: Limits
    ) -> AsyncGenerator[StreamEvent]:
        """One request, walled: what the server reports as reused must be the matter's own."""
        slot = self._places.take(matter)
        try:
            await self._enter(slot, matter)
            events = self._server().ask(
                walled(matter, prompt),
                limits,
                slot=slot,
                stall_timeout_s=self._settings.stall_timeout_s,
            )
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Finished):
                        self._check_wall(matter, event.usage)
                        self._watch.compare(matter, prompt, event.usage, reuse=limits.reuse)
                    elif isinstance(event, PromptProgress):
                        reused = Usage(prompt_tokens=event.total, reused_tokens=event.cached)
                        self._check_wall(matter, reused)
                    yield event
        finally:
            self._places.give_back(slot)

    async def _enter(self, slot: int, matter: str) -> None:
        """Without a host-RAM cache a slot is erased before another matter enters it."""
        if self._places.is_anothers(slot, matter) and self._settings.cache_ram_mib == 0:
            await self._server().erase_slot(slot)
        self._places.hold(slot, matter)

    def _check_wall(self, matter: str, usage: Usage) -> None:
        try:
            self._watch.check(matter, usage)
        except Internal as error:
            self.condemn(error.message)
            raise

    # --- kv_cache state --------------------------------------------------------------------------

    async def save(self, matter: str, prompt: Prompt, folder: Path) -> Path | None:
        return await self._slots.save(matter, prompt, folder) if self._slots else None

    async def restore(self, matter: str, prompt: Prompt, folder: Path) -> bool:
        return await self._slots.restore(matter, prompt, folder) if self._slots else False

    async def forget(self, matter: str) -> None:
        """Empty the slots. Host-RAM entries of the matter cannot be removed one by one: they stay
        unreachable for other matters until they are crowded out or the engine is restarted."""
        await self.wait_idle(self._settings.stall_timeout_s)
        for slot in range(self._settings.slots):
            await self._server().erase_slot(slot)
        self._places.empty()
        if self._settings.cache_ram_mib == 0:
            self._watch.forget(matter)

    def _restored(self, matter: str, tokens: int) -> None:
        self._places.hold(0, matter)  # there is one slot where there are slot files
        self._watch.restored(matter, tokens)

    # --- inside ----------------------------------------------------------------------------------

    async def _spawn(self, model: Path) -> tuple[str, list[str]]:
        """A child of ours; gives its socket and flags."""
        program = self._program()
        build = await read_help(program)
        self._run = RunFolder(self._settings.run_folder)
        socket = self._run.new_socket()
        slots = self._run.folder("slots")
        flags = server_flags(self._settings, model=model, socket=socket, slots=slots, build=build)
        self._child = await Child.start([*program, *flags], self._settings.environment)
        return str(socket), flags

    async def _attach(self, model: Path) -> tuple[str, list[str]]:
        """The server that the engine's own unit lends; gives its socket and flags."""
        assert self._settings.unit_socket is not None
        child = await UnitChild.attach(self._settings.unit_socket, self._settings.start_timeout_s)
        self._child = child
        await asyncio.to_thread(child.refuse_other, self._settings, model)
        return child.serves.socket, list(child.serves.flags)

    def _program(self) -> list[str]:
        return server_program(self._settings)

    def _binary(self) -> Path:
        return server_binary(self._settings)

    async def _learn(self, props: dict[str, Any], model: Path) -> None:
        """What the running server can do, and what every prompt shares with every other."""
        try:
            context = int(props["default_generation_settings"]["n_ctx"])
            slots = int(props["total_slots"])
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable("this build does not say what a llama-server says") from error
        if context < self._settings.context_tokens:
            raise Unavailable(
                f"the model holds {context} tokens, {self._settings.context_tokens} are configured"
            )
        caps = props.get("chat_template_caps", {})
        no_slot_files = await self._why_no_slot_files(model)
        self._capabilities = Capabilities(
            context_tokens=context,
            slots=slots,
            progress=True,
            exact_count=True,
            reports_reuse=True,
            prewarm=True,
            save_restore=self._slots is not None,
            schema=True,
            tools=bool(caps.get("supports_tools")),
            reasoning=bool(caps.get("supports_preserve_reasoning")),
            speculation=self._settings.speculation,
            kv_dtype=self._settings.kv_dtype,
            notes=(no_slot_files,) if no_slot_files else (),
        )
        self._watch = Watch(await shared_tokens(self._server().prompt_tokens))

    async def _why_no_slot_files(self, model: Path) -> str:
        if not self._settings.slot_files:
            return ""
        if self._settings.unit_socket is not None:
            return "slot files off: the engine has a unit of its own"
        if self._settings.slots > 1:
            return "slot files off: more than one slot"
        if why := why_no_slot_files(await asyncio.to_thread(read_header, model)):
            return why
        slots = self._slots_folder()
        tried = await try_slot_files(self._server(), slots)
        if tried.why_not:
            return tried.why_not
        self._slots = SlotKeeper(
            api=self._server(),
            calls=self._calls,
            ask=self._asked,
            restored=self._restored,
            provenance=self._provenance,
            slots=slots,
            token_bytes=tried.token_bytes,
        )
        return ""

    def _slots_folder(self) -> Path:
        assert self._run is not None
        return self._run.folder("slots")

    async def _slots_working(self) -> int:
        if not self.alive:
            raise Unavailable("the engine is away")
        return await self._server().slots_working(timeout_s=self._settings.stall_timeout_s)

    def _server(self) -> LlamaHttp:
        if self._api is None or not self.alive:
            raise Unavailable("the engine is away")
        return self._api

    def _started_child(self) -> Child | UnitChild:
        if self._child is None:
            raise Unavailable("the engine is not started")
        return self._child
