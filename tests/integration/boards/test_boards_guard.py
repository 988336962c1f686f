"""The real worker on a simulated box: a fault in the middle of a job, and what becomes of both."""

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import worker.app
import worker.clock
import worker.paths
from protocol.errors import BadRequest, NotFound
from protocol.events import LAST, Completed
from protocol.jobs import (
    Accepted,
    Ask,
    BoardsAre,
    Find,
    GetBoards,
    Health,
    HoldBoard,
    JobState,
    ResumeBoard,
)
from rag.embedding import HashEmbedder
from worker import audit
from worker.app import App
from worker.boards.declared import as_toml
from worker.config import Settings
from worker.door import Door, operator
from worker.engine import EngineSettings
from worker.registry import Key, Registry, Role, User, write
from worker.watching.guard import Guard

CODE = "M-7F3K"
PATIENCE_S = 60


class House:
    """A state folder, its settings, and a door for each kind of person."""

    def __init__(self, folder, sample_root):
        self.state = folder / "state"
        shutil.copytree(sample_root / "matters", self.state / "matters")
        self.script = folder / "script.json"
        words = [{"text": "one two three four five six", "token_s": 0.001}]
        self.script.write_text(json.dumps(words), "utf-8")
        self.settings = Settings(
            state=self.state,
            run_folder=folder / "run",
            composition="model",
            second_reading=False,
            boards=tuple(
                EngineSettings(
                    name=name, engine="scripted", script=self.script, context_tokens=100_000
                )
                for name in ("left", "right")
            ),
        )
        users = [("op", Role.OPERATOR, ()), ("you", Role.REVIEWER, (CODE,))]
        self.registry = Registry(
            users=tuple(
                User(name=name, role=role, keys=(Key(public=public_key()),), matters=matters)
                for name, role, matters in users
            )
        )
        path = worker.paths.registry_path(self.settings)
        path.parent.mkdir(parents=True)
        write(path, self.registry)

    def declare(self, declared):
        (self.state / "boards.toml").write_text(as_toml(declared), "utf-8")

    def door(self, name):
        who = operator(self.registry, name, worker.clock.utc_now())
        return Door(self.settings.run_folder / worker.paths.SOCKET, who)

    async def call(self, request, name="op"):
        def ask():
            with self.door(name) as door:
                return door.call(request)

        return await asyncio.to_thread(ask)

    async def boards(self):
        now = await self.call(GetBoards())
        assert isinstance(now, BoardsAre)
        return {board.name: board for board in now.boards}

    async def ask(self, question="When did Northgate first know of the leak?"):
        request = Ask(matter=CODE, conversation="c", question=question, key=secrets.token_hex(8))
        accepted = await self.call(request, "you")
        assert isinstance(accepted, Accepted)
        return accepted.job

    async def until(self, true):
        """Waits for something to be so."""
        async with asyncio.timeout(PATIENCE_S):
            while not await true():  # noqa: ASYNC110 (it lies behind a socket)
                await asyncio.sleep(0.05)

    async def paused(self, *names):
        async def so():
            return {n for n, board in (await self.boards()).items() if board.paused} == set(names)

        await self.until(so)


@pytest.fixture
def house(sample_root, monkeypatch):
    """Socket paths are short, pytest's folders may not be."""
    monkeypatch.setattr(worker.app, "open_embedder", lambda _: HashEmbedder())
    folder = Path(tempfile.mkdtemp(prefix="sc-"))
    yield House(folder, sample_root)
    shutil.rmtree(folder)


@pytest.fixture
def simulated(house, library, simulate, declared_of, monkeypatch):
    """Build B under the worker: eight cards on two boards, the driver's stand-in loaded by name."""
    box = simulate("build_b")
    for name, value in box.environment(library).items():
        monkeypatch.setenv(name, value)
    house.declare(declared_of(box))
    return box


async def events_of(app, job):
    """All events of a job, to its last."""
    events, after = [], 0
    async with asyncio.timeout(PATIENCE_S):
        while batch := await app._queue.wait_event(job, after):
            events += batch
            after = batch[-1].seq
            if isinstance(batch[-1].body, LAST):
                return events
    return events


def held_up(app, board):
    """The engine of a board stops at its first word until the event is set."""
    gate = asyncio.Event()

    async def sleep(_):
        await gate.wait()

    app._boards[board].engine._sleep = sleep
    return gate


async def running(app, job):
    """Waits until a job has reached the engine."""
    after = 0
    async with asyncio.timeout(PATIENCE_S):
        while True:
            batch = await app._queue.wait_event(job, after)
            assert batch, "it ended before"
            after = batch[-1].seq
            if any(getattr(event.body, "stage", "") == "reading" for event in batch):
                return


async def test_a_fault_in_the_middle_of_a_job_moves_it_and_touches_nothing_else(house, simulated):
    async with App(house.settings).open() as app:
        held_up(app, "left")
        await house.paused()
        job = await house.ask()
        await running(app, job)
        assert (await app._queue.job(job)).board == "left"
        simulated.set(1, xid=79)
        events = await events_of(app, job)
        ended = await app._queue.job(job)
        assert (ended.state, ended.board) == (JobState.DONE, "right")
        assert sum(isinstance(event.body, LAST) for event in events) == 1
        assert isinstance(events[-1].body, Completed)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        boards = await house.boards()
        assert {name: board.paused for name, board in boards.items()} == {
            "left": True,
            "right": False,
        }
        assert any("fell off the bus" in why for why in boards["left"].why)
        assert boards["right"].why == ()
        assert boards["right"].tokens_per_s is not None
        assert boards["left"].replies == 0
        parts = (await house.call(Health(), "you")).parts
        assert "fell off the bus" in parts["queue left"][1]
    lines = (house.state / "operator.jsonl").read_bytes().splitlines()
    said = [json.loads(line)["notice"] for line in lines]
    assert [(one["kind"], one["board"]) for one in said] == [
        ("verdict", "left"),
        ("pause", "left"),
    ]


async def test_with_one_board_the_job_waits_and_goes_on_after_the_operator_s_word(house, simulated):
    only = msgspec.structs.replace(house.settings, boards=house.settings.boards[:1])
    async with App(only).open() as app:
        gate = held_up(app, "left")
        job = await house.ask()
        await running(app, job)
        simulated.set(1, ecc_uncorrected=1)
        await house.paused("left")
        await house.until(lambda: _is(app, job, JobState.WAITING))
        for name, refused in (("you", BadRequest), ("op", None)):
            expected = pytest.raises(refused) if refused else contextlib.nullcontext()
            with expected:
                await house.call(ResumeBoard(board="left", key="k-1"), name)
        await house.paused()
        gate.set()
        events = await events_of(app, job)
        assert sum(isinstance(event.body, LAST) for event in events) == 1
        assert isinstance(events[-1].body, Completed)
        assert "Parked" in [type(event.body).__name__ for event in events]
    entries = list(audit.read(audit.path_of(house.state / "audit", audit.BOX)))
    assert [(one.what, one.by, one.details) for one in entries] == [
        ("board.resumed", "op", {"board": "left"})
    ]
    assert audit.verify(house.state / "audit" / "box.jsonl").broken_at is None


async def _is(app, job, state):
    return (await app._queue.job(job)).state is state


async def test_a_board_stays_held_over_a_restart_until_an_operator_says_otherwise(house, simulated):
    async with App(house.settings).open():
        simulated.set(6, ecc_uncorrected=1)
        await house.paused("right")
    simulated.set(6, ecc_uncorrected=0)  # a restart forgets it: only our own notebook knows
    async with App(house.settings).open():
        await house.paused("right")
        assert any("1 memory error" in why for why in (await house.boards())["right"].why)
        await house.call(ResumeBoard(board="right", key="k-1"))
        await house.paused()
    async with App(house.settings).open():
        await house.paused()
        assert (await house.boards())["right"].why == ()


async def test_a_fault_that_is_still_there_holds_the_board_again(house, simulated):
    async with App(house.settings).open():
        simulated.set(6, lost=1)
        await house.paused("right")
        await house.call(ResumeBoard(board="right", key="k-1"))

        async def again():
            said = [one for one in (await house.call(GetBoards())).notices if one.board == "right"]
            return [one.kind for one in said].count("pause") == 2

        await house.until(again)
        await house.paused("right")


async def test_after_a_reset_without_a_clean_stop_every_board_waits(house, simulated):
    mark = house.state / "clean-stop.json"
    mark.write_text(json.dumps({"boot": "another boot", "clean": False}), "utf-8")
    async with App(house.settings).open():
        boards = await house.boards()
        assert all(board.paused for board in boards.values())
        assert "without a clean stop" in boards["left"].why[0]
        await house.call(ResumeBoard(board="left", key="k-1"))
        await house.paused("right")
    assert json.loads(mark.read_bytes())["clean"] is True


async def test_an_operator_holds_a_board_and_what_needs_no_model_goes_elsewhere(house):
    """Without a card nothing is watched; holding works all the same."""
    other = house.script.with_name("other.json")
    other.write_text("[]", "utf-8")
    left, right = house.settings.boards
    boards = (left, msgspec.structs.replace(right, script=other))
    async with App(msgspec.structs.replace(house.settings, boards=boards)).open() as app:
        assert not (await house.call(GetBoards())).watched
        await house.call(HoldBoard(board="left", key="k-1"))
        await house.paused("left")
        assert (await house.boards())["left"].why == ("op holds it",)
        asked = await house.ask()
        find = Find(matter=CODE, text="leak", key="k-2")
        found = (await house.call(find, "you")).job
        assert isinstance((await events_of(app, found))[-1].body, Completed)
        assert (await app._queue.job(found)).board == "right"
        assert (await app._queue.job(asked)).state is JobState.WAITING
        with pytest.raises(NotFound):
            await house.call(HoldBoard(board="nowhere", key="k-3"))
        await house.call(ResumeBoard(board="left", key="k-4"))
        assert isinstance((await events_of(app, asked))[-1].body, Completed)


async def test_a_box_without_cards_starts_no_child_and_leaves_no_mark(house, monkeypatch):
    monkeypatch.setattr("worker.watching.guard.nvidia_on_bus", lambda _: 0)
    only = msgspec.structs.replace(house.settings, boards=house.settings.boards[:1])
    async with App(only).open() as app:
        assert isinstance(app._guard, Guard)
        assert not app._guard.watching
        assert app._guard._loop is None
        events = await events_of(app, await house.ask())
        assert isinstance(events[-1].body, Completed)
    assert not (house.state / "clean-stop.json").exists()
    assert not (house.state / "operator.jsonl").exists()
    assert not (house.state / "held.json").exists()


async def test_the_commands_go_through_the_worker_s_door(house, simulated):
    config = house.state / "worker.toml"
    names = "\n".join(
        f'[[boards]]\nname = "{one.name}"\nengine = "scripted"\nscript = "{house.script}"'
        for one in house.settings.boards
    )
    run = house.settings.run_folder
    config.write_text(f'state = "{house.state}"\nrun_folder = "{run}"\n{names}\n', "utf-8")

    async def command(*words):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "worker", "--config", config, *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ,
        )
        async with asyncio.timeout(PATIENCE_S):
            out, err = await child.communicate()
        return child.returncode, out.decode(), err.decode()

    code, _, said = await command("boards", "hold", "left")
    assert code != 0
    assert "the worker is not running" in said
    async with App(house.settings).open():
        code, said, _ = await command("boards", "hold", "left")
        assert code == 0
        assert "left is held" in said
        await house.paused("left")
        await house.until(lambda: _read(house))
        code, said, _ = await command("top", "--json")
        assert code == 1
        shown = json.loads(said)
        assert [(one["name"], one["paused"]) for one in shown["boards"]] == [
            ("left", True),
            ("right", False),
        ]
        assert len(shown["cards"]) == 8
        assert {card["board"] for card in shown["cards"]} == {"left", "right"}
        assert shown["cards"][0]["power_limit_w"] == 150.0
        code, said, _ = await command("top", "--once", "--as", "you")
        assert code == 1
        assert "op holds it" in said
        code, _, said = await command("boards", "resume", "left", "--as", "you")
        assert code != 0
        assert "your role may not operate" in said
        code, _, said = await command("boards", "resume", "left")
        assert code == 0, said
        await house.paused()
        code, said, _ = await command("top")  # no terminal: one screen
        assert code == 0
        assert "GPU 7" in said


async def test_top_draws_again_and_again_and_waits_for_a_worker_that_is_away(house, simulated):
    config = house.state / "worker.toml"
    run = house.settings.run_folder
    config.write_text(
        f'state = "{house.state}"\nrun_folder = "{run}"\nengine = "scripted"\n', "utf-8"
    )
    ours, theirs = os.openpty()
    async with contextlib.AsyncExitStack() as stack:
        app = await stack.enter_async_context(App(house.settings).open())
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "worker", "--config", config, "top", "--every", "0.2"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
            start_new_session=True,
            # A suite that runs in a shell's background hands on that Ctrl-C is to be ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(theirs)
        try:
            await _drawn(ours, "GPU 7")
            simulated.set(6, xid=79)
            await _drawn(ours, "fell off the bus")
            assert app._guard.watching
            await stack.aclose()
            await _drawn(ours, "the worker is not running")
            child.send_signal(signal.SIGINT)
            async with asyncio.timeout(PATIENCE_S):
                await _read_out(ours)
                assert await child.wait() == 0
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
            os.close(ours)


async def _drawn(terminal, words):
    """Reads a terminal until words stand on it."""
    seen = ""
    async with asyncio.timeout(PATIENCE_S):
        while words not in seen:
            seen += (await asyncio.to_thread(os.read, terminal, 65536)).decode("utf-8", "replace")


async def _read_out(terminal):
    """Reads until the last holder has left: one who is not read from cannot say its last words."""
    with contextlib.suppress(OSError):  # how a terminal says so
        while await asyncio.to_thread(os.read, terminal, 65536):
            pass


async def _read(house):
    """Whether the cards have been read."""
    return bool((await house.call(GetBoards())).cards)


def public_key():
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode("ascii")
