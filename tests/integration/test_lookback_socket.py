"""Looking back over the worker's own socket: what was asked, the journal, and whose they are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from bench.children import finish
from bench.house import CODE, read_matter, utc_now
from bot.link import Link
from protocol.errors import AppError
from protocol.frames import Stamp
from protocol.ids import MatterId, UserName
from protocol.jobs import Accepted, Find, Jobs, ListAudit, ListJobs
from protocol.record import Matter
from rag.matters import create
from worker.app import App
from worker.audit import path_of
from worker.config import Settings
from worker.engine import EngineSettings
from worker.gateway.worker_line import connect
from worker.keys import make_key
from worker.paths import SOCKET
from worker.registry import Key, Registry, Role, User, read, write

OTHER, ABSENT = MatterId("M-A1DR"), MatterId("M-ZZZZ")
WORDS = ("boiler inspected", "zephyr", "boiler men")


class Place:
    """A worker's state and its users."""

    def __init__(self, folder: Path) -> None:
        self.state, self.run = folder / "state", folder / "run"
        self.users = self.state / "registry" / "users.toml"
        papers = folder / "papers"
        papers.mkdir()
        (papers / "note.txt").write_text("The boiler was inspected by two men.\n", "utf-8")
        read_matter(self.state, papers)
        matter = Matter(id=OTHER, title="another", opened_at=utc_now())
        create(self.state / "matters" / OTHER, matter).close()
        self.users.parent.mkdir()
        write(
            self.users,
            Registry(
                users=tuple(
                    User(
                        name=name,
                        role=Role.LAWYER,
                        matters=(matter,),
                        keys=(Key(public=make_key(folder / name)),),
                    )
                    for name, matter in (("you", CODE), ("them", OTHER))
                )
            ),
        )
        board = EngineSettings(name="A", engine="scripted")
        self.settings = Settings(state=self.state, run_folder=self.run, boards=(board,))

    def line_of(self, name):
        """A connection to the worker that is stamped as the gateway stamps it."""
        user = read(self.users).user(name)
        stamp = Stamp(
            user=UserName(name),
            role=user.role.value,
            fingerprint=user.keys[0].fingerprint,
            peer="127.0.0.1",
        )
        return connect(self.run / SOCKET, stamp)

    @contextlib.asynccontextmanager
    async def link(self, name):
        async with Link.over_fd((await self.line_of(name)).detach()) as link:
            yield link

    async def program(self, *arguments, stdin=b""):
        """The scripted door, as the gateway starts it: exit status, output, errors."""
        verb, *rest = arguments
        with await self.line_of("you") as line:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", verb, "--fd", str(line.fileno()), *rest,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(line.fileno(),),
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])},
            )  # fmt: skip
        out, err = await finish(child, stdin)
        return child.returncode, out, err


@pytest.fixture
async def place():
    folder = Path(tempfile.mkdtemp(prefix="sc-"))  # short: socket paths may have 107 bytes
    made = Place(folder)
    async with App(made.settings).open():
        yield made
    shutil.rmtree(folder)


async def asked(link):
    """Three requests, each ended; their jobs, newest first."""
    jobs = []
    for words in WORDS:
        accepted = await link.call(Find(matter=CODE, text=words, key=words))
        assert isinstance(accepted, Accepted)
        async for _ in link.follow(accepted.job):
            pass
        jobs.append(accepted.job)
    return jobs[::-1]


async def test_what_was_asked_comes_back_with_its_words_page_by_page(place):
    async with place.link("you") as link:
        newest, middle, oldest = await asked(link)
        plain = await link.call(ListJobs(matter=CODE))
        assert plain.asked == {}
        listed = await link.call(ListJobs(matter=CODE, asked=True))
        assert [job.id for job in listed.jobs] == [newest, middle, oldest]
        assert [listed.asked[job.id] for job in listed.jobs] == [*WORDS[::-1]]
        assert {job.user for job in listed.jobs} == {"you"}
        page = await link.call(ListJobs(matter=CODE, asked=True, words="BOILER", most=1))
        assert ([job.id for job in page.jobs], page.more) == ([newest], 1)
        rest = await link.call(ListJobs(matter=CODE, asked=True, words="BOILER", before=newest))
        assert ([job.id for job in rest.jobs], rest.more) == ([oldest], 0)
        none = await link.call(ListJobs(matter=CODE, asked=True, words="boiler zephyr"))
        assert none == Jobs(jobs=())


async def test_the_journal_is_shown_without_a_word_of_what_was_asked(place):
    async with place.link("you") as link:
        newest, *_ = await asked(link)
        found = await link.call(ListAudit(matter=CODE))
        assert found.broken_at is None
        assert found.entries[-1].job == newest
        assert (found.entries[-1].what, found.entries[-1].by) == ("job.accepted", "you")
        sent = msgspec.json.encode(found).decode().casefold()
        assert not [word for said in WORDS for word in said.split() if word in sent]
        assert len((await link.call(ListAudit(matter=CODE, most=2))).entries) == 2


@pytest.mark.parametrize("request_type", [ListAudit, ListJobs])
async def test_a_foreign_matter_reads_like_one_that_is_not_there(place, request_type):
    async with place.link("you") as link:
        await asked(link)
    async with place.link("them") as link:
        told = []
        for matter in (CODE, ABSENT):
            with pytest.raises(AppError) as caught:
                await link.call(request_type(matter=matter))
            told.append((type(caught.value), caught.value.message, caught.value.next_step))
        assert told[0] == told[1]


async def test_a_script_reads_both_and_learns_of_a_broken_chain(place):
    async with place.link("you") as link:
        newest, _, oldest = await asked(link)
    code, out, err = await place.program("audit", "2", "--matter", CODE, "--json")
    assert (code, err) == (0, b"")
    assert [entry["what"] for entry in json.loads(out)["entries"]] == ["job.accepted"] * 2
    code, out, err = await place.program(
        "history", "--matter", CODE, "--json", "-", stdin=f"boiler before:{newest}".encode()
    )
    assert (code, err) == (0, b"")
    assert json.loads(out)["asked"] == {oldest: WORDS[0]}
    code, out, _ = await place.program("history", "--matter", CODE, "boiler")
    assert code != 0  # words of a case do not stand on a command line
    path = path_of(place.state / "audit", CODE)
    path.write_bytes(path.read_bytes().replace(b'"by":"you"', b'"by":"lee"', 1))
    code, out, _ = await place.program("audit", "--matter", CODE)
    assert code == 7
    assert b"The chain BREAKS at entry" in out
