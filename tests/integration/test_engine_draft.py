"""A draft model through the settings, on the real server: passed on, recorded, counted, walled.

The bundled model drafts for itself: a pair that matches, and one of which nearly every draft is
taken. What a good pair gains is a matter of hardware and not asserted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bench.house import CODE, YOU, read_matter
from protocol.errors import Unavailable
from protocol.events import Completed
from protocol.jobs import Ask, GetAnswer, GetBoards
from rag.embedding import HashEmbedder
from worker.app import App
from worker.config import Settings
from worker.engine import (
    EngineSettings,
    Finished,
    Limits,
    Prompt,
    Request,
    Text,
    Usage,
    bundled_model,
    open_engine,
)
from worker.engine.llama_server import LlamaServer
from worker.engine.models import BUNDLED_SHA256
from worker.registry import Registry, write
from worker.service.server import Handlers, Server

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.model]

BASE = {"batch_tokens": 64, "ubatch_tokens": 64, "context_tokens": 512, "cache_ram_mib": 0}
BASE_LONG = {**BASE, "context_tokens": 2048}
RECORD = tuple(f"Section {n}: the tenant shall pay {n * 37} dollars." for n in range(6))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def engine() -> AsyncIterator[LlamaServer]:
    try:
        model = bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    flags = ("--spec-draft-model", str(model), "--spec-draft-n-max", "4")
    made = LlamaServer(EngineSettings(speculation="draft-simple", flags=flags, **BASE))
    await made.start()
    yield made
    await made.stop()


async def _ask(engine: LlamaServer, matter: str, name: str) -> tuple[str, Usage]:
    prompt = Prompt(system="Answer from the record.", record=RECORD, question="Who pays, and what?")
    limits = Limits(max_tokens=24, reuse=True)
    words, usage = [], Usage()
    request = Request(id=name, matter=matter, prompt=prompt, limits=limits)
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, Text):
                words.append(event.delta)
            elif isinstance(event, Finished):
                usage = event.usage
    return "".join(words), usage


async def test_drafts_are_made_taken_and_counted(engine: LlamaServer) -> None:
    _, usage = await _ask(engine, "M-AAAA", "one")
    assert 0 < usage.accepted_tokens <= usage.drafted_tokens


async def test_the_draft_model_stands_in_provenance_by_its_hash(engine: LlamaServer) -> None:
    flags = engine.provenance.flags
    at = flags.index("--spec-draft-model")
    assert flags[at + 1] == f"sha256:{BUNDLED_SHA256}"
    assert flags[flags.index("--spec-type") + 1] == "draft-simple"
    assert not any("/" in flag for flag in flags)


async def test_another_matter_reuses_nothing(engine: LlamaServer) -> None:
    await _ask(engine, "M-AAAA", "mine")
    _, usage = await _ask(engine, "M-BBBB", "theirs")
    assert usage.reused_tokens <= 8


@pytest.mark.slow
async def test_from_the_settings_to_the_reply_and_the_operators_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole worker whose board drafts: the reply's provenance and `top` say what was taken."""
    model = bundled_model()
    given: list[Handlers] = []

    class Kept(Server):
        def __init__(self, path: Path, handlers: Handlers, *more: Any, **named: Any) -> None:
            given.append(handlers)
            super().__init__(path, handlers, *more, **named)

    monkeypatch.setattr("worker.app.Server", Kept)
    monkeypatch.setattr("worker.app.open_embedder", lambda _: HashEmbedder())
    papers, state = tmp_path / "papers", tmp_path / "state"
    papers.mkdir()
    (papers / "note.txt").write_text("The boiler was inspected on 3 May 2021.\n", "utf-8")
    read_matter(state, papers)
    (state / "registry").mkdir()
    write(state / "registry" / "users.toml", Registry(users=()))
    flags = ("--spec-draft-model", str(model), "--spec-draft-n-max", "4")
    board = EngineSettings(name="A", speculation="draft-simple", flags=flags, **BASE_LONG)
    settings = Settings(
        state=state,
        run_folder=tmp_path / "run",
        boards=(board,),
        composition="model",
        answer_tokens=24,
        second_reading=False,
    )
    async with App(settings).open() as app:
        await app._boards["A"].ready.wait()
        calls = given[0].calls
        request = Ask(matter=CODE, question="When was it inspected?", conversation="c", key="k")
        accepted = await calls[Ask](request, YOU)
        after, bodies = 0, []
        while events := await app._queue.wait_event(accepted.job, after):
            after = events[-1].seq
            bodies += [event.body for event in events]
        assert isinstance(bodies[-1], Completed), bodies[-1]
        answer = (await calls[GetAnswer](GetAnswer(job=accepted.job), YOU)).answer
        (shown,) = (await calls[GetBoards](GetBoards(), YOU)).boards
    provenance = answer.provenance
    assert 0 < provenance.accepted_tokens <= provenance.drafted_tokens
    assert f"sha256:{BUNDLED_SHA256}" in provenance.flags
    counted = (shown.drafted_tokens, shown.accepted_tokens)
    assert counted == (provenance.drafted_tokens, provenance.accepted_tokens)


async def test_a_draft_model_that_is_not_there_is_said_at_the_start() -> None:
    flags = ("--spec-draft-model", "/nowhere/draft.gguf")
    made = open_engine(EngineSettings(speculation="draft-simple", flags=flags, **BASE))
    with pytest.raises(Unavailable, match="did not start"):
        await made.start()
    await made.stop()
