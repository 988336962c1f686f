"""The canary campaign: no leak with our settings, and every leaky setting caught by the same one.

Part of it runs on a random-weight model with a sliding window, because it is quick and its cache is
the harder one to keep apart.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.canary import ANSWER_TOKENS, Campaign, Seen, run_campaign
from bench.engine_asking import BATCH_TOKENS, ask_engine, started_engine
from bench.harness import Result
from bench.raw_server import raw_server
from bench.tiny_model import write_sliding_window_model
from worker.engine import Finished, Limits, Prompt, Text, Usage, bundled_model
from worker.engine.llama_http import LlamaHttp
from worker.engine.wall import walled


@dataclass(frozen=True, kw_only=True)
class Alternations:
    """How often matters alternate in each campaign."""

    small: int
    """The bundled model, one slot."""
    small_parallel: tuple[int, int]
    """With two and three slots."""
    window: tuple[int, int, int]
    """The window model with one, two and three slots."""
    leaky: int
    """Each leaky setting."""

    @property
    def ours(self) -> int:
        """All with our settings."""
        return self.small + sum(self.small_parallel) + sum(self.window)


async def measure_wall(result: Result, sizes: Alternations, folder: Path, seed: int) -> None:
    """No leak with our settings; every leaky setting caught by the same campaign."""
    window = await asyncio.to_thread(
        write_sliding_window_model, folder / "window.gguf", bundled_model()
    )
    ours = [
        await _ours("small model", sizes.small, 1, seed, **_SIMPLE_DRAFTS),
        await _ours("small model, 2 slots", sizes.small_parallel[0], 2, seed),
        await _ours("small model, 3 slots", sizes.small_parallel[1], 3, seed),
    ]
    for slots, alternations in enumerate(sizes.window, start=1):
        name = f"window model, {slots} slot{'s' * (slots > 1)}"
        ours.append(await _ours(name, alternations, slots, seed, model=window))
    leaky = [
        await _leaky("no matter code, host-RAM cache", sizes, seed, "--cache-ram", "256"),
        await _leaky("no matter code, one slot", sizes, seed, "--cache-ram", "0"),
        await _leaky("shared n-gram pool", sizes, seed, *_SHARED_POOL, coded=True),
        await _leaky("n-gram map of a slot", sizes, seed, *_SLOT_MAP, coded=True),
        await _leaky_restore("another matter's slot file", seed),
    ]
    for campaign in ours + leaky:
        result.rows += campaign.rows
        result.rows.append(
            {
                "part": "campaign",
                "campaign": campaign.name,
                "alternations": campaign.alternations,
                "expected": "no leak" if campaign in ours else "caught",
                "came": f"{campaign.leaks} leaks",
                "kinds": sorted(campaign.kinds),
            }
        )
    result.figures["canary_alternations"] = sum(campaign.alternations for campaign in ours)
    result.figures["canary_leaks"] = sum(campaign.leaks for campaign in ours)
    result.figures["leaky_settings"] = len(leaky)
    result.figures["leaky_settings_caught"] = sum(campaign.leaks > 0 for campaign in leaky)


_SHARED_POOL = (
    *("--spec-type", "ngram-mod", "--spec-ngram-mod-n-match", "4"),
    *("--spec-ngram-mod-n-min", "2", "--spec-ngram-mod-n-max", "8", "--cache-ram", "64"),
)
_SLOT_MAP = (
    *("--spec-type", "ngram-map-k", "--spec-ngram-map-k-size-n", "4"),
    *("--spec-ngram-map-k-size-m", "8", "--cache-ram", "64"),
)
_SIMPLE_DRAFTS: dict[str, Any] = {
    "speculation": "ngram-simple",
    "flags": ("--spec-ngram-simple-size-n", "4", "--spec-ngram-simple-size-m", "8"),
}


async def _ours(name: str, alternations: int, slots: int, seed: int, **settings: Any) -> Campaign:
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(
            started_engine(slots=slots, context_tokens=512, cache_ram_mib=64, **settings)
        )
        api = LlamaHttp(engine.endpoint)
        stack.push_async_callback(api.close)

        async def ask(matter: str, prompt: Prompt) -> Seen:
            answered = await ask_engine(engine, matter, prompt, ANSWER_TOKENS)
            return _seen(answered.text, answered.usage)

        async def odds(matter: str, prompt: Prompt) -> dict[str, float]:
            return (await api.peek(walled(matter, prompt))).logprobs

        return await run_campaign(
            name,
            alternations=alternations,
            concurrency=slots,
            ask=ask,
            odds=odds if slots == 1 else None,
            seed=seed,
        )


async def _leaky(
    name: str, sizes: Alternations, seed: int, *flags: str, coded: bool = False
) -> Campaign:
    """The same campaign on a server as it comes."""
    async with raw_server(
        bundled_model(), flags=flags, context_tokens=512, batch_tokens=BATCH_TOKENS
    ) as api:
        return await run_campaign(
            name,
            alternations=sizes.leaky,
            concurrency=1,
            ask=_raw_ask(api, coded=coded),
            odds=None,
            seed=seed,
        )


async def _leaky_restore(name: str, seed: int) -> Campaign:
    """A slot file of A loaded without asking whose it is."""
    async with raw_server(
        bundled_model(), context_tokens=512, batch_tokens=BATCH_TOKENS, flags=("--cache-ram", "0")
    ) as api:
        plain = _raw_ask(api, coded=False)

        async def ask(matter: str, prompt: Prompt) -> Seen:
            if matter != "M-A":
                try:
                    await api.restore_slot("shared")
                except Exception:
                    await api.erase_slot()
            seen = await plain(matter, prompt)
            if matter == "M-A":
                await api.save_slot("shared")
            return seen

        return await run_campaign(
            name, alternations=1, concurrency=1, ask=ask, odds=None, seed=seed
        )


def _raw_ask(api: LlamaHttp, *, coded: bool) -> Any:
    async def ask(matter: str, prompt: Prompt) -> Seen:
        sent = walled(matter, prompt) if coded else prompt
        words: list[str] = []
        usage = Usage()
        async with aclosing(
            api.ask(sent, Limits(max_tokens=ANSWER_TOKENS), stall_timeout_s=600)
        ) as events:
            async for event in events:
                if isinstance(event, Text):
                    words.append(event.delta)
                elif isinstance(event, Finished):
                    usage = event.usage
        return _seen("".join(words), usage)

    return ask


def _seen(text: str, usage: Usage) -> Seen:
    return Seen(
        text=text,
        prompt_tokens=usage.prompt_tokens,
        reused_tokens=usage.reused_tokens,
        drafted_tokens=usage.drafted_tokens,
    )
