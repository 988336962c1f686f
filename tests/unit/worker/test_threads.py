"""A cancelled caller goes on only when its thread has ended: nothing is taken away under it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from protocol.ids import MatterId
from protocol.record import Matter
from rag.matters import OpenMatter, create
from worker import shelf as module
from worker.shelf import Shelf
from worker.threads import Abandoned, interruptible, to_the_end

CODE = MatterId("M-7F3K")


class Gate:
    """A function on a thread that begins, and ends when it is let."""

    def __init__(self):
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.ended = False

    def __call__(self, value):
        self.begun.set()
        assert self.may_end.wait(60)
        self.ended = True
        return value

    async def has_begun(self):
        assert await asyncio.to_thread(self.begun.wait, 60)


async def test_it_gives_what_the_function_gives():
    assert await to_the_end(lambda: 7) == 7
    assert await to_the_end(int, "11", base=2) == 3
    with pytest.raises(ValueError, match="invalid literal"):
        await to_the_end(int, "x")


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_caller_waits_for_its_thread(times):
    gate, lock = Gate(), asyncio.Lock()

    async def call():
        async with lock:
            return await to_the_end(gate, 1)

    task = asyncio.create_task(call())
    await gate.has_begun()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert lock.locked()
    assert not task.done()
    gate.may_end.set()
    await asyncio.wait({task}, timeout=60)
    assert gate.ended
    assert task.cancelled()
    assert not lock.locked()


async def test_an_error_of_a_cancelled_call_is_lost_without_a_word(caplog):
    gate = Gate()

    def fails():
        gate(None)
        raise KeyError("words")

    task = asyncio.create_task(to_the_end(fails))
    await gate.has_begun()
    task.cancel()
    gate.may_end.set()
    await asyncio.wait({task}, timeout=60)
    assert task.cancelled()
    assert not caplog.records


async def test_a_long_function_is_told_that_nobody_waits_any_more():
    begun, told = threading.Event(), []

    def long(check):
        begun.set()
        try:
            while True:
                check()
        except Abandoned as error:
            told.append(error)
            raise

    task = asyncio.create_task(interruptible(long))
    assert await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    await asyncio.wait({task}, timeout=60)
    assert task.cancelled()
    assert len(told) == 1
    assert await interruptible(lambda check: check()) is None


@pytest.fixture
async def shelf(tmp_path, noon):
    for code in (CODE, MatterId("M-AAAA")):
        create(tmp_path / code, Matter(id=code, title="A v. B", opened_at=noon)).close()
    made = Shelf(tmp_path, most_open=1)
    yield made
    await made.close()


async def use(shelf, matter=CODE):
    async with shelf.use(matter) as held:
        return held


async def test_a_matter_opens_after_somebody_was_cancelled_while_it_opened(shelf, monkeypatch):
    gate = Gate()
    monkeypatch.setattr(module, "OpenMatter", lambda folder: gate(OpenMatter(folder)))
    first = asyncio.create_task(use(shelf))
    await gate.has_begun()
    first.cancel()
    gate.may_end.set()
    await asyncio.wait({first}, timeout=60)
    assert first.cancelled()
    assert (await use(shelf)).record.matter.title == "A v. B"  # not "another process has it open"
    assert await shelf.put_away(CODE)  # and nobody is thought to use it


async def test_a_matter_is_free_after_somebody_was_cancelled_while_another_closed(
    shelf, monkeypatch
):
    await use(shelf)
    gate, close = Gate(), OpenMatter.close
    monkeypatch.setattr(OpenMatter, "close", lambda self: close(gate(self)))
    second = asyncio.create_task(use(shelf, MatterId("M-AAAA")))  # more open than may be
    await gate.has_begun()
    second.cancel()
    gate.may_end.set()
    await asyncio.wait({second}, timeout=60)
    assert second.cancelled()
    assert await shelf.put_away(MatterId("M-AAAA"))
    assert (await use(shelf)).id == CODE
