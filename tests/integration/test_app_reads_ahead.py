"""The worker as it is joined: who lists a matter has it read; health says what is wrong."""

from __future__ import annotations

import asyncio

import pytest

from bench.house import CODE, YOU, read_matter
from protocol.ids import MatterId
from protocol.jobs import ListDocuments, ListJobs
from rag.matters import erase
from worker import read_ahead
from worker.app import App
from worker.config import Settings
from worker.engine import EngineSettings
from worker.registry import Registry, write
from worker.service.server import Server


@pytest.fixture
def state(tmp_path):
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "note.txt").write_text(
        "The boiler was inspected on 3 May 2021 by two men.\n", "utf-8"
    )
    state = tmp_path / "state"
    read_matter(state, papers)
    (state / "registry").mkdir()
    write(state / "registry" / "users.toml", Registry(users=()))
    return state


def settings(state, **changes):
    board = EngineSettings(name="A", engine="scripted")
    values = {"state": state, "run_folder": state.parent / "run", "boards": (board,)}
    return Settings(**(values | {"composition": "model"} | changes))


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a condition of many parts, not one event
            await asyncio.sleep(0.01)


@pytest.fixture
def handlers(monkeypatch):
    """What the service was given."""
    given = []

    class Kept(Server):
        def __init__(self, path, handlers, *more, **named):
            given.append(handlers)
            super().__init__(path, handlers, *more, **named)

    monkeypatch.setattr("worker.app.Server", Kept)
    return given


@pytest.mark.parametrize("request_type", [ListDocuments, ListJobs])
async def test_who_lists_a_matter_has_it_read(state, handlers, request_type):
    async with App(settings(state)).open() as app:
        board = app._boards["A"]
        await board.ready.wait()
        await handlers[0].calls[request_type](request_type(matter=CODE), YOU)
        await until(lambda: board.engine._read.get(CODE))
        board.ahead.alert = "a record that was just read was read again"
        assert (await app.health())["board A"] == ("degraded", board.ahead.alert)


async def test_a_paused_board_reads_nothing(state):
    async with App(settings(state)).open() as app:
        board = app._boards["A"]
        await board.ready.wait()
        await app._queue.pause("A")
        board.ahead.want(CODE)
        looked = asyncio.Event()
        may_work = board.ahead._may_work

        async def look():
            answer = await may_work()
            looked.set()
            return answer

        board.ahead._may_work = look
        await looked.wait()
        assert CODE not in board.engine._read
        assert CODE in board.ahead._wanted
        await app._queue.resume("A")
        await until(lambda: board.engine._read.get(CODE))


async def test_a_board_that_is_paused_while_it_reads_stops_and_goes_on_later(state, monkeypatch):
    monkeypatch.setattr(read_ahead, "_PAUSED_S", 0.02)
    async with App(settings(state)).open() as app:
        board = app._boards["A"]
        await board.ready.wait()
        began, torn, prewarm = asyncio.Event(), asyncio.Event(), board.engine.prewarm

        async def slowly(matter, prompt):
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                torn.set()

        board.engine.prewarm = slowly
        board.ahead.want(CODE)
        await began.wait()
        await app._queue.pause("A")
        async with asyncio.timeout(60):
            await torn.wait()
        board.engine.prewarm = prewarm
        assert CODE in board.ahead._wanted
        assert CODE not in board.engine._read
        await app._queue.resume("A")
        await until(lambda: board.engine._read.get(CODE))


async def test_a_matter_that_was_closed_leaves_a_paused_board_too(state, monkeypatch):
    monkeypatch.setattr(read_ahead, "_CLOSED_EVERY_S", 0.05)
    monkeypatch.setattr(read_ahead, "_PAUSED_S", 0.02)
    async with App(settings(state)).open() as app:
        board = app._boards["A"]
        await board.ready.wait()
        board.ahead.want(CODE)
        await until(lambda: board.engine._read.get(CODE))
        await app._queue.pause("A")
        other = MatterId("M-B1RC")
        board.ahead.want(other)  # cannot be read while the board is held
        await board.ahead._shelf.put_away(CODE)
        erase(state / "matters" / CODE)
        await until(lambda: CODE not in board.engine._read)
        assert other in board.ahead._wanted


async def test_where_a_small_model_only_orders_nothing_is_read_ahead(state):
    async with App(settings(state, composition="extractive")).open() as app:
        assert app._boards["A"].ahead is None
