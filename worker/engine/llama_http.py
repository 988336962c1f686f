"""What ``llama-server`` speaks beyond the OpenAI-style part: counting, slots, first choices."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from worker.engine import Limits, Prompt, StreamEvent, messages
from worker.engine.chat_api import ChatApi, sampling


class Peek(msgspec.Struct, frozen=True, kw_only=True):
    """The likeliest first tokens of an answer, for comparing two states of the kv_cache."""

    prompt_tokens: int
    reused_tokens: int
    logprobs: dict[str, float]
    """Natural logarithms of probabilities, by token."""


def apart(one: Peek, other: Peek) -> float:
    """The largest difference between two peeks' logprobs; infinite where the tokens differ."""
    if set(one.logprobs) != set(other.logprobs):
        return float("inf")
    return max(abs(one.logprobs[token] - other.logprobs[token]) for token in one.logprobs)


class LlamaHttp(ChatApi):
    """A connection to one ``llama-server``. Raises what `ChatApi` raises."""

    async def props(self) -> dict[str, Any]:
        answer: dict[str, Any] = await self.get("/props")
        return answer

    async def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The tokens that the model will read for this prompt, generation prompt included."""
        rendered = await self.post("/apply-template", {"messages": messages(prompt)})
        return await self.tokens(rendered["prompt"], special=True)

    async def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """The tokens of a text; ``special`` as for a whole rendered prompt."""
        body = {"content": text, "add_special": special, "parse_special": special}
        answer = await self.post("/tokenize", body)
        found: list[int] = answer["tokens"]
        return found

    async def ask(
        self, prompt: Prompt, limits: Limits, *, stall_timeout_s: float, slot: int | None = None
    ) -> AsyncGenerator[StreamEvent]:
        """Stream one answer, always with prefill progress: only so does a close stop it soon.

        Args:
            prompt: As it is sent.
            limits: Of the answer.
            stall_timeout_s: See `ChatApi.stream`.
            slot: The slot to work in; None leaves it to the server.
        """
        body = {
            "messages": messages(prompt),
            "return_progress": True,
            "cache_prompt": limits.reuse,
            **sampling(limits),
        }
        if limits.ignore_end:
            body["ignore_eos"] = True
        if slot is not None:
            body["id_slot"] = slot
        events = self.stream(body, stall_timeout_s=stall_timeout_s)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def peek(self, prompt: Prompt, *, reuse: bool = True, most: int = 5) -> Peek:
        """Read a prompt and look at the likeliest first tokens. Not for use beside streams."""
        body = {
            "messages": messages(prompt),
            "cache_prompt": reuse,
            "logprobs": True,
            "top_logprobs": most,
            **sampling(Limits(max_tokens=1)),
            "stream": False,
        }
        del body["stream_options"]
        answer = await self.post("/v1/chat/completions", body, timeout_s=600.0)
        first = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        timings = answer["timings"]
        return Peek(
            prompt_tokens=timings["cache_n"] + timings["prompt_n"],
            reused_tokens=timings["cache_n"],
            logprobs={choice["token"]: choice["logprob"] for choice in first},
        )

    async def slots_working(self, *, timeout_s: float) -> int:
        """How many slots work on something now."""
        slots = await self.get("/slots", timeout_s=timeout_s)
        return sum(bool(slot.get("is_processing")) for slot in slots)

    async def erase_slot(self, slot: int = 0) -> None:
        await self.post(f"/slots/{slot}?action=erase", {})

    async def save_slot(self, name: str, slot: int = 0) -> int:
        """Write a slot to the server's slot folder; gives the number of tokens in it."""
        answer = await self.post(f"/slots/{slot}?action=save", {"filename": name}, timeout_s=600.0)
        return int(answer["n_saved"])

    async def restore_slot(self, name: str, slot: int = 0) -> int:
        """Load a slot from the server's slot folder; gives the number of tokens in it."""
        answer = await self.post(
            f"/slots/{slot}?action=restore", {"filename": name}, timeout_s=600.0
        )
        return int(answer["n_restored"])
