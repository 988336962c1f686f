"""Records read ahead, kept over restarts, and never another matter's: the parts as they are joined.

With the scripted engine where only order matters, with the real server and the bundled small model
where its kv_cache does. The small model's words mean nothing; counts do.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shutil

import msgspec
import pytest

from bench.house import CODE, open_house, read_matter
from protocol.errors import Unavailable
from protocol.ids import MatterId
from protocol.jobs import Ingest
from rag.matters import erase
from worker.engine import EngineSettings, Prompt, State, bundled_model
from worker.engine.llama_http import LlamaHttp
from worker.engine.llama_server import LlamaServer
from worker.engine.scripted import Line, Scripted
from worker.heads import Heads

PAPER = "\n".join(
    f"{n}. The boiler on floor {n} was inspected and needed {n * 7 % 19 + 1} hours of work."
    for n in range(1, 13)
)
SERVER = EngineSettings(
    batch_tokens=64, ubatch_tokens=64, context_tokens=2048, slot_files=True, cache_ram_mib=0
)
OPTIONS = {"reads_ahead": True, "second_reading": False, "answer_tokens": 24}


@pytest.fixture(scope="module")
def _paper(tmp_path_factory):
    root = tmp_path_factory.mktemp("short")
    papers = root / "papers"
    papers.mkdir()
    (papers / "report.txt").write_text(PAPER, "utf-8")
    read_matter(root, papers, "Short")
    return root


@pytest.fixture
def root(_paper, tmp_path):
    """A folder with one small matter in it."""
    shutil.copytree(_paper / "matters", tmp_path / "matters")
    return tmp_path


@pytest.fixture
async def houses(root):
    """Opens houses around the matter."""
    async with contextlib.AsyncExitStack() as stack:

        async def opening(**options):
            house = open_house(root, **(OPTIONS | options))
            return await stack.enter_async_context(house)

        yield opening


def server():
    try:
        bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    return LlamaServer(SERVER)


async def until(condition):
    """Waits for what must come; a hang ends the run."""
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - a condition of many parts, not one event
            await asyncio.sleep(0.01)


def slots(house):
    return sorted((house.folder / "slots").glob("*.slot"))


# --- order, with the script -----------------------------------------------------------------------


async def test_a_short_record_stands_whole_and_first_and_its_second_question_reuses_it(houses):
    house = await houses(engine=Scripted((Line(text="[[2]]"),)))
    first = await house.answer(house.ask("How long was the work on floor 3?"))
    second = await house.answer(house.ask("Which floor took longest?", "other"))
    one, two = [call.prompt for call in house.engine.asked]
    assert one.system == two.system
    assert one.record == two.record
    assert len(one.record) == 12
    assert "Found by the search: [" in one.question
    assert first.provenance.reused_tokens == 0
    assert second.provenance.reused_tokens > 0.8 * second.provenance.prompt_tokens
    assert first.text == second.text  # [[2]] is the record's second sentence, whatever is asked


async def test_a_record_over_the_limit_is_answered_from_what_was_found(houses):
    house = await houses(engine=Scripted((Line(text="[[1]]"),)), whole_record_tokens=40, passages=2)
    await house.answer(house.ask("How long was the work on floor 3?"))
    assert "Found by the search" not in house.engine.asked[0].prompt.question


async def test_a_wanted_matter_is_read_before_anybody_asks(houses):
    house = await houses(engine=Scripted((Line(text="[[1]]"),)))
    house.board.ahead.want(CODE)
    await until(lambda: house.engine._read.get(CODE))
    answer = await house.answer(house.ask("How long was the work on floor 3?"))
    assert answer.provenance.reused_tokens > 0.8 * answer.provenance.prompt_tokens


async def test_files_taken_in_are_read_ahead(houses):
    house = await houses(engine=Scripted((Line(text="[[1]]"),)))
    await house.answer(Ingest(matter=CODE, key=house.key()))
    await until(lambda: house.engine._read.get(CODE))


async def test_a_job_goes_first(houses):
    """A head that takes for ever to read holds up nobody."""
    engine = Scripted((Line(text="[[1]]"),))
    reading = asyncio.Event()

    async def slowly(matter, prompt):
        reading.set()
        await asyncio.Event().wait()

    engine.prewarm = slowly
    house = await houses(engine=engine)
    house.board.ahead.want(CODE)
    await reading.wait()
    reading.clear()
    await house.answer(house.ask("How long was the work on floor 3?"))
    await until(lambda: not house.board.ahead._wanted or reading.is_set())


async def test_a_head_that_was_read_and_is_read_again_is_said(houses, caplog):
    engine = Scripted((Line(text="[[1]]"),))
    house = await houses(engine=engine)
    caplog.set_level("INFO", "secondchair")
    await house.answer(house.ask("How long was the work on floor 3?"))
    assert house.board.ahead.alert == ""
    await engine.forget(CODE)  # as a build would that lost reuse
    await house.answer(house.ask("Which floor took longest?", "other"))
    assert "read again" in house.board.ahead.alert
    assert [line for line in caplog.messages if "head.read_again" in line]
    await house.answer(house.ask("How long was the work on floor 5?", "third"))
    assert house.board.ahead.alert == ""


async def test_a_matter_that_was_closed_leaves_the_engine(houses):
    engine = Scripted((Line(text="[[1]]"),))
    house = await houses(engine=engine)
    await house.answer(house.ask("How long was the work on floor 3?"))
    await house.board.ahead._forget_closed()
    assert CODE in engine._read
    await house.shelf.put_away(CODE)
    erase(house.folder)
    await house.board.ahead._forget_closed()
    assert CODE not in engine._read


@pytest.mark.parametrize("full", ["said before", "found out"])
async def test_a_full_disk_is_not_filled_anew_with_each_question(houses, full):
    class Full(Scripted):
        tries = 0

        @property
        def capabilities(self):
            return msgspec.structs.replace(super().capabilities, save_restore=True)

        async def save(self, matter, prompt, folder):
            self.tries += 1
            if full == "found out":
                raise Unavailable("a slot file could not be written; it was removed")

    engine = Full((Line(text="[[1]]"),))
    house = await houses(engine=engine)
    await house.answer(house.ask("How long was the work on floor 3?"))
    await until(lambda: engine.tries == 1 and CODE not in house.board.ahead._wanted)
    again = await house.answer(house.ask("Which floor took longest?", "other"))
    assert again.provenance.reused_tokens > 0.8 * again.provenance.prompt_tokens
    assert CODE not in house.board.ahead._wanted
    assert engine.tries == 1


async def test_another_text_or_model_is_another_head(houses):
    house = await houses(engine=Scripted((Line(text="[[1]]"),)))
    heads = Heads(16_384)
    async with house.shelf.use(CODE) as held:
        one = await heads.of(house.engine, held)
        assert await heads.of(house.engine, held) is one
        other = Scripted((Line(text="[[1]]"),), name="another model")
        assert (await heads.of(other, held)).key != one.key
        theirs = dataclasses.replace(held, id=MatterId("M-B1RC"))
        assert (await heads.of(house.engine, theirs)).key != one.key
        infos = [
            msgspec.structs.replace(info, text_sha256="0" * 64) for info in held.record.documents()
        ]
        changed = dataclasses.replace(held, record=_Record(held.record, infos))
        assert (await heads.of(house.engine, changed)).key != one.key


class _Record:
    def __init__(self, record, infos):
        self._record, self._infos = record, infos

    def documents(self):
        return self._infos

    def __getattr__(self, name):
        return getattr(self._record, name)


# --- the kv_cache, with the real server -----------------------------------------------------------


@pytest.mark.model
@pytest.mark.slow
async def test_a_restarted_worker_goes_on_from_the_slot_file_and_it_goes_with_the_matter(root):
    async with open_house(root, engine=server(), **OPTIONS) as house:
        cold = await house.answer(house.ask("How long was the work on floor 3?"))
        assert cold.provenance.reused_tokens < 32
        await until(lambda: slots(house) and slots(house)[0].with_suffix(".json").exists())

    async with open_house(root, engine=server(), **OPTIONS) as again:
        warm = await again.answer(again.ask("Which floor took longest?", "other"))
        assert warm.provenance.reused_tokens > 0.8 * cold.provenance.prompt_tokens
        assert again.board.ahead.alert == ""
        assert [path.stat().st_mode & 0o077 for path in slots(again)] == [0]
        await again.shelf.put_away(CODE)
        erase(again.folder)
        assert not (again.folder / "slots").exists()


@pytest.mark.model
@pytest.mark.slow
async def test_nothing_of_one_matter_is_restored_for_another(houses, root):
    """Not by asking, and not where somebody put the file under the other one's name."""
    house = await houses(engine=server())
    await house.answer(house.ask("How long was the work on floor 3?"))
    await until(lambda: slots(house) and slots(house)[0].with_suffix(".json").exists())
    engine, (file,) = house.engine, slots(house)
    async with house.shelf.use(CODE) as held:
        head = (await house.board.ahead._heads.of(engine, held)).prompt
    theirs = root / "theirs" / "slots"
    shutil.copytree(file.parent, theirs)
    birch = MatterId("M-B1RC")
    assert not await engine.restore(birch, head, theirs)
    wanted = await engine.save(birch, head, root / "own" / "slots")
    shutil.copy(file, theirs / wanted.name)
    shutil.copy(file.with_suffix(".json"), (theirs / wanted.name).with_suffix(".json"))
    await engine.restore(birch, head, theirs)
    usage = await engine.prewarm(birch, Prompt(system=head.system, record=head.record))
    assert usage.reused_tokens <= 32  # the template's tokens and chance in the code's digits
    assert (await engine.health()).state in (State.READY, State.BUSY)


@pytest.mark.model
@pytest.mark.slow
async def test_a_job_that_comes_while_a_record_is_read_loses_nothing_of_what_was_read(houses):
    house = await houses(engine=server())
    engine = house.engine
    api = LlamaHttp(engine.endpoint)
    house.board.ahead.want(CODE)
    async with asyncio.timeout(120):
        while (await api.get("/slots"))[0].get("n_prompt_tokens", 0) < 128:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await api.close()
    answer = await house.answer(house.ask("How long was the work on floor 3?"))
    assert answer.provenance.reused_tokens >= 64
    await engine.wait_idle(60)
