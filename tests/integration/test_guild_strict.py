"""A strict Discord server on the double: states and counts, and not one word of the record."""

from __future__ import annotations

import re

import pytest

from bench.guild_canary import Canary
from bench.guild_house import CHANNEL, OTHER, Mode, open_guild
from bench.house import CODE, SAMPLE, read_matter
from worker.audit import path_of

QUESTION = "When did Northgate first know of the leak?"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The sample matter, read once for this file."""
    root = tmp_path_factory.mktemp("guild")
    read_matter(root, SAMPLE)
    return root


@pytest.fixture
async def guild(root):
    async with open_guild(root, Mode.STRICT) as guild:
        yield guild
        assert guild.trouble == []
        assert guild.double.invalid == []
        assert guild.double.wrong == []


def codes(message):
    return message["content"].removeprefix("<@300000000000000001> ").split(" · ")


async def test_a_question_asked_in_the_terminal_is_announced_with_counts_only(guild):
    answered = await guild.you.slash(CHANNEL, "ask")
    assert answered.private
    assert "secondchair chat --matter M-7F3K" in await answered.said()
    job = await guild.ask_in_terminal(QUESTION)
    (final,) = await guild.finals()
    assert codes(final) == [
        CODE,
        job,
        "done",
        "1 verified",
        "0 to look at",
        "0 failing",
        "open it in the terminal",
    ]
    assert [user["id"] for user in final["mentions"]] == [guild.you.account]
    await guild.idle()
    progress = guild.double.messages(CHANNEL)[0]
    assert codes(progress) == [CODE, job, "done"]
    assert progress["components"] == []


async def test_a_summary_and_a_table_are_ordered_here_and_read_there(guild):
    await (await guild.you.slash(CHANNEL, "summarize")).said()
    await (await guild.you.slash(CHANNEL, "extract", what="dates")).said()
    finals = await guild.finals(2)
    assert all(codes(final)[2] == "done" for final in finals)


async def test_looking_back_gives_counts_by_kind_and_where_to_read(guild):
    await guild.ask_in_terminal(QUESTION)
    await (await guild.you.slash(CHANNEL, "summarize")).said()
    await guild.finals(1)  # of the summary; nobody announced the question
    there = f"secondchair chat --matter {CODE}"
    assert await (await guild.you.slash(CHANNEL, "history")).said() == (
        f"{CODE} · of the newest 2 requests: ask 1 · summarize 1"
        f" · what was asked is in the terminal: {there}"
    )
    said = await (await guild.you.slash(CHANNEL, "audit")).said()
    assert said.startswith(f"{CODE} · journal whole · ")
    assert said.endswith(f" · read it in the terminal: {there}")
    assert re.search(r" of the newest \d+: jobs \d+ · ", said)
    path = path_of(guild.house.office.audit, CODE)
    path.write_bytes(path.read_bytes().replace(b'"kind":"ask"', b'"kind":"find"'))
    said = await (await guild.you.slash(CHANNEL, "audit")).said()
    assert said.startswith(f"{CODE} · journal NOT whole · ")
    path.unlink()


async def test_no_command_takes_words_and_every_refusal_reads_like_absence(guild):
    for command in guild.double.world.commands:
        for option in command.get("options") or []:
            assert option.get("choices"), f"/{command['name']} takes anything"
    session = guild.double.gateway.session
    assert session.intents == 1, "guilds, and nothing that people write"
    said = set()
    for person, channel in (
        (guild.stranger, CHANNEL),
        (guild.nobody, CHANNEL),
        (guild.you, OTHER),
    ):
        for name in ("ask", "jobs", "health", "help", "sources", "cancel", "history", "audit"):
            answered = await person.slash(channel, name)
            assert answered.private
            said.add(await answered.said())
    assert len(said) == 1


async def test_not_one_word_of_the_matter_reaches_discord(guild):
    canary = await Canary.of(guild)
    await canary.campaign(guild)
    assert canary.words > 1000
    assert canary.hits(guild.double.received) == set()
    assert await guild.you.types(CHANNEL, "Why did Reeves wait?")
    planted = [*guild.double.received, b'{"content": "I reported it to facilities"}']
    assert canary.hits(planted), "the search bites"
