"""The line under a frozen worker, doubled requests, silence and half-closed ends."""

from __future__ import annotations

import asyncio
import random
import signal

import pytest

from bench.children import PATIENCE_S
from bot.link import Link
from bot.link.ssh import SshWay
from protocol.errors import Conflict, Unavailable
from protocol.frames import Call, Error, Hello, Ping, Return, decode_to_client, encode
from protocol.ids import JobId, MatterId
from protocol.jobs import Ask, Decide, Follow, Health, HealthIs, ReviewState

ALDER = MatterId("M-A1DR")
HELLO = encode(Hello(lowest=1, highest=1, client="test"))


def _decide(job: JobId, key: str, note: str = "") -> Decide:
    return Decide(job=job, answer_sha256="0" * 64, state=ReviewState.APPROVED, key=key, note=note)


async def test_frozen_worker_is_noticed_and_the_follow_goes_on_when_it_thaws(line, ask):
    states = []
    lost = asyncio.Event()

    def told(up: bool) -> None:
        states.append(up)
        if not up:
            lost.set()

    link = Link(SshWay(line.target()), ping_s=0.2, on_state=told)
    async with link:
        accepted = await ask(link, 100)
        seen = []
        async for event in link.follow(accepted.job):
            seen.append(event.seq)
            if event.seq == 10:
                line.worker.send_signal(signal.SIGSTOP)
                await asyncio.wait_for(lost.wait(), PATIENCE_S)
                line.worker.send_signal(signal.SIGCONT)
        assert seen == list(range(1, len(seen) + 1))
        assert states[:2] == [True, False]


async def test_worker_drops_a_line_on_which_nothing_comes_back(box):
    await box.start_worker("0.1")
    reader, writer = await asyncio.open_unix_connection(str(box.socket))
    writer.write(encode(box.stamp()) + HELLO)
    async with asyncio.timeout(PATIENCE_S):
        rows = [decode_to_client(row) async for row in reader]
    assert any(isinstance(row, Ping) for row in rows)
    assert isinstance(rows[-1], Error)
    assert (rows[-1].id, rows[-1].error.code) == (0, "unavailable")
    writer.close()
    await writer.wait_closed()
    await box.kill_worker()


async def test_half_closed_line_is_followed_to_the_end_however_long_it_is_silent(box):
    await box.start_worker("0.05")
    async with box.open_gateway(), box.link() as link:
        key = "k"
        question = Ask(matter=ALDER, conversation="c", question="count 300", key=key)
        job = (await link.call(question)).job
        stdin = HELLO + encode(Call(id=1, request=Follow(job=job)))
        _, out, _ = await box.run_ssh("-s", "secondchair", stdin=stdin)
    rows = [decode_to_client(row) for row in out.splitlines()]
    assert isinstance(rows[-1], Return)
    assert sum(not isinstance(row, Ping) for row in rows) > 300
    await box.kill_worker()


async def test_the_same_decision_sent_five_times_at_once_is_carried_out_once(line, ask):
    async with line.link() as one, line.link() as two:
        accepted = await ask(one, 1)
        request = _decide(accepted.job, "d1")
        results = await asyncio.gather(*(link.call(request) for link in (one, two, one, two, one)))
        assert set(map(str, results)) == {str(results[0])}
        assert results[0].parts["decided"] == ("ok", "1")
        with pytest.raises(Conflict):
            await one.call(_decide(accepted.job, "d1", note="another"))
        again = await one.call(_decide(accepted.job, "d2"))
        assert again.parts["decided"] == ("ok", "2")


async def test_call_gives_up_when_its_time_is_over(line):
    async with line.link() as link:
        await line.kill_worker()
        with pytest.raises(Unavailable, match="in time"):
            await link.call(Health(), within_s=0.3)
        await line.start_worker()
        assert isinstance(await link.call(Health()), HealthIs)


async def test_gateway_restarted_on_its_port_is_found_again(box, ask):
    await box.start_worker()
    async with box.open_gateway() as gateway:
        port = gateway.port
        link = box.link()
        await link.__aenter__()
        accepted = await ask(link, 200)
        events = link.follow(accepted.job)
        seen = [(await anext(events)).seq for _ in range(5)]
    async with box.open_gateway(port=port):
        seen += [event.seq async for event in events]
        await link.__aexit__(None, None, None)
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) > 200
    await box.kill_worker()


async def test_nobody_at_home_is_said_at_once(box):
    async with box.open_gateway():
        with pytest.raises(Unavailable, match="starting or being serviced"):
            async with box.link():
                pass
    with pytest.raises(Unavailable, match="cannot be reached"):
        async with box.link():
            pass


async def test_forty_random_cuts_lose_and_double_nothing(line, ask):
    """Worker killed and connections cut at random while six jobs are followed."""
    rng = random.Random(20261130)
    async with line.link() as link:
        jobs = [(await ask(link, 120)).job for _ in range(6)]
        seen = {job: [] for job in jobs}

        async def follow(job):
            async for event in link.follow(job):
                seen[job].append(event.seq)

        follows = [asyncio.create_task(follow(job)) for job in jobs]
        for _ in range(40):
            await asyncio.sleep(rng.uniform(0.0, 0.05))
            if rng.random() < 0.2:
                await line.kill_worker()
                await line.start_worker()
            else:
                for door in set(line.gateway.doors):
                    door._conn.abort()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*follows)
        for numbers in seen.values():
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) >= 123
