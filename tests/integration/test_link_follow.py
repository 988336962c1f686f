"""A call and a follow over real SSH, through cuts and kills: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from protocol.errors import BadRequest, NotFound, Refused
from protocol.events import Completed
from protocol.ids import MatterId
from protocol.jobs import Ask, Cancel, Health, HealthIs, ListMatters, Matters

ALDER = MatterId("M-A1DR")


async def _seqs(link, job, after=0):
    return [event async for event in link.follow(job, after)]


def _whole(events, after=0):
    """Numbers without gap or repeat, ending in the last event."""
    assert [e.seq for e in events] == list(range(after + 1, after + 1 + len(events)))
    assert isinstance(events[-1].body, Completed)


async def test_a_question_goes_in_and_its_events_come_back(line, ask):
    async with line.link() as link:
        assert link.welcome.user == "alder"
        assert link.welcome.matters == ("M-A1DR",)
        accepted = await ask(link, 20)
        events = await _seqs(link, accepted.job)
        _whole(events)
        assert len(events) >= 23  # queued, started, 20 counts, completed


async def test_following_again_from_a_number_gives_the_rest(line, ask):
    async with line.link() as link:
        accepted = await ask(link, 20)
        events = await _seqs(link, accepted.job)
        rest = await _seqs(link, accepted.job, after=10)
        assert rest == events[10:]
        assert await _seqs(link, accepted.job, after=events[-1].seq) == []


async def test_worker_killed_in_the_middle_of_a_reply_loses_nothing(line, ask):
    async with line.link() as link:
        accepted = await ask(link, 300)
        events = []
        kills = {10, 60, 150}
        async for event in link.follow(accepted.job):
            events.append(event)
            if event.seq in kills:
                await line.kill_worker()
                await line.start_worker()
        _whole(events)
        counts = [e.body.done for e in events if e.body.__class__.__name__ == "Progress"]
        assert counts[-1] == 300
        kinds = [e.body.__class__.__name__ for e in events]
        assert kinds.count("Completed") == 1
        assert "Interrupted" in kinds


async def test_connection_cut_at_random_points_gives_each_event_once(line, ask):
    rng = random.Random(7)
    async with line.link() as link:
        accepted = await ask(link, 200)
        events = []
        async for event in link.follow(accepted.job):
            events.append(event)
            if rng.random() < 0.05:
                for door in set(line.gateway.doors):
                    door._conn.abort()
        _whole(events)


async def test_call_under_way_when_the_worker_dies_is_answered_by_the_next_one(line):
    async with line.link() as link:
        await line.kill_worker()
        waiting = asyncio.create_task(link.call(Health()))
        await asyncio.sleep(0.1)
        await line.start_worker()
        assert isinstance(await waiting, HealthIs)


async def test_two_follows_and_calls_share_the_line(line, ask):
    async with line.link() as link:
        one, two = await ask(link, 50), await ask(link, 50)
        first, second, matters = await asyncio.gather(
            _seqs(link, one.job), _seqs(link, two.job), link.call(ListMatters())
        )
        _whole(first)
        _whole(second)
        assert isinstance(matters, Matters)


async def test_consumer_who_stops_for_a_while_holds_up_nobody(line, ask, monkeypatch):
    monkeypatch.setattr("bot.link.line.MOST_WAITING", 20)
    async with line.link() as link:
        accepted = await ask(link, 300)
        seen = []
        async for event in link.follow(accepted.job):
            seen.append(event)
            if event.seq == 5:
                await asyncio.sleep(1.0)  # far more than 20 events come meanwhile
                assert isinstance(await link.call(Health()), HealthIs)
        _whole(seen)


async def test_foreign_absent_and_misspelt_read_the_same(line, ask):
    async with line.link("birch") as birch, line.link("alder") as alder:
        theirs = await ask(alder, 1)
        said = []
        for matter in ("M-A1DR", "M-ZZZZ", "../etc/passwd", ""):
            with pytest.raises(NotFound) as caught:
                await birch.call(Ask(matter=matter, conversation="", question="count 1", key="k"))
            said.append((caught.value.message, caught.value.next_step, caught.value.reference))
        for job in (theirs.job, "J-000000000-0000", "nonsense"):
            with pytest.raises(NotFound) as caught:
                await birch.call(Cancel(job=job))
            said.append((caught.value.message, caught.value.next_step, caught.value.reference))
            with pytest.raises(NotFound) as caught:
                await _seqs(birch, job)
            said.append((caught.value.message, caught.value.next_step, caught.value.reference))
        assert set(said) == {("no such matter", "", "")}


async def test_key_used_for_another_question_is_a_conflict(line):
    async with line.link() as link:
        first = Ask(matter=ALDER, conversation="c", question="count 1", key="same")
        accepted = await link.call(first)
        assert await link.call(first) == accepted or (await link.call(first)).job == accepted.job
        with pytest.raises(Exception, match="key"):
            await link.call(Ask(matter=ALDER, conversation="c", question="count 2", key="same"))


async def test_a_host_key_that_is_not_the_pinned_one_ends_it(line):
    line.pin(line.folder / "stranger.pub")
    with pytest.raises(Refused, match="pinned"):
        async with line.link():
            pass


async def test_a_spare_pinned_host_key_is_taken(line):
    text = line.known_hosts.read_text()
    line.pin(line.folder / "stranger.pub")
    line.known_hosts.write_text(line.known_hosts.read_text() + text)
    async with line.link() as link:
        assert isinstance(await link.call(Health()), HealthIs)


async def test_a_key_nobody_added_opens_nothing(line):
    with pytest.raises(Refused, match="opens no door"):
        async with line.link("stranger"):
            pass


async def test_a_question_longer_than_the_line_carries_is_refused_here(line):
    async with line.link() as link:
        with pytest.raises(BadRequest, match="too long"):
            await link.call(Ask(matter=ALDER, conversation="", question="x" * 300_000, key="k"))
        assert isinstance(await link.call(Health()), HealthIs)


async def test_revoked_key_ends_the_link_for_good(line):
    async with line.link() as link:
        line.revoke("alder")
        with pytest.raises(Refused):
            await _call_until_refused(link)


async def _call_until_refused(link):
    while True:
        with contextlib.suppress(NotFound):  # the worker may notice before the gateway does
            await link.call(Health())
        await asyncio.sleep(0.05)
