"""Starting, testing, restarting and setting aside, over scripted children."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from protocol.errors import BadRequest, Internal, Unavailable
from worker.engine import (
    EngineLost,
    EngineProvenance,
    EngineSettings,
    Finished,
    Health,
    Limits,
    Prompt,
    Request,
    State,
    StreamEvent,
    Text,
    Usage,
)
from worker.engine.builds import MAX_FAILURES, Builds, build_key
from worker.engine.scripted import Line, Scripted
from worker.engine.self_test import Passed
from worker.engine.supervisor import RESTARTS, Supervised

SETTINGS = EngineSettings(start_timeout_s=20, cache_ram_mib=0)


class FakeChild(Scripted):
    """A scripted engine with a process that can end."""

    def __init__(
        self,
        *,
        says: str = "one two three",
        build: str = "a",
        comes_up: bool = True,
        context: int = 4096,
    ) -> None:
        super().__init__(self._pick, context_tokens=context)
        self.says = says
        self.build = build
        self.comes_up = comes_up
        self.fails: list[str] = []
        self.says_long: list[str] = []
        self.gone = asyncio.Event()
        self._end = asyncio.Event()
        self._why = ""

    def _pick(self, request: Request) -> Line:
        if request.limits.json_schema is not None:
            return Line(text='{"full": true}')
        if len(request.prompt.record) > 12 and self.says_long:
            return Line(text=self.says_long.pop(0))
        fails = self.fails.pop() if self.fails and not request.id.startswith("self-test") else ""
        if fails == "away":
            self._end.set()  # as a process that died before the call
        return Line(text=self.says, fails=fails)

    @property
    def stopped(self) -> bool:
        return self.gone.is_set()

    async def start(self) -> None:
        if not self.comes_up:
            raise Unavailable("the engine did not start")
        await super().start()

    async def stop(self) -> None:
        self.gone.set()
        await super().stop()

    @property
    def provenance(self) -> EngineProvenance:
        return EngineProvenance(engine="fake", binary_sha256=self.build)

    @property
    def alive(self) -> bool:
        return not self._end.is_set()

    @property
    def pid(self) -> int:
        return 1

    def condemn(self, reason: str) -> None:
        self._why = reason
        self._end.set()

    def die(self) -> None:
        self.go_away()
        self.condemn("the engine was ended by signal 9")

    async def ended(self) -> str:
        await self._end.wait()
        return self._why or "the engine was ended by signal 9"


async def no_wait(_seconds: float) -> None:
    await asyncio.sleep(0)


class Bench:
    """A supervised engine over fake children that stay in reach."""

    def __init__(
        self, *makes: Callable[[], FakeChild], settings: EngineSettings = SETTINGS
    ) -> None:
        self.children: list[FakeChild] = []
        self.states: list[Health] = []
        self.engine = Supervised(
            [self._kept(make) for make in makes or (FakeChild,)],
            settings,
            on_state=self.states.append,
            sleep=no_wait,
        )

    def _kept(self, make: Callable[[], FakeChild]) -> Callable[[], FakeChild]:
        def made() -> FakeChild:
            child = make()
            self.children.append(child)
            return child

        return made

    async def ask(self, name: str = "r") -> list[StreamEvent]:
        request = Request(
            id=name,
            matter="M",
            prompt=Prompt(system="s", question="q"),
            limits=Limits(max_tokens=9),
        )
        async with aclosing(self.engine.stream(request)) as events:
            return [event async for event in events]

    async def state(self, wanted: State) -> Health:
        for _ in range(1000):
            health = await self.engine.health()
            if health.state is wanted:
                return health
            await asyncio.sleep(0.002)
        raise AssertionError(f"still {health.state}: {health.detail}")


async def test_it_is_away_before_it_starts_and_after_it_stops() -> None:
    bench = Bench()
    with pytest.raises(Unavailable):
        await bench.ask()
    await bench.engine.start()
    await bench.engine.start()
    assert len(bench.children) == 1
    assert (await bench.engine.health()).state is State.READY
    await bench.engine.stop()
    await bench.engine.stop()
    assert bench.children[0].stopped
    with pytest.raises(Unavailable, match="stopped"):
        await bench.ask()


async def test_the_self_test_asks_nothing_of_a_matter() -> None:
    bench = Bench()
    await bench.engine.start()
    assert {request.matter for request in bench.children[0].asked} == {""}
    await bench.engine.stop()


async def test_a_child_that_ends_is_started_again_and_says_so() -> None:
    bench = Bench()
    await bench.engine.start()
    bench.children[0].die()
    await bench.state(State.DOWN)
    health = await bench.state(State.READY)
    assert health.restarts == 1
    assert bench.children[0].stopped
    assert isinstance((await bench.ask())[-1], Finished)
    assert [seen.state for seen in bench.states] == [
        State.STARTING,
        State.READY,
        State.DOWN,
        State.READY,
    ]
    assert "signal 9" in bench.states[2].detail
    await bench.engine.stop()


async def test_a_call_lost_before_its_first_word_is_asked_once_more() -> None:
    bench = Bench()
    await bench.engine.start()
    bench.children[0].fails = ["away"]
    events = await bench.ask()
    assert "".join(e.delta for e in events if isinstance(e, Text)) == "one two three"
    assert len(bench.children) == 2
    await bench.engine.stop()


async def test_a_call_lost_after_a_word_is_the_callers_to_repeat() -> None:
    bench = Bench()
    await bench.engine.start()
    bench.children[0].fails = ["lost"]
    with pytest.raises(EngineLost):
        await bench.ask()
    await bench.state(State.READY)
    assert isinstance((await bench.ask())[-1], Finished)
    await bench.engine.stop()


async def test_a_second_loss_of_one_call_is_not_hidden() -> None:
    bench = Bench()
    await bench.engine.start()
    made = bench.engine._makes[0]

    def failing() -> FakeChild:
        child = made()
        child.fails = ["away"]
        return child

    bench.engine._makes = [failing]
    bench.children[0].fails = ["away"]
    with pytest.raises(Unavailable):
        await bench.ask()
    await bench.engine.stop()


async def test_it_gives_up_when_the_child_ends_too_often_and_an_operator_may_retry() -> None:
    bench = Bench()
    await bench.engine.start()
    for _ in range(RESTARTS):
        bench.children[-1].die()
        await bench.state(State.DOWN)
        await bench.state(State.READY)
    bench.children[-1].die()
    health = await bench.state(State.QUARANTINED)
    assert "restarts" in health.detail
    with pytest.raises(Unavailable):
        await bench.ask()
    await bench.engine.start()
    assert isinstance((await bench.ask())[-1], Finished)
    await bench.engine.stop()


async def test_a_build_that_answers_otherwise_than_before_is_not_used(tmp_path: Path) -> None:
    settings = EngineSettings(start_timeout_s=20, state_file=tmp_path / "builds.json")
    bench = Bench(settings=settings)
    await bench.engine.start()
    await bench.engine.stop()
    corrupt = Bench(lambda: FakeChild(says="one two four"), settings=settings)
    with pytest.raises(Unavailable, match="another answer"):
        await corrupt.engine.start()
    assert corrupt.children[0].stopped
    assert corrupt.children[0].asked
    assert {request.matter for request in corrupt.children[0].asked} == {""}


@pytest.mark.parametrize(
    ("first", "later", "why"),
    [
        (["a", "a"], ["b"], "another answer to a long prompt"),
        (["a", "b"], None, "answered in two ways"),
        (["a", "a"], ["a"], ""),
    ],
)
async def test_a_long_prompt_must_be_answered_alike(
    tmp_path: Path, first: list[str], later: list[str] | None, why: str
) -> None:
    settings = EngineSettings(
        start_timeout_s=20, state_file=tmp_path / "builds.json", long_test_tokens=1000
    )

    async def start(answers: list[str]) -> int:
        def made() -> FakeChild:
            child = FakeChild()
            child.says_long = list(answers)
            return child

        bench = Bench(made, settings=settings)
        await bench.engine.start()
        await bench.engine.stop()
        return max(len(request.prompt.record) for request in bench.children[0].asked)

    if later is not None:
        assert await start(first) > 40
        first = later
    if not why:
        await start(first)
        return
    with pytest.raises(Unavailable, match=why):
        await start(first)


async def test_the_build_before_takes_over_from_one_that_fails(tmp_path: Path) -> None:
    settings = EngineSettings(start_timeout_s=20, state_file=tmp_path / "builds.json")
    bench = Bench(
        lambda: FakeChild(says="", build="new"), lambda: FakeChild(build="old"), settings=settings
    )
    await bench.engine.start()
    assert bench.engine.provenance.binary_sha256 == "old"
    await bench.engine.stop()
    for _ in range(MAX_FAILURES - 1):
        await bench.engine.start()
        await bench.engine.stop()
    bench.children.clear()
    await bench.engine.start()
    assert bench.children[0].build == "new"
    assert not bench.children[0].asked  # set aside: not even tested
    await bench.engine.stop()


async def test_a_build_that_keeps_ending_gives_way_to_the_one_before() -> None:
    bench = Bench(lambda: FakeChild(build="new"), lambda: FakeChild(build="old"))
    await bench.engine.start()
    for _ in range(RESTARTS + 1):
        assert bench.engine.provenance.binary_sha256 == "new"
        bench.children[-1].die()
        await bench.state(State.DOWN)
        await bench.state(State.READY)
    assert bench.engine.provenance.binary_sha256 == "old"
    await bench.engine.stop()


async def test_a_start_that_fails_says_why_and_leaves_nothing_running() -> None:
    bench = Bench(lambda: FakeChild(comes_up=False))
    with pytest.raises(Unavailable, match="did not start"):
        await bench.engine.start()
    assert bench.children[0].stopped
    assert (await bench.engine.health()).detail == "the engine did not start"


async def test_what_the_system_refuses_is_said_and_tried_again() -> None:
    refusals = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))]

    class Refused(FakeChild):
        async def start(self) -> None:
            if refusals:
                raise refusals.pop()
            await super().start()

    bench = Bench(Refused)
    with pytest.raises(Unavailable, match="No space left on device"):
        await bench.engine.start()
    assert bench.children[0].stopped
    await bench.engine.start()
    refusals.append(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    bench.children[-1].die()
    await bench.state(State.DOWN)
    await bench.state(State.READY)
    assert any("Too many open files" in health.detail for health in bench.states)
    await bench.engine.stop()


async def test_a_disk_that_takes_no_notes_keeps_no_engine_down(tmp_path: Path) -> None:
    file = tmp_path / "no folder"
    file.touch()
    settings = msgspec.structs.replace(
        SETTINGS, state_file=file / "A.json", speeds_file=file / "speeds.json"
    )
    bench = Bench(settings=settings)
    await bench.engine.start()
    bench.children[0].die()
    await bench.state(State.DOWN)
    assert (await bench.state(State.READY)).restarts == 1
    assert await bench.ask()
    await bench.engine.stop()


async def test_a_context_too_small_for_the_test_is_a_setting_not_a_bad_build(
    tmp_path: Path,
) -> None:
    settings = msgspec.structs.replace(SETTINGS, state_file=tmp_path / "A.json")
    bench = Bench(lambda: FakeChild(context=64), settings=settings)
    with pytest.raises(BadRequest, match="context_tokens is 64") as caught:
        await bench.engine.start()
    assert "1024" in caught.value.next_step
    assert not (tmp_path / "A.json").exists()


async def test_a_slow_engine_fails_its_floor() -> None:
    bench = Bench(settings=EngineSettings(floor_tokens_per_s=1e9))

    class Slow(FakeChild):
        def _pick(self, request: Request) -> Line:
            return Line(text="one two three", token_s=0.001)

    bench.engine._makes = [Slow]
    with pytest.raises(Unavailable, match="floor"):
        await bench.engine.start()


async def test_a_breach_of_the_wall_ends_the_child() -> None:
    class Leaking(FakeChild):
        def _pick(self, request: Request) -> Line:
            if request.id.startswith("self-test"):
                return super()._pick(request)
            raise Internal("the engine reused state that is not this matter's; it was stopped")

    bench = Bench(Leaking)
    await bench.engine.start()
    with pytest.raises(Internal):
        await bench.ask()
    await asyncio.wait_for(bench.children[0].gone.wait(), 60)
    assert any("not this matter's" in seen.detail for seen in bench.states)
    await bench.engine.stop()


async def test_forgetting_with_a_host_ram_cache_takes_a_fresh_child() -> None:
    bench = Bench(settings=EngineSettings(start_timeout_s=20, cache_ram_mib=64))
    await bench.engine.start()
    await bench.engine.forget("M")
    assert len(bench.children) == 2
    assert bench.children[0].stopped
    await bench.engine.stop()


def test_notes_survive_and_a_damaged_file_costs_nothing_but_them(tmp_path: Path) -> None:
    file = tmp_path / "state" / "builds.json"
    key = build_key(EngineProvenance(engine="x", binary_sha256="b"))
    Builds(file).passed(key, Passed(answer_sha256="first", usage=Usage()))
    later = Builds(file)
    later.passed(key, Passed(answer_sha256="second", usage=Usage(), long_answer_sha256="long"))
    assert later.note(key).answer_sha256 == "first"
    assert later.note(key).long_answer_sha256 == "long"  # the first time one was asked for
    for _ in range(MAX_FAILURES):
        later.failed(key)
    assert Builds(file).note(key).set_aside
    later.pardon()
    assert not Builds(file).note(key).set_aside
    file.write_text("{")
    assert Builds(file).note(key).answer_sha256 == ""


def test_another_flag_is_another_build() -> None:
    one = EngineProvenance(engine="x", model_sha256="m", binary_sha256="b", flags=("-c", "1"))
    two = EngineProvenance(engine="x", model_sha256="m", binary_sha256="b", flags=("-c", "2"))
    assert build_key(one) != build_key(two)
