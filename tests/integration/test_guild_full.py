"""A full Discord server on the double: questions, replies, decisions, restarts, faults."""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest

from bench.guild_house import CHANNEL, OTHER, Mode, open_guild
from bench.house import CODE, SAMPLE, read_matter
from bot.guild.deliveries import Bound, Deliveries
from protocol.answers import ReviewState
from protocol.jobs import GetAnswer
from worker.engine.scripted import Line

QUESTION = "When did Northgate first know of the leak?"
SPOILED = "The lease says “Landlord shall be liable for interruption of services.” [[1]]"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The sample matter, read once for this file."""
    root = tmp_path_factory.mktemp("guild")
    read_matter(root, SAMPLE)
    return root


@contextlib.asynccontextmanager
async def opened(root, *script):
    async with open_guild(root, Mode.FULL, script) as guild:
        yield guild
        assert guild.double.invalid == []
        assert guild.double.wrong == []


async def test_ask_by_command_and_by_plain_words_each_reply_once(root):
    async with opened(root) as guild:
        assert "taken" in await (await guild.you.slash(CHANNEL, "ask", question=QUESTION)).said()
        (first,) = await guild.finals(1)
        assert "[1 ✔\\]".replace("[", "\\[") in first["content"]
        assert "VERIFIED" in first["content"]
        assert "1 verified · 0 to look at · 0 failing" in first["content"]
        message = await guild.you.types(CHANNEL, QUESTION)
        await guild.you.again(message)
        await guild.finals(2)
        await guild.nobody.types(CHANNEL, QUESTION)
        await guild.you.types(OTHER, QUESTION)
        offered = await guild.you.complete(CHANNEL, "summarize", "document", "dep")
        assert offered
        assert all("dep" in choice["name"].casefold() for choice in offered)
        assert await guild.nobody.complete(CHANNEL, "summarize", "document", "dep") == []
        sources = await guild.you.slash(CHANNEL, "sources", item=1)
        assert "Complaint" in await sources.said()
        await guild.idle()
        assert len(await guild.finals(2)) == 2
        assert guild.double.messages(OTHER) == []
        assert guild.double.messages(CHANNEL)[0]["content"].startswith("Full text:")
        assert guild.trouble == []


async def test_buttons_work_after_a_restart_and_a_decision_names_the_text_shown(root):
    async with opened(root, Line(text=SPOILED)) as guild:
        await guild.you.slash(CHANNEL, "ask", question=QUESTION)
        (final,) = await guild.finals()
        await guild.idle()
        await guild.kill_bot()
        await guild.start_bot()
        assert guild.double.gateway.identified == 2
        # Somebody else, a stale button, an unknown one.
        nothing = await (await guild.stranger.click(final, "Approve")).said()
        assert nothing.startswith("not_found")
        job = final["components"][0]["components"][0]["custom_id"].split(":")[1]
        stale = await guild.you.click_id(final, f"sc:{job}:approve:0123456789ab")
        assert (await stale.said()).startswith("conflict")
        odd = await guild.you.click_id(final, "somebody-elses-button")
        assert "out of date" in await odd.said()
        absent = await guild.you.click_id(final, "sc:J-000000000-0000:cancel:0")
        assert await absent.said() == nothing
        # Approval asks for the checks and a reason for what is not green.
        opened_form = await guild.you.click(final, "Approve")
        checks = ["check_read", "check_citations", "check_facts"]
        without = await guild.you.submit(opened_form, checks=checks, reasons="no reasons")
        assert "need a reason" in await without.said()
        opened_form = await guild.you.click(final, "Approve")
        unproven = opened_form.form["components"][1]["component"]["value"].splitlines()
        assert unproven
        reasons = "\n".join(f"{line} seen and accepted" for line in unproven)
        # The bot restarts between opening the form and sending it.
        await guild.kill_bot()
        await guild.start_bot()
        done = await guild.you.submit(opened_form, checks=checks, reasons=reasons)
        assert "Approved" in await done.said()
        answer = (await guild.link.call(GetAnswer(job=job), acting_for=guild.you.account)).answer
        assert answer.review is ReviewState.APPROVED
        assert answer.decision.by == "you"
        late = await guild.you.click(final, "Return")
        assert (await late.said()).startswith("conflict")
        written = await guild.you.slash(CHANNEL, "export", form="md", job=job)
        assert "exported" in await written.said()


async def test_a_bot_killed_while_it_replies_says_everything_exactly_once(root):
    """Killed at many moments; Discord did what it was asked before the cut, or did not."""
    async with opened(root, Line(text="[[1]]", prefill_step_s=0.02, steps=6)) as guild:
        for moment in range(4):
            guild.double.fail("POST", "/messages$", 0, after=moment % 2 == 0)
            await guild.you.types(CHANNEL, f"{QUESTION} {moment}")
            await asyncio.sleep(0.15 * moment)
            await guild.kill_bot()
            await guild.start_bot()
        await guild.finals(4)
        await guild.idle()
        finals = await guild.finals(4)
        jobs = [m["content"].split()[3] for m in finals]
        assert len(jobs) == len(set(jobs)) == 4
        assert len(guild.double.messages(CHANNEL)) == 1 + 2 * 4, "banner, progress, replies"
        assert "cut off" not in str(guild.double.messages(CHANNEL))


async def test_faults_of_discord_lose_and_double_nothing(root):
    async with opened(root) as guild:
        double = guild.double
        double.fail("POST", "/messages$", 429, times=2)
        double.fail("POST", "/messages$", 503, times=2)
        double.fail("POST", "/messages$", 502, after=True)
        double.fail("PATCH", "/messages/", 429, times=2)
        await guild.you.types(CHANNEL, QUESTION)
        await guild.until(lambda: len(double.messages(CHANNEL)) >= 2)
        double.fail("POST", "/messages$", after=True)
        await guild.finals(1)
        # A cut socket is resumed, and what was said meanwhile arrives.
        double.gateway.drop()
        await guild.you.types(CHANNEL, "And when was it repaired?")
        await guild.finals(2)
        assert double.gateway.resumed == 1
        await double.gateway.close(4000)
        await guild.until(lambda: double.gateway.connected)
        # The token of a command is dead before its answer: the reply arrives all the same.
        asked = await guild.you.slash(CHANNEL, "ask", question="Who inspected the roof?")
        double.expire_tokens()
        assert asked.private
        await guild.finals(3)
        await guild.idle()
        assert len(await guild.finals(3)) == 3
        assert len(double.messages(CHANNEL)) == 1 + 2 * 3, "banner, progress, replies"


async def test_looking_back_shows_codes_and_states_and_never_what_was_asked(root):
    async with opened(root) as guild:
        for done in range(1, 13):
            await (await guild.you.slash(CHANNEL, "find", words=f"Northgate leak {done}")).said()
            await guild.finals(done)
        history = await (await guild.you.slash(CHANNEL, "history")).said()
        assert history.count("· you · done · Draft · awaiting review · find") == 10
        assert "10 of the newest 12" in history
        audit = await (await guild.you.slash(CHANNEL, "audit")).said()
        assert audit.count("you through helper · job.accepted find · J-") == 10
        assert "The chain holds from the first entry to the last." in audit
        assert "…" not in audit
        for said in (history, audit):
            assert "Northgate" not in said
            assert "leak" not in said
        with contextlib.closing(Deliveries(guild.settings.state)) as store:
            store.bind(Bound(channel=OTHER, matter=CODE))
        counted = await (await guild.you.slash(OTHER, "history")).said()
        assert counted.startswith(f"{CODE} · of the newest 12 requests: find 12 · ")
        assert guild.trouble == []


async def test_a_long_reply_is_a_file_or_parts_and_a_channel_without_consent_gets_counts(root):
    how = ("plainly", "calmly", "again", "boldly", "briefly", "gladly", "rarely")
    text = " ".join(  # no sentence twice: a repeated one is shown once
        f"It is {' and '.join(words)} argued here that nothing was known [[1]]."
        for words in itertools.product(how, repeat=3)
    )
    async with opened(root, Line(text=text)) as guild:
        await guild.you.types(CHANNEL, QUESTION)
        (final,) = await guild.finals()
        (file,) = final["attachments"]
        data = guild.double.world.files[file["id"]].decode()
        assert "[1 ✔]" in data
        assert "verified" in final["content"]
        with contextlib.closing(Deliveries(guild.settings.state)) as store:
            store.bind(Bound(channel=OTHER, matter=CODE))
        refused = await guild.you.slash(OTHER, "ask", question=QUESTION)
        assert (await refused.said()).startswith("not_found")
        await guild.you.slash(OTHER, "summarize")
        await guild.until(lambda: any(m["mentions"] for m in guild.double.messages(OTHER)))
        said = str(guild.double.messages(OTHER))
        assert "open it in the terminal" in said
        assert "Northgate" not in said
