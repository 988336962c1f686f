"""Discord for the bench of the line: canary and OpenAPI campaign, acknowledgements, chaos.

The bot is the real one over SSH, Discord is `bench.guild_double`. In the chaos part, the bot is
killed, its gateway cut or closed, its sends cut before or after their effect, or answered with 5xx
and 429, at random points; every reply must arrive exactly once.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.guild_canary import Canary
from bench.guild_house import CHANNEL, GuildHouse, open_guild
from bench.house import SAMPLE, read_matter
from bot.guild.settings import Mode
from worker.engine.scripted import Line

QUESTION: Final = "When did Northgate first know of the leak?"
_SCRIPT: Final = (Line(text="[[1]]", prefill_step_s=0.01, steps=4),)


@dataclass(kw_only=True)
class Found:
    """What came of it."""

    figures: dict[str, float | int | None] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    failed: bool = False


async def measure(points: int, seed: int) -> Found:
    """All of it.

    Args:
        points: Faults in the chaos part.
        seed: Of their kinds and moments.
    """
    root = Path(tempfile.mkdtemp(prefix="sc-"))
    found = Found()
    try:
        await asyncio.to_thread(read_matter, root, SAMPLE)
        async with open_guild(root, Mode.STRICT) as guild:
            canary = await Canary.of(guild)
            await canary.campaign(guild)
            hits = canary.hits(guild.double.received)
            strict = guild.double
            acks = [s.acked_s * 1e3 for s in strict.spoken.values() if s.acked_s is not None]
        async with open_guild(root, Mode.FULL, _SCRIPT) as guild:
            lost, doubled = await _chaos(guild, points, seed, found.rows)
            full = guild.double
    finally:
        shutil.rmtree(root)
    invalid = strict.invalid + full.invalid
    found.figures = {
        "canary_words": canary.words,
        "canary_left_out": canary.left_out,
        "canary_hits": len(hits),
        "openapi_requests": strict.requests + full.requests,
        "openapi_invalid": len(invalid),
        "openapi_wrong_replies": len(strict.wrong + full.wrong),
        "discord_ack_p50_ms": round(_p(acks, 0.5), 1),
        "discord_ack_p99_ms": round(_p(acks, 0.99), 1),
        "discord_chaos_points": points,
        "discord_lost": lost,
        "discord_doubled": doubled,
    }
    found.rows += [{"openapi": fault} for fault in invalid]
    found.rows += [{"canary": "hit", "chars": len(word)} for word in sorted(hits)]
    found.failed = bool(hits or invalid or lost or doubled)
    return found


async def _chaos(
    guild: GuildHouse, points: int, seed: int, rows: list[dict[str, Any]]
) -> tuple[int, int]:
    """Replies that never came, and replies that came twice."""
    rng = random.Random(seed)
    double = guild.double
    for point in range(points):
        kind = rng.choice(
            ("killed", "cut", "closed", "send cut before", "send cut after", "503", "502", "429")
        )
        match kind:
            case "send cut before" | "send cut after":
                double.fail("POST", "/messages$", 0, after=kind.endswith("after"))
            case "503":
                double.fail("POST", "/messages$", 503)
            case "502":
                double.fail("PATCH", "/messages/", 502)
            case "429":
                double.fail("POST", "/messages$", 429)
            case _:
                pass
        await guild.you.types(CHANNEL, f"{QUESTION} {point}")
        await asyncio.sleep(rng.uniform(0.0, 0.4))
        match kind:
            case "killed":
                await guild.kill_bot()
                await guild.start_bot()
            case "cut":
                double.gateway.drop()
            case "closed":
                await double.gateway.close(rng.choice((4000, 4009, 1006 - 5)))
            case _:
                pass
        rows.append({"discord_point": point, "tried": kind})
        await guild.until(lambda: double.gateway.connected, 60)
    try:
        await guild.finals(points, 120)
        await guild.idle()
    except TimeoutError:
        pass
    jobs = [message["content"].split()[3] for message in await guild.finals(0)]
    spare = len(double.messages(CHANNEL)) - (1 + points + len(jobs))  # banner, progress, replies
    return max(0, points - len(set(jobs))), len(jobs) - len(set(jobs)) + max(0, spare)


def _p(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
