"""Boxes that work for each other: both ends keep what may not leave, a lost box loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import asyncssh  # noqa: TID251
import pytest

from bench import growth_boxes, postgres
from bench.growth_box import STAYING
from protocol.errors import AppError, BadRequest, Unavailable
from protocol.ids import MatterId
from protocol.jobs import JobState
from worker.boxes import CHAT_PATH, Rules
from worker.boxes.borrowed import Borrowed
from worker.boxes.handing import BORROWED, HANDED_OVER, HandOff
from worker.boxes.lender import Lender
from worker.engine import (
    EngineLost,
    EngineSettings,
    Finished,
    Limits,
    Prompt,
    Request,
    State,
    Text,
    Turn,
    messages,
)
from worker.engine.scripted import Line, Scripted
from worker.gateway import ENGINE_SUBSYSTEM, SUBSYSTEM, DropSettings, GatewaySettings
from worker.gateway.boxes import BoxWay, OtherBox
from worker.gateway.listener import Gateway
from worker.jobs.memory import MemoryQueue
from worker.jobs.runner import Runner
from worker.jobs.testing import HandClock
from worker.registry import Key, Registry, Role, User, write

MODEL, OTHER_MODEL = "ab" * 32, "cd" * 32
WORDS = "one two three four"


class House:
    """The lending box, in this process."""

    def __init__(self, folder: Path, engine: Scripted) -> None:
        self.socket = folder / "lender.sock"
        self.engine = engine
        self.queue = MemoryQueue(HandClock())

    def borrowed(self, rules: Rules, **changes: Any) -> Borrowed:
        settings = {"endpoint": str(self.socket), "model_sha256": MODEL, "stall_timeout_s": 30.0}
        return Borrowed(EngineSettings(engine="remote", **(settings | changes)), rules)

    async def ended(self) -> JobState:
        """How the one call ended, once it has."""
        (job,) = await self.queue.jobs(MatterId("M-AAAA"))
        after = 0
        while events := await self.queue.wait_event(job.id, after):
            after = events[-1].seq
        return (await self.queue.job(job.id)).state

    async def loans(self, matter: str = "M-AAAA") -> list[JobState]:
        return [job.state for job in await self.queue.jobs(MatterId(matter))]


async def anyhow(holds: Callable[[], object]) -> None:
    """Returns once something holds; the deadline is the caller's."""
    while not holds():  # noqa: ASYNC110 - nobody rings for this
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def lending(
    folder: Path, *, staying: tuple[str, ...] = (), line: Line | None = None
) -> AsyncIterator[House]:
    engine = Scripted([line or Line(text=WORDS)])
    await engine.start()
    house = House(folder, engine)
    rules = Rules("two", staying=staying)
    lender = Lender(engine, house.queue, board="a", model_sha256=MODEL, rules=rules)

    async def idle(board: str) -> None:
        await engine.wait_idle(30.0)

    runner = Runner(house.queue, {"a": 1}, lender.work, idle=idle)
    async with lender.open(house.socket):
        await runner.start()
        yield house
        await runner.shut_down()
    await engine.stop()


def asking(matter: str = "M-AAAA", number: int = 1, **prompt: Any) -> Request:
    return Request(
        id=f"J-1.1.{number}",
        matter=matter,
        prompt=Prompt(**({"system": "Answer.", "question": "What?"} | prompt)),
        limits=Limits(max_tokens=100),
    )


async def said(engine: Any, request: Request) -> str:
    text, events = [], []
    async for event in engine.stream(request):
        events.append(event)
        if isinstance(event, Text):
            text.append(event.delta)
    assert isinstance(events[-1], Finished)
    return "".join(text)


ONE = Rules("one", leaving=("M-AAAA",))


async def test_a_call_travels_with_its_turns_and_waits_its_turn_as_a_job(tmp_path: Path) -> None:
    async with lending(tmp_path) as house:
        engine = house.borrowed(ONE)
        await engine.start()
        request = asking(turns=(Turn(question="q1", answer="a1"),), record=("page 1", "page 2"))
        assert await said(engine, request) == WORDS
        (there,) = house.engine.asked
        assert messages(there.prompt) == messages(request.prompt)
        assert there.matter == "M-AAAA"
        assert (await engine.health()).state is State.READY
        await engine.stop()
        async with asyncio.timeout(60):
            assert await house.ended() == JobState.DONE


async def test_the_sender_sends_nothing_of_a_matter_that_stays(tmp_path: Path) -> None:
    async with lending(tmp_path) as house:
        for rules in (
            Rules("one"),
            Rules("one", leaving=("M-BBBB",)),
            Rules("one", leaving=("M-AAAA",), staying=("M-AAAA",)),
        ):
            engine = house.borrowed(rules)
            await engine.start()
            with pytest.raises(BadRequest, match="never leaves"):
                await said(engine, asking())
            await engine.stop()
        assert house.engine.asked == []
        assert await house.loans() == []


async def test_the_receiver_takes_nothing_of_a_matter_that_stays(tmp_path: Path) -> None:
    """Though the sender, by a fault or a wrong setting, has sent it."""
    async with lending(tmp_path, staying=("M-AAAA",)) as house:
        engine = house.borrowed(ONE)
        await engine.start()
        with pytest.raises(AppError):
            await said(engine, asking())
        await engine.stop()
        assert house.engine.asked == []
        assert await house.loans() == []


LOAN = {"box": "one", "call": "c-1", "matter": "M-AAAA", "may_leave": True, "weight_s": 1.0}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"may_leave": False}, 403),
        ({"may_leave": None}, 400),
        ({"matter": "Zebrastein v. Zebrastein"}, 400),
        ({"box": "two"}, 503),
        ({"more": 1}, 400),
        ({}, 200),
    ],
)
async def test_what_is_no_good_loan_is_refused_without_a_word(
    tmp_path: Path, change: dict[str, Any], status: int
) -> None:
    async with lending(tmp_path) as house:
        body = {
            "messages": [{"role": "user", "content": "Zebrastein"}],
            "metadata": {key: value for key, value in (LOAN | change).items() if value is not None},
            "max_tokens": 10,
        }
        connector = aiohttp.UnixConnector(str(house.socket))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.post("http://box" + CHAT_PATH, json=body) as response,
        ):
            assert response.status == status
            if status != 200:
                assert await response.read() == b""
                assert house.engine.asked == []
            else:
                await response.read()
                async with session.post("http://box" + CHAT_PATH, json=body) as again:
                    assert again.status == 409  # the same call is not made twice
                assert len(house.engine.asked) == 1


async def test_other_weights_are_not_asked(tmp_path: Path) -> None:
    async with lending(tmp_path) as house:
        engine = house.borrowed(ONE, model_sha256=OTHER_MODEL)
        with pytest.raises(Unavailable, match="weights"):
            await engine.start()
        assert (await engine.health()).state is State.DOWN
        await engine.stop()


async def test_a_borrower_that_goes_away_frees_the_board(tmp_path: Path) -> None:
    async with lending(tmp_path, line=Line(text=WORDS, token_s=3600.0)) as house:
        engine = house.borrowed(ONE)
        await engine.start()
        task = asyncio.create_task(said(engine, asking()))
        async with asyncio.timeout(60):
            await anyhow(lambda: house.engine.asked)
            task.cancel()
            await asyncio.wait([task])
            assert await house.ended() == JobState.STOPPED
            await house.engine.wait_idle(30.0)
        await engine.stop()


async def test_a_call_goes_to_the_next_engine_and_a_matter_that_stays_to_our_own(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    own = Scripted([Line(text="own words")])
    await own.start()
    async with lending(tmp_path, line=Line(text=WORDS, fails="lost")) as house:
        away = house.borrowed(ONE, endpoint=str(tmp_path / "nobody.sock"))
        both = HandOff(
            own,
            [away, house.borrowed(ONE)],
            ONE,
            own_first=False,
            told=lambda request, what: told.append(what),
        )
        assert await said(both, asking(STAYING)) == "own words"
        assert told == []
        assert house.engine.asked == []
        with pytest.raises(EngineLost):
            await said(both, asking(number=1))
        assert await said(both, asking(number=2)) == "own words"
        assert told == [BORROWED, HANDED_OVER]
        assert len(house.engine.asked) == 1
        await own.stop()
        assert (await both.health()).state is State.READY  # the other box still is
        own.go_away()
        with pytest.raises(Unavailable):
            await said(both, asking(STAYING))
        assert len(house.engine.asked) == 1
        await both.stop()


@contextlib.asynccontextmanager
async def gateway(folder: Path, lender: Path | None) -> AsyncIterator[tuple[Gateway, OtherBox]]:
    """A gateway with a lawyer and a box; and the way to it as that box."""
    users = []
    for name, role in (("alder", Role.LAWYER), ("one", Role.BOX)):
        key = asyncssh.generate_private_key("ssh-ed25519")
        (folder / name).write_bytes(key.export_private_key())
        (folder / name).chmod(0o600)
        public = Key(public=key.export_public_key().decode())
        users.append(User(name=name, role=role, keys=(public,)))
    write(folder / "users.toml", Registry(users=tuple(users)))
    host = asyncssh.generate_private_key("ssh-ed25519")
    (folder / "host").write_bytes(host.export_private_key())
    (folder / "matters").mkdir()
    settings = GatewaySettings(
        host="127.0.0.1",
        port=0,
        host_keys=(folder / "host",),
        users=folder / "users.toml",
        worker=folder / "nobody.sock",
        lender=lender,
        drop=DropSettings(matters=folder / "matters", audit=folder / "audit"),
    )
    async with Gateway(settings).open() as opened:
        public_host = host.export_public_key().decode()
        known = f"[127.0.0.1]:{opened.port} {public_host}"
        (folder / "known_hosts").write_text(known)
        yield (
            opened,
            OtherBox(
                host="127.0.0.1",
                port=opened.port,
                key=folder / "one",
                known_hosts=folder / "known_hosts",
                socket=folder / "two.sock",
            ),
        )


async def test_over_ssh_from_gateway_to_gateway(tmp_path: Path) -> None:
    async with (
        lending(tmp_path) as house,
        gateway(tmp_path, house.socket) as (_, other),
        BoxWay(other).open(),
    ):
        engine = house.borrowed(ONE, endpoint=str(other.socket))
        await engine.start()
        assert await said(engine, asking()) == WORDS
        await engine.stop()


async def test_a_box_key_opens_the_lender_and_nothing_else_and_no_other_key_does(
    tmp_path: Path,
) -> None:
    async with lending(tmp_path) as house, gateway(tmp_path, house.socket) as (opened, other):

        async def connect(user: str) -> asyncssh.SSHClientConnection:
            return await asyncssh.connect(
                "127.0.0.1",
                opened.port,
                username="x",
                client_keys=[str(tmp_path / user)],
                known_hosts=str(other.known_hosts),
                config=None,
                agent_path=None,
            )

        async with await connect("one") as conn:
            for wanted in ({"subsystem": SUBSYSTEM}, {"command": "help"}, {}):
                _, out, _ = await conn.open_session(encoding=None, **wanted)
                assert await out.read() == b""
            with pytest.raises(asyncssh.Error):
                await conn.start_sftp_client()
        async with await connect("alder") as conn:
            stdin, out, _ = await conn.open_session(subsystem=ENGINE_SUBSYSTEM, encoding=None)
            with contextlib.suppress(BrokenPipeError):  # closed already
                stdin.write(b"GET /v1/offer HTTP/1.1\r\nHost: box\r\n\r\n")
            assert await out.read() == b""
    with pytest.raises(ValueError, match="box"):
        User(name="one", role=Role.BOX, matters=("M-AAAA",))


async def test_a_box_that_does_not_lend_closes_the_line(tmp_path: Path) -> None:
    async with gateway(tmp_path, None) as (_, other), BoxWay(other).open():
        settings = EngineSettings(engine="remote", endpoint=str(other.socket), model_sha256=MODEL)
        engine = Borrowed(settings, ONE)
        with pytest.raises(Unavailable):
            await engine.start()
        await engine.stop()


@pytest.mark.slow
@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing())
def test_each_of_two_boxes_killed_once_nothing_lost_nothing_doubled() -> None:
    """Real processes, gateways and PostgreSQL; no word of one box's matters reaches the other."""
    with postgres.server() as server:

        async def trial() -> list[str]:
            async with growth_boxes.two_boxes(server.conninfo) as both:
                jobs = await growth_boxes.kill_each_once(both)
                for job in jobs:
                    assert await both.check(job) == (False, False), both.questions[job]
                loans = await both.loans()
                assert loans
                assert not [loan for loan in loans if loan.matter == STAYING]
                held = {
                    path: path.read_bytes()
                    for path in both.boxes["two"].state.rglob("*")
                    if path.is_file()
                }
                assert any(b"in two?" in content for content in held.values()), "saw nothing"
                assert not [path for path, content in held.items() if b"in one?" in content]
                return both.boxes["one"].lines("handed.txt")

        handed = asyncio.run(trial())
        assert sum(line.endswith(BORROWED) for line in handed) >= 2
        assert sum(line.endswith(HANDED_OVER) for line in handed) >= 1
        server.stop()
        stored = [path.read_bytes() for path in server.folder.rglob("*") if path.is_file()]
        assert any(b"M-STAY" in content for content in stored)
        assert not any(growth_boxes.MARKER.encode() in content for content in stored)
