"""Any server with the OpenAI-style interface: on this machine, or another box's, offered here by
the gateway as a unix socket.

It knows sockets and loopback only. A server that proves to be a ``llama-server`` is asked to count
tokens and to say its progress; of any other nothing more is claimed than the interface has: tokens
are counted by an upper estimate, and it is idle when our connections are closed. The wall is the
matter's code at the head of every prompt.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from protocol.errors import AppError, BadRequest, Unavailable
from worker.engine import (
    BETWEEN_BLOCKS,
    Capabilities,
    EngineProvenance,
    EngineSettings,
    Health,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    State,
    StreamEvent,
    Usage,
    messages,
)
from worker.engine.asking import (
    TEMPLATE_TOKENS_A_MESSAGE,
    most_tokens,
    read_only,
    refuse_bad_limits,
)
from worker.engine.calls import Calls
from worker.engine.chat_api import sampling
from worker.engine.fit import refuse_if_too_long
from worker.engine.llama_http import LlamaHttp
from worker.engine.wall import walled

_BYTES_A_TOKEN = 2
"""Fewer bytes than a token has on average in ordinary prose: English has about 4, Hangul in a
tokenizer that does not know it well 2 to 3."""


class Remote:
    """See `worker.engine.Engine`."""

    def __init__(self, settings: EngineSettings) -> None:
        """Raises:
        BadRequest: The endpoint is missing or not of this machine, or the key cannot be read.
        """
        key = ""
        if settings.key_file is not None:
            try:
                key = settings.key_file.read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise BadRequest("the key file of the remote engine cannot be read") from error
        self._settings = settings
        self._api = LlamaHttp(settings.endpoint, key=key)
        self._calls = Calls(settings.slots, self._slots_working)
        self._model = settings.remote_model
        self._up = False
        self._llama = False
        self._capabilities = Capabilities(
            context_tokens=settings.context_tokens,
            slots=settings.slots,
            progress=False,
            reports_reuse=True,
            prewarm=True,
            schema=True,
            notes=(
                "tokens are counted by an upper estimate",
                "slot files off: not on this machine",
            ),
        )

    async def start(self) -> None:
        if self._up:
            return
        try:
            answer = await self._api.get("/v1/models")
        except BadRequest as error:
            raise Unavailable("the remote engine does not list its models") from error
        names = [str(model.get("id", "")) for model in answer.get("data", ())]
        if not names:
            raise Unavailable("the remote engine offers no model")
        if self._model and self._model not in names:
            raise Unavailable("the remote engine does not offer the configured model")
        self._model = self._model or names[0]
        await self._look_closer()
        self._up = True

    async def stop(self) -> None:
        self._up = False
        await self._calls.close()
        await self._api.close()

    async def health(self) -> Health:
        if not self._up:
            return Health(state=State.DOWN, detail="not started")
        if self._calls.busy:
            return Health(state=State.BUSY)
        try:
            await self._api.get("/v1/models", timeout_s=2.0)
        except AppError as error:
            return Health(state=State.DOWN, detail=error.message)
        return Health(state=State.READY)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def provenance(self) -> EngineProvenance:
        return EngineProvenance(engine="remote", model=self._model)

    async def count_tokens(self, prompt: Prompt, matter: str = "") -> int:
        if self._llama:
            return len(await self._api.prompt_tokens(walled(matter, prompt)))
        said = messages(walled(matter, prompt))
        return sum(_estimate(m["content"]) + TEMPLATE_TOKENS_A_MESSAGE for m in said)

    async def count_texts(self, texts: Sequence[str]) -> tuple[int, ...]:
        if self._llama:
            return tuple([len(await self._api.tokens(text)) for text in texts])
        return tuple(_estimate(text) for text in texts)

    async def stream(
        self, request: Request, on_progress: Callable[[PromptProgress], None] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        refuse_bad_limits(request.limits)
        if not self._up:
            raise Unavailable("the engine is away")
        await self._refuse_too_long(request)
        events = self._calls.run(
            request,
            lambda: self._asked(request.matter, request.prompt, request.limits),
            on_progress,
        )
        async with aclosing(events):
            async for event in events:
                yield event

    async def cancel(self, request_id: str) -> bool:
        return self._calls.cancel(request_id)

    async def wait_idle(self, timeout_s: float) -> None:
        await self._calls.wait_idle(timeout_s)

    async def prewarm(self, matter: str, prompt: Prompt) -> Usage:
        return await read_only(self, matter, prompt)

    async def save(self, matter: str, prompt: Prompt, folder: Path) -> Path | None:
        return None

    async def restore(self, matter: str, prompt: Prompt, folder: Path) -> bool:
        return False

    async def forget(self, matter: str) -> None:
        return None

    async def _look_closer(self) -> None:
        """Learn whether it is a ``llama-server``, and what context it has."""
        try:
            props = await self._api.props()
            context = int(props["default_generation_settings"]["n_ctx"])
            await self._api.prompt_tokens(Prompt(system="", question="?"))
        except (AppError, KeyError, TypeError, ValueError):
            return
        self._llama = True
        self._capabilities = Capabilities(
            context_tokens=min(context, self._settings.context_tokens),
            slots=self._settings.slots,
            progress=True,
            exact_count=True,
            reports_reuse=True,
            prewarm=True,
            schema=True,
            notes=("slot files off: not on this machine",),
        )

    async def _refuse_too_long(self, request: Request) -> None:
        max_tokens = request.limits.max_tokens
        context = self._capabilities.context_tokens
        if most_tokens(request.matter, request.prompt) + max_tokens <= context:
            return
        tokens = await self.count_tokens(request.prompt, request.matter)
        if tokens + max_tokens <= context:
            return
        blocks = [BETWEEN_BLOCKS + block for block in request.prompt.record]
        refuse_if_too_long(
            prompt_tokens=tokens,
            max_tokens=max_tokens,
            context_tokens=context,
            block_tokens=await self.count_texts(blocks),
        )

    def _asked(self, matter: str, prompt: Prompt, limits: Limits) -> AsyncGenerator[StreamEvent]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages(walled(matter, prompt)),
            **sampling(limits),
        }
        if self._llama:
            body |= {"return_progress": True, "cache_prompt": limits.reuse}
            if limits.ignore_end:
                body["ignore_eos"] = True
        return self._api.stream(body, stall_timeout_s=self._settings.stall_timeout_s)

    async def _slots_working(self) -> int:
        if not self._llama:
            return 0  # the connection is closed; more cannot be known
        try:
            return await self._api.slots_working(timeout_s=self._settings.stall_timeout_s)
        except BadRequest:
            return 0  # it does not show its slots


def _estimate(text: str) -> int:
    return len(text.encode()) // _BYTES_A_TOKEN + 1
