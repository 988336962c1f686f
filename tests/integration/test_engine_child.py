"""The real child: killed, frozen, orphaned, started with what cannot work; and what it shows."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import psutil
import pytest
import pytest_asyncio

from bench.tiny_model import write_sliding_window_model
from protocol.errors import AppError, BadRequest, Damaged, Unavailable
from worker.engine import (
    EngineLost,
    EngineSettings,
    Finished,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    State,
    StreamEvent,
    Text,
    bundled_model,
)
from worker.engine.llama_http import LlamaHttp
from worker.engine.llama_server import LlamaServer
from worker.engine.models import list_models, verify_model
from worker.engine.supervisor import Supervised, supervised_llama_server

pytestmark = pytest.mark.model

RECORD = tuple(f"Line {n} CANARY of the record." for n in range(60))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that loads at once."""
    try:
        source = bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    return write_sliding_window_model(tmp_path_factory.mktemp("model") / "tiny.gguf", source)


@pytest.fixture
def settings(model: Path, tmp_path: Path) -> EngineSettings:
    return EngineSettings(
        model=model,
        run_folder=tmp_path / "run",
        batch_tokens=64,
        ubatch_tokens=64,
        stall_timeout_s=5,
        cache_ram_mib=0,
    )


@pytest_asyncio.fixture
async def engine(settings: EngineSettings) -> AsyncIterator[Supervised]:
    made = supervised_llama_server(settings)
    await made.start()
    yield made
    await made.stop()


def _request(name: str = "r", max_tokens: int = 8) -> Request:
    prompt = Prompt(system="Read.", record=RECORD, question="CANARY?")
    return Request(id=name, matter="M", prompt=prompt, limits=Limits(max_tokens=max_tokens))


async def _all(engine: Supervised | LlamaServer, request: Request) -> list[StreamEvent]:
    async with aclosing(engine.stream(request)) as events:
        return [event async for event in events]


async def _ready(engine: Supervised) -> None:
    """Once it is back; what was torn away may still hold its place for a moment."""
    async with asyncio.timeout(240):
        await engine.count_texts(["word"])  # waits for the next child
        while (await engine.health()).state is not State.READY:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


async def test_killed_it_comes_back_and_answers(engine: Supervised) -> None:
    first = engine.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    events = await _all(engine, _request())  # asked while it is away: waits and is answered
    assert isinstance(events[-1], Finished)
    assert engine.pid != first
    assert (await engine.health()).restarts == 1


async def test_killed_while_it_loads_the_start_says_so_and_the_next_one_works(
    settings: EngineSettings,
) -> None:
    made = supervised_llama_server(settings)
    starting = asyncio.create_task(made.start())
    (await _loading(settings.run_folder)).kill()
    with pytest.raises(Unavailable):
        await starting
    health = await made.health()
    assert (health.state, bool(health.detail)) == (State.DOWN, True)
    await made.start()
    assert isinstance((await _all(made, _request()))[-1], Finished)
    await made.stop()


async def _loading(run: Path | None) -> psutil.Process:
    """The child as soon as there is one; the one that is asked for ``--help`` is another."""
    async with asyncio.timeout(240):
        while True:
            for child in psutil.Process().children():
                try:
                    if any(word.startswith(f"{run}/") for word in child.cmdline()):
                        return child
                except psutil.NoSuchProcess:
                    continue
            await asyncio.sleep(0.01)


async def test_killed_while_it_reads_the_prompt_is_read_again(engine: Supervised) -> None:
    killed: list[int] = []
    events = []
    async with aclosing(engine.stream(_request())) as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, PromptProgress) and not killed:
                assert engine.pid is not None
                killed.append(engine.pid)
                os.kill(engine.pid, signal.SIGKILL)
    assert isinstance(events[-1], Finished)
    assert any(isinstance(event, Text) for event in events)
    assert engine.pid not in killed
    assert (await engine.health()).restarts == 1


async def test_killed_in_the_middle_of_an_answer_the_words_are_void(engine: Supervised) -> None:
    killed = engine.pid

    async def ask() -> None:
        async with aclosing(engine.stream(_request(max_tokens=400))) as events:
            async for event in events:
                if isinstance(event, Text):
                    assert killed is not None
                    os.kill(killed, signal.SIGKILL)

    with pytest.raises(EngineLost):
        await ask()
    await _ready(engine)
    assert isinstance((await _all(engine, _request()))[-1], Finished)


async def test_frozen_it_is_killed_and_replaced(engine: Supervised) -> None:
    frozen = engine.pid
    assert frozen is not None
    os.kill(frozen, signal.SIGSTOP)
    events = await _all(engine, _request())
    assert isinstance(events[-1], Finished)
    assert engine.pid != frozen
    assert not psutil.pid_exists(frozen)


async def test_frozen_after_a_cancel_it_is_replaced_too(engine: Supervised) -> None:
    frozen = engine.pid
    assert frozen is not None
    async with aclosing(engine.stream(_request("c", 400))) as events:
        async for event in events:
            if isinstance(event, PromptProgress):
                os.kill(frozen, signal.SIGSTOP)
                await engine.cancel("c")
    await _ready(engine)
    assert isinstance((await _all(engine, _request()))[-1], Finished)
    assert engine.pid != frozen


async def test_its_end_leaves_no_process_and_no_socket(settings: EngineSettings) -> None:
    made = supervised_llama_server(settings)
    await made.start()
    pid = made.pid
    assert pid is not None
    await made.stop()
    assert not psutil.pid_exists(pid)
    assert settings.run_folder is not None
    assert not list(settings.run_folder.glob("*.sock"))


async def test_it_shows_nothing_of_a_prompt(engine: Supervised, tmp_path: Path) -> None:
    await _all(engine, _request())
    child = psutil.Process(engine.pid)
    assert "CANARY" not in " ".join(child.cmdline()) + str(child.environ())
    assert not {name for name in child.environ() if name.startswith(("GGML_", "LLAMA_", "PYTHON"))}
    assert not child.net_connections(kind="inet")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"CANARY" not in path.read_bytes()


_ORPHAN = """
import asyncio, sys
from pathlib import Path
from worker.engine import EngineSettings
from worker.engine.llama_server import LlamaServer

async def main():
    engine = LlamaServer(EngineSettings(model=Path(sys.argv[1]), run_folder=Path(sys.argv[2])))
    await engine.start()
    print(engine.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's parent-death signal")
def test_it_dies_with_its_parent(model: Path, tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _ORPHAN, model, tmp_path / "run"], stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    child.wait(timeout=10)


@pytest.mark.parametrize(
    ("changed", "kind", "why"),
    [
        ({"model_sha256": "0" * 64}, Damaged, "recorded hash"),
        ({"model": Path("none.gguf")}, AppError, "read"),
        ({"binary": Path("/none/llama-server")}, AppError, "read"),
        ({"flags": ("--no-such-flag",)}, BadRequest, "--no-such-flag"),
        ({"environment": {"GGML_CUDA_P2P": "0"}}, BadRequest, "GGML_CUDA_P2P"),
        ({"flags": ("--spec-draft-n-max", "many")}, Unavailable, "flags"),
        ({"speculation": "draft-mtp"}, BadRequest, "it has none"),
        ({"speculation": "draft-simple"}, BadRequest, "no flag names one"),
        ({"binary": Path("/bin/true")}, BadRequest, "does not know the flag"),
    ],
)
async def test_what_cannot_work_is_said_at_the_start(
    settings: EngineSettings, changed: dict[str, object], kind: type[AppError], why: str
) -> None:
    engine = LlamaServer(msgspec.structs.replace(settings, **changed))
    with pytest.raises(kind, match=why):
        await engine.start()
    assert (await engine.health()).state is State.DOWN
    await engine.stop()


async def test_a_build_that_answers_like_none_we_know_is_said(
    settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def props(_api: LlamaHttp) -> dict[str, object]:
        return {"chat_template": ""}

    monkeypatch.setattr(LlamaHttp, "props", props)
    engine = LlamaServer(settings)
    with pytest.raises(Unavailable, match="what a llama-server says"):
        await engine.start()
    await engine.stop()


@pytest.mark.parametrize("keep", [0, 4, 100_000, 4_000_000])
async def test_a_damaged_model_is_said_at_the_start(
    settings: EngineSettings, model: Path, tmp_path: Path, keep: int
) -> None:
    harmed = tmp_path / "harmed.gguf"
    harmed.write_bytes(model.read_bytes()[:keep])
    engine = LlamaServer(msgspec.structs.replace(settings, model=harmed))
    with pytest.raises(AppError, match="model"):
        await engine.start()
    await engine.stop()


def test_models_are_listed_and_verified(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(model.read_bytes())
    (tmp_path / "b.gguf").write_bytes(b"not a model")
    assert [found.name for found in list_models(tmp_path)] == ["a.gguf"]
    found = verify_model(tmp_path / "a.gguf", "")
    assert verify_model(tmp_path / "a.gguf", found.sha256.upper()) == found
    with pytest.raises(Damaged):
        verify_model(tmp_path / "a.gguf", "0" * 64)
    with pytest.raises(Damaged):
        verify_model(tmp_path / "b.gguf", "")
