"""The link against a peer that misbehaves: repeats, gaps of silence, half frames, odd greetings."""

from __future__ import annotations

import asyncio
import datetime as dt

import msgspec
import pytest

from bot.link import Link
from protocol.errors import AppError, BadRequest, ErrorValue, NotFound, Unavailable
from protocol.events import Completed, Event, Found
from protocol.frames import (
    Call,
    Error,
    EventFrame,
    Hello,
    Return,
    Welcome,
    decode_to_worker,
    encode,
)
from protocol.ids import JobId, UserName
from protocol.jobs import Done, Follow, Health, HealthIs

JOB = JobId("J-000000000-0000")
AT = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
WELCOME = Welcome(
    version=1, user=UserName("alder"), role="lawyer", matters=(), epoch="e", max_bytes=1000
)
HEALTHY = HealthIs(parts={})


def _event(seq: int, *, last: bool = False) -> Event:
    body = Found(passages=seq, documents=1)
    if last:
        body = Completed(answer_sha256="", verified=0, to_look_at=0, failing=0)
    return Event(job=JOB, seq=seq, at=AT, body=body)


class Peer:
    """One line: a hello is welcomed, a call is answered by the script; None ends the line."""

    def __init__(self, script) -> None:
        self.script = script
        self.came: list[object] = []
        self._out: asyncio.Queue[bytes] = asyncio.Queue()

    async def read(self, most: int) -> bytes:
        return await self._out.get()

    async def write(self, data: bytes) -> None:
        frame = decode_to_worker(data)
        self.came.append(frame)
        for answer in self.script(frame):
            self._out.put_nowait(answer if isinstance(answer, bytes) else encode(answer))

    async def close(self) -> None:
        self._out.put_nowait(b"")


class Peers:
    """A way that gives one peer after the other."""

    def __init__(self, *scripts) -> None:
        self.peers = [Peer(script) for script in scripts]
        self.opened = 0

    async def open(self) -> Peer:
        if self.opened == len(self.peers):
            raise BadRequest("the script is over")
        self.opened += 1
        return self.peers[self.opened - 1]

    async def close(self) -> None:
        return None


def _plays(*answers):
    """Welcomes, then answers the first call with these; ``n`` stands for the call's number."""

    def script(frame):
        if isinstance(frame, Hello):
            return [WELCOME]
        if isinstance(frame, Call):
            return [answer(frame.id) if callable(answer) else answer for answer in answers]
        return []

    return script


def _said(seq, *, last=False):
    return lambda number: EventFrame(id=number, event=_event(seq, last=last))


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("bot.link._FIRST_WAIT_S", 0.0)


async def _followed(way, after=0):
    async with Link(way) as link:
        return [event.seq async for event in link.follow(JOB, after)]


async def test_events_that_come_twice_are_given_once():
    way = Peers(_plays(_said(1), _said(2), _said(2), _said(1), _said(3), _said(4, last=True)))
    assert await _followed(way) == [1, 2, 3, 4]


async def test_line_lost_in_the_middle_of_a_frame_goes_on_after_the_last_whole_one():
    half = encode(EventFrame(id=1, event=_event(3)))[:-9]
    first = _plays(_said(1), _said(2), half, b"")
    second = _plays(_said(2), _said(3), _said(4, last=True))
    way = Peers(first, second)
    assert await _followed(way) == [1, 2, 3, 4]
    (call,) = [frame for frame in way.peers[1].came if isinstance(frame, Call)]
    assert call.request == Follow(job=JOB, after=2)


async def test_answers_to_other_calls_are_passed_over():
    stray = Return(id=99, result=Done())
    way = Peers(_plays(stray, lambda n: EventFrame(id=n + 7, event=_event(9)), _said(1, last=True)))
    assert await _followed(way) == [1]


async def test_call_is_sent_again_on_the_next_line():
    way = Peers(_plays(b""), _plays(lambda number: Return(id=number, result=HEALTHY)))
    async with Link(way) as link:
        assert await link.call(Health()) == HEALTHY
    assert [sum(isinstance(f, Call) for f in peer.came) for peer in way.peers] == [1, 1]


async def test_error_of_a_call_is_that_calls_only():
    away = ErrorValue(code="not_found", message="no such matter")
    way = Peers(_plays(lambda number: Error(id=number, error=away)))
    async with Link(way) as link:
        for _ in range(2):
            with pytest.raises(NotFound):
                await link.call(Health())


@pytest.mark.parametrize(
    ("greeting", "kind"),
    [
        (Error(id=0, error=ErrorValue(code="not_found", message="no")), NotFound),
        (Error(id=0, error=ErrorValue(code="unavailable", message="no", retry=True)), Unavailable),
        (msgspec.structs.replace(WELCOME, version=2), BadRequest),
        (b"SSH-2.0-something\n", BadRequest),
        (b'{"frame":"call","id":1,"request":{"type":"health"}}\n', BadRequest),
        (b"x" * 5_000_000, BadRequest),
        (b"", Unavailable),
    ],
)
async def test_greetings_that_are_none_end_it_with_the_right_word(greeting, kind):
    way = Peers(lambda frame: [greeting])
    with pytest.raises(AppError) as caught:
        await Link(way).__aenter__()
    assert type(caught.value) is kind


async def test_end_that_trying_again_cannot_mend_is_told_to_everybody():
    refused = Error(id=0, error=ErrorValue(code="not_found", message="no such matter"))
    way = Peers(_plays(refused))
    async with Link(way) as link:
        with pytest.raises(NotFound):
            await link.call(Health())
        with pytest.raises(NotFound):
            await anext(link.follow(JOB))
        assert not link.up
    assert way.opened == 1


async def test_leaving_while_a_call_waits_does_not_hang():
    way = Peers(_plays())
    link = Link(way)
    await link.__aenter__()
    waiting = asyncio.create_task(link.call(Health()))
    await asyncio.sleep(0)
    await link.__aexit__(None, None, None)
    with pytest.raises(Unavailable):
        await asyncio.wait_for(waiting, 60)
