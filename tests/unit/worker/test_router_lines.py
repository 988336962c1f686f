"""The shortest line, staying with the record that is read, and boards that are held."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import MatterId, UserName
from protocol.jobs import Job
from worker.config import Settings
from worker.engine import EngineSettings
from worker.jobs import BoardInfo, NewJob
from worker.jobs.memory import MemoryQueue
from worker.placing import Placing
from worker.router import STAY_S, Router, shortest, stands_in

MATTER = MatterId("M-7F3K")


def board(name: str, **more: Any) -> EngineSettings:
    return EngineSettings(name=name, **({"engine": "scripted"} | more))


def router(*boards: EngineSettings, **more: Any) -> Router:
    return Router(Settings(state=Path("/srv/state"), boards=boards, **more))


def line(name: str, weight_s: float = 0.0, *, paused: bool = False, places: int = 1) -> BoardInfo:
    return BoardInfo(
        name=name, paused=paused, places=places, running=0, waiting=0, weight_s=weight_s
    )


def test_the_shortest_line_has_it_and_the_first_of_equals() -> None:
    two = router(board("A"), board("B"))
    assert two.place("ask", [line("A", 20), line("B", 19)]).name == "B"
    assert two.place("ask", [line("A", 20), line("B", 20)]).name == "A"
    assert two.place("summarize", [line("A", 20)]).name == "B"  # nobody ever waited on B
    assert two.place("ask", [line("A", 50, places=4), line("B", 20)]).name == "A"
    assert two.place("ask", [line("A", 20), line("B")]).why == "the shortest line: 0 s"


def test_a_matter_stays_where_its_record_is_read_until_the_line_is_much_longer() -> None:
    two = router(board("A"), board("B"))
    at_most, more = [line("A"), line("B", STAY_S)], [line("A"), line("B", STAY_S + 1)]
    stays = two.place("ask", at_most, "B")
    assert (stays.name, stays.code) == ("B", "stays")
    assert "answered this matter last" in stays.why
    assert two.place("ask", more, "B").name == "A"
    assert two.place("ask", at_most, "gone").name == "A"


def test_a_held_board_is_passed_over_while_another_can() -> None:
    two = router(board("A"), board("B"))
    passed = two.place("ask", [line("A", paused=True), line("B", 500)], "A")
    assert passed.name == "B"
    assert passed.why.endswith("A held")
    both = [line("A", 9, paused=True), line("B", 8, paused=True)]
    assert two.place("ask", both).name == "B"
    assert "held" not in two.place("ask", both).why


def test_only_boards_with_the_role_s_model_and_no_other_role_share_its_line() -> None:
    many = router(
        board("A", model=Path("a.gguf")),
        board("B", model=Path("b.gguf")),
        board("C", model=Path("a.gguf")),
        board("D", model=Path("a.gguf")),
        board("E", model=Path("a.gguf"), context_tokens=1024),
        roles={"review": "D"},
    )
    assert many.able("ask") == ("A", "C")
    assert many.able("find") == ("A",)
    given_away = router(board("A"), board("B"), roles={"draft": "B"})
    assert given_away.able("ask") == ("B",)
    assert given_away.place("ask", [line("B", 900), line("A")]).name == "B"


def test_an_engine_elsewhere_whose_model_nobody_named_stands_in_for_none() -> None:
    there = board("A", engine="remote", endpoint="/run/a.sock")
    assert not stands_in(board("B", engine="remote", endpoint="/run/b.sock"), there)
    named = board("A", engine="remote", remote_model="m")
    assert stands_in(board("B", engine="remote", remote_model="m"), named)


def test_one_board_needs_no_line() -> None:
    assert router(board("A")).place("ask", [line("A", 900, paused=True)]).why == "the only board"


LINES = st.dictionaries(
    st.sampled_from("ABCD"),
    st.builds(
        line,
        st.just("?"),
        st.floats(0, 1e6),
        paused=st.booleans(),
        places=st.integers(1, 8),
    ),
)


@given(LINES, st.none() | st.sampled_from("ABCDX"))
def test_whatever_the_lines_are(lines: dict[str, BoardInfo], last: str | None) -> None:
    able = "ABCD"
    chosen = shortest(able, lines, last).name

    def wait_s(name: str) -> float:
        return lines[name].weight_s / lines[name].places if name in lines else 0.0

    def held(name: str) -> bool:
        return name in lines and lines[name].paused

    free = [name for name in able if not held(name)] or list(able)
    assert chosen in free
    least = min(map(wait_s, free))
    assert wait_s(chosen) <= least + (STAY_S if chosen == last else 0.0)


@pytest.fixture
def queue() -> MemoryQueue:
    return MemoryQueue(lambda: dt.datetime(2024, 1, 9, tzinfo=dt.UTC))


async def add(queue: MemoryQueue, on: str, weight_s: float, matter: MatterId = MATTER) -> Job:
    new = NewJob(
        matter=matter,
        kind="ask",
        user=UserName("kim"),
        board=on,
        weight_s=weight_s,
        key=f"{on}-{weight_s}",
        request_sha256="a" * 64,
    )
    return await queue.add(new)


async def test_the_queue_counts_what_waits_and_what_runs(queue: MemoryQueue) -> None:
    await add(queue, "A", 20.0)
    await add(queue, "A", 5.0)
    assert await queue.claim("A", "me.1") is not None
    (info,) = await queue.boards()
    assert (info.running, info.waiting, info.weight_s) == (1, 1, 25.0)


async def test_questions_spread_and_each_matter_stays(queue: MemoryQueue) -> None:
    placing = Placing(router(board("A"), board("B")), queue)
    other = MatterId("M-8G4K")
    first = await placing.board_for("ask", MATTER)
    placing.placed(await add(queue, first.name, 40.0))
    assert (await placing.board_for("ask", other)).name == "B"
    placing.placed(await add(queue, "B", 30.0, other))
    assert (await placing.board_for("ask", MATTER)).name == "A"  # ten seconds longer: it stays
    assert (await placing.board_for("ask", MatterId("M-9H5M"))).name == "B"
    await queue.pause("A")
    assert (await placing.board_for("ask", MATTER)).name == "B"


async def test_a_record_that_is_read_ahead_draws_the_first_question(queue: MemoryQueue) -> None:
    placing = Placing(router(board("A"), board("B")), queue)
    await add(queue, "A", 10.0)
    assert await placing.opened(MATTER) == "B"
    await add(queue, "B", 25.0)
    assert (await placing.board_for("ask", MATTER)).name == "B"
