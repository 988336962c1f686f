"""The bot as a process, killed with -9 at random moments: every reply arrives exactly once."""

from __future__ import annotations

import asyncio
import random

import pytest

from bench.guild_house import CHANNEL, Mode, open_guild
from bench.house import SAMPLE, read_matter
from worker.engine.scripted import Line

QUESTION = "When did Northgate first know of the leak?"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The sample matter, read once for this file."""
    root = tmp_path_factory.mktemp("guild")
    read_matter(root, SAMPLE)
    return root


async def test_a_bot_killed_with_9_says_everything_exactly_once(root):
    rng = random.Random(7)
    script = (Line(text="[[1]]", prefill_step_s=0.05, steps=6),)
    async with open_guild(root, Mode.FULL, script, start=False) as guild:
        await guild.start_process()
        await guild.until(lambda: guild.double.gateway.connected)
        for number in range(4):
            await guild.you.types(CHANNEL, f"{QUESTION} {number}")
            await asyncio.sleep(rng.uniform(0, 1.2))
            await guild.kill_process()
            if number % 2:
                await guild.you.types(CHANNEL, f"{QUESTION} while away {number}")
            before = guild.double.gateway.identified
            await guild.start_process()
            await guild.until(lambda b=before: guild.double.gateway.identified > b)
        await guild.finals(6)
        await guild.you.types(CHANNEL, f"{QUESTION} at last")  # behind whatever was said twice
        finals = await guild.finals(7)
        jobs = [message["content"].split()[3] for message in finals]
        assert len(jobs) == len(set(jobs)) == 7
        log = (guild.folder / "bot.log").read_text()
        assert guild.double.invalid == []
        assert "Northgate" not in log
        assert guild.double.token not in log
        state = b"".join(path.read_bytes() for path in guild.folder.glob("discord.sqlite*"))
        assert b"Northgate" not in state
        assert b"while away" not in state


async def test_a_second_instance_refuses_to_start(root):
    async with open_guild(root, Mode.STRICT) as guild:
        await guild.start_process()
        assert await asyncio.wait_for(guild._process.wait(), 180) == 5
        log = (guild.folder / "bot.log").read_text()
        assert "runs already" in log
        assert guild.double.gateway.identified == 1
