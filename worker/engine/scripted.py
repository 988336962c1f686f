"""An engine that answers from a script: for the tests of other rooms, and for `doctor`.

It keeps the whole promise (slots, cancel, deadline, progress, reuse of a matter's own head, the
refusal of a prompt that is too long), with words for tokens, so that what runs on it runs on a
real one. It computes nothing and waits only through the sleep it is given.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from protocol.errors import BadRequest, Unavailable
from worker.engine import (
    Capabilities,
    EngineLost,
    EngineProvenance,
    EngineSettings,
    Finished,
    FinishReason,
    Health,
    Prompt,
    PromptProgress,
    ReasoningText,
    Request,
    State,
    StreamEvent,
    Text,
    Usage,
    messages,
)
from worker.engine.asking import refuse_bad_limits
from worker.engine.calls import Calls
from worker.engine.fit import refuse_if_too_long
from worker.engine.wall import walled


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of a script."""

    text: str = ""
    when: str = ""
    """Words the question or the record must hold for this line to be said; empty: always."""
    reasoning: str = ""
    fails: str = ""
    """Empty; ``away``: before a word; ``lost``: after half of the text; ``refuses``."""
    steps: int = 4
    """Into how many batches reading the prompt is cut."""
    prefill_step_s: float = 0.0
    token_s: float = 0.0


Script = Sequence[Line] | Callable[[Request], Line]


class Scripted:
    """See `worker.engine.Engine`.

    Args:
        script: Lines said in order; a line whose ``when`` does not match is passed over, and the
            last one that matches is said again and again. Or a function from request to line.
        sleep: Waits; tests pass one that does not.
    """

    def __init__(
        self,
        script: Script,
        *,
        context_tokens: int = 4096,
        slots: int = 1,
        name: str = "scripted",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._script = script
        self._sleep = sleep
        self._name = name
        self._used: set[int] = set()
        self._up = False
        self._working = 0
        self._calls = Calls(slots, self._slots_working)
        self._read: dict[str, list[str]] = {}
        self._capabilities = Capabilities(
            context_tokens=context_tokens,
            slots=slots,
            progress=True,
            exact_count=True,
            reports_reuse=True,
            prewarm=True,
            schema=True,
            reasoning=True,
            notes=("answers come from a script",),
        )
        self.asked: list[Request] = []
        """Every request that reached the script, for assertions."""

    @classmethod
    def from_settings(cls, settings: EngineSettings) -> Scripted:
        """The engine of a JSON file that holds a list of lines.

        Raises:
            BadRequest: There is no such file, or it is not a list of lines.
        """
        return cls(
            _read_script(settings.script),
            context_tokens=settings.context_tokens,
            slots=settings.slots,
            name=settings.name,
        )

    async def start(self) -> None:
        self._up = True

    async def stop(self) -> None:
        self._up = False
        self._read.clear()
        await self._calls.close()

    def go_away(self) -> None:
        """Behave as an engine whose process died: running calls are lost, later ones refused."""
        self._up = False

    async def health(self) -> Health:
        if not self._up:
            return Health(state=State.DOWN, detail="the scripted engine is away")
        return Health(state=State.BUSY if self._calls.busy else State.READY)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def provenance(self) -> EngineProvenance:
        return EngineProvenance(engine="scripted", model=self._name)

    async def count_tokens(self, prompt: Prompt, matter: str = "") -> int:
        return len(_words(matter, prompt))

    async def count_texts(self, texts: Sequence[str]) -> tuple[int, ...]:
        return tuple(len(text.split()) for text in texts)

    async def stream(
        self, request: Request, on_progress: Callable[[PromptProgress], None] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        limits = request.limits
        refuse_bad_limits(limits)
        self._refuse_away()
        refuse_if_too_long(
            prompt_tokens=len(_words(request.matter, request.prompt)),
            max_tokens=limits.max_tokens,
            context_tokens=self._capabilities.context_tokens,
            block_tokens=[len(block.split()) for block in request.prompt.record],
        )
        events = self._calls.run(request, lambda: self._said(request), on_progress)
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
        self._refuse_away()
        words = _words(matter, prompt)
        reused = self._reuse(matter, words)
        return Usage(prompt_tokens=len(words), reused_tokens=reused)

    async def save(self, matter: str, prompt: Prompt, folder: Path) -> Path | None:
        return None

    async def restore(self, matter: str, prompt: Prompt, folder: Path) -> bool:
        return False

    async def forget(self, matter: str) -> None:
        self._read.pop(matter, None)

    # --- inside ----------------------------------------------------------------------------------

    async def _said(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self._refuse_away()
        self.asked.append(request)
        line = self._line(request)
        if line.fails == "away":
            raise Unavailable("the scripted engine is away")
        if line.fails == "refuses":
            raise BadRequest("the engine refused the request")
        self._working += 1
        try:
            words = _words(request.matter, request.prompt)
            known = self._reuse(request.matter, words)
            reused = known if request.limits.reuse else 0
            for done in _batches(reused, len(words), line.steps):
                yield PromptProgress(total=len(words), cached=reused, processed=done)
                await self._pause(line.prefill_step_s)
            if line.reasoning:
                yield ReasoningText(delta=line.reasoning)
            tokens = _tokens(line.text)
            allowed = request.limits.max_tokens
            for number, token in enumerate(tokens[:allowed]):
                if line.fails == "lost" and number == len(tokens) // 2:
                    raise EngineLost("the engine went away while it worked")
                yield Text(delta=token)
                await self._pause(line.token_s)
            if line.fails == "lost":
                raise EngineLost("the engine went away while it worked")
            cut = len(tokens) > allowed
            yield Finished(
                usage=Usage(
                    prompt_tokens=len(words),
                    reused_tokens=reused,
                    output_tokens=min(len(tokens), allowed),
                    prefill_ms=1000 * line.prefill_step_s * line.steps,
                    decode_ms=1000 * line.token_s * min(len(tokens), allowed),
                    finish_reason=FinishReason.LENGTH if cut else FinishReason.STOP,
                )
            )
        finally:
            self._working -= 1

    def _line(self, request: Request) -> Line:
        if callable(self._script):
            return self._script(request)
        said = "\n".join([*request.prompt.record, request.prompt.question])
        fits = [n for n, line in enumerate(self._script) if line.when in said]
        if not fits:
            raise BadRequest("the script has no line for this request")
        number = next((n for n in fits if n not in self._used), fits[-1])
        self._used.add(number)
        return self._script[number]

    def _reuse(self, matter: str, words: list[str]) -> int:
        """As a server with a host-RAM cache: the matter's last prompt is kept, others' are not."""
        kept = self._read.get(matter, [])
        same = 0
        for one, other in zip(kept, words, strict=False):
            if one != other:
                break
            same += 1
        self._read[matter] = words
        return min(same, len(words) - 1)

    async def _pause(self, seconds: float) -> None:
        await self._sleep(seconds)
        if not self._up:
            raise EngineLost("the engine went away while it worked")

    async def _slots_working(self) -> int:
        return self._working

    def _refuse_away(self) -> None:
        if not self._up:
            raise Unavailable("the scripted engine is away")


def _words(matter: str, prompt: Prompt) -> list[str]:
    return " ".join(said["content"] for said in messages(walled(matter, prompt))).split()


def _tokens(text: str) -> list[str]:
    """The text in pieces that end after a space, so that joined they are the text again."""
    pieces = text.split(" ")
    return [piece + " " for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _batches(reused: int, total: int, steps: int) -> list[int]:
    """Tokens done after each batch, the state before the first one included."""
    steps = max(1, steps)
    return [reused + (total - reused) * step // steps for step in range(steps + 1)]


def _read_script(path: Path | None) -> list[Line]:
    if path is None:
        return [Line(text="The record was not asked: this engine only says its script.")]
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Line])
    except (OSError, msgspec.DecodeError) as error:
        raise BadRequest("the script of the scripted engine cannot be read") from error
