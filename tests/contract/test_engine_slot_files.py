"""Slot files with the real server: a restart restores, everything that differs refuses."""

from __future__ import annotations

import resource
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from bench.tiny_model import write_sliding_window_model
from protocol.errors import Unavailable
from worker.engine import (
    EngineSettings,
    Finished,
    Limits,
    Prompt,
    Request,
    Usage,
    bundled_model,
    llama_server,
    slot_files,
)
from worker.engine.llama_server import LlamaServer

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.model]

RECORD = tuple(
    f"Section {n}: the tenant shall pay {n * 37} dollars before day {n % 28 + 1} of the month."
    for n in range(8)
)
HEAD = Prompt(system="Answer from the record.", record=RECORD)
SETTINGS = EngineSettings(
    batch_tokens=64, ubatch_tokens=64, context_tokens=1024, slot_files=True, cache_ram_mib=0
)


def _settings(**changed: object) -> EngineSettings:
    return msgspec.structs.replace(SETTINGS, **changed)


async def _ask(engine: LlamaServer, matter: str, question: str) -> Usage:
    prompt = Prompt(system=HEAD.system, record=HEAD.record, question=question)
    request = Request(id="q", matter=matter, prompt=prompt, limits=Limits(max_tokens=1))
    async with aclosing(engine.stream(request)) as events:
        last = [event async for event in events][-1]
    assert isinstance(last, Finished)
    return last.usage


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matter") / "slots"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def saved(folder: Path) -> AsyncIterator[Path]:
    """A slot file of matter M-AAAA; the engine that wrote it has ended."""
    try:
        bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    engine = LlamaServer(SETTINGS)
    await engine.start()
    assert engine.capabilities.save_restore, engine.capabilities.notes
    file = await engine.save("M-AAAA", HEAD, folder)
    assert file is not None
    assert await engine.save("M-AAAA", HEAD, folder) == file  # twice is harmless
    await engine.stop()
    yield file


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def fresh(saved: Path) -> AsyncIterator[LlamaServer]:
    """Another process of the same build."""
    engine = LlamaServer(SETTINGS)
    await engine.start()
    yield engine
    await engine.stop()


async def test_a_new_process_goes_on_where_the_old_one_stopped(
    fresh: LlamaServer, saved: Path, folder: Path
) -> None:
    assert await fresh.restore("M-AAAA", HEAD, folder)
    usage = await _ask(fresh, "M-AAAA", "Who pays?")
    assert usage.reused_tokens > 0.8 * usage.prompt_tokens
    assert saved.stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0


async def test_another_matter_restores_nothing(fresh: LlamaServer, folder: Path) -> None:
    assert not await fresh.restore("M-BBBB", HEAD, folder)
    usage = await _ask(fresh, "M-BBBB", "Who pays?")
    assert usage.reused_tokens == 0


async def test_a_restored_matter_is_erased_before_another_asks(
    fresh: LlamaServer, folder: Path
) -> None:
    assert await fresh.restore("M-AAAA", HEAD, folder)
    assert (await _ask(fresh, "M-BBBB", "Who pays?")).reused_tokens == 0


async def test_where_the_disk_has_no_room_nothing_is_written(
    fresh: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size is known from the start-up test, so a full disk is seen before it is full."""
    free = shutil.disk_usage(tmp_path).free
    monkeypatch.setattr(slot_files, "KEPT_FREE_BYTES", free - 1_000_000)
    assert await fresh.save("M-AAAA", HEAD, tmp_path / "slots") is None
    assert not (tmp_path / "slots").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of another process")
async def test_a_file_that_the_system_cuts_off_is_removed_and_said(
    fresh: LlamaServer, tmp_path: Path
) -> None:
    """As on a disk that fills up meanwhile: the server may write so many bytes and no more."""
    before = resource.prlimit(fresh.pid, resource.RLIMIT_FSIZE, (4096, -1))
    try:
        with pytest.raises(Unavailable, match="could not be written"):
            await fresh.save("M-AAAA", HEAD, tmp_path / "slots")
    finally:
        resource.prlimit(fresh.pid, resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "slots").iterdir()) == []
    await fresh.wait_idle(60)
    assert await fresh.save("M-AAAA", HEAD, tmp_path / "slots") is not None


async def test_a_changed_record_restores_nothing(fresh: LlamaServer, folder: Path) -> None:
    changed = Prompt(system=HEAD.system, record=(*RECORD[:-1], "Section 7: nothing is due."))
    assert not await fresh.restore("M-AAAA", changed, folder)


async def test_forgotten_means_read_again(fresh: LlamaServer, folder: Path) -> None:
    assert await fresh.restore("M-AAAA", HEAD, folder)
    await fresh.forget("M-AAAA")
    assert (await _ask(fresh, "M-AAAA", "Who pays?")).reused_tokens == 0


@pytest.mark.parametrize("harm", ["flip", "cut", "no note"])
async def test_a_file_that_is_not_as_it_was_written_is_removed(
    fresh: LlamaServer, folder: Path, harm: str
) -> None:
    file = await fresh.save("M-CCCC", HEAD, folder)
    assert file is not None
    if harm == "flip":
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    elif harm == "cut":
        file.write_bytes(file.read_bytes()[:1000])
    else:
        file.with_suffix(".json").unlink()
    assert not await fresh.restore("M-CCCC", HEAD, folder)
    assert not file.exists()
    assert not file.with_suffix(".json").exists()


async def test_another_context_is_another_file(saved: Path, folder: Path) -> None:
    engine = LlamaServer(_settings(context_tokens=512))
    await engine.start()
    assert not await engine.restore("M-AAAA", HEAD, folder)
    await engine.stop()


async def test_another_model_is_another_file(
    saved: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Weights of another hash restore nothing, however alike they are."""
    other = tmp_path_factory.mktemp("other") / "other.gguf"
    other.write_bytes(bundled_model().read_bytes() + b"\0" * 32)
    engine = LlamaServer(_settings(model=other))
    await engine.start()
    assert engine.capabilities.save_restore
    assert not await engine.restore("M-AAAA", HEAD, folder)
    assert saved.exists()  # it is the other model's, not broken
    await engine.stop()


@pytest.fixture(scope="module")
def window_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sliding_window_model(
        tmp_path_factory.mktemp("model") / "window.gguf", bundled_model()
    )


async def test_a_window_model_has_no_slot_files_and_says_why(
    saved: Path, folder: Path, window_model: Path
) -> None:
    engine = LlamaServer(_settings(model=window_model))
    await engine.start()
    assert not engine.capabilities.save_restore
    assert engine.capabilities.notes == ("slot files off: the model has sliding-window attention",)
    assert not await engine.restore("M-AAAA", HEAD, folder)
    assert await engine.save("M-AAAA", HEAD, folder) is None
    await engine.stop()


@pytest.mark.parametrize("flags", [(), ("--swa-full",)])
async def test_the_start_test_finds_a_window_by_itself(
    window_model: Path, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should a header not tell, the behaviour does."""
    monkeypatch.setattr(llama_server, "why_no_slot_files", lambda _header: "")
    engine = LlamaServer(_settings(model=window_model, flags=flags))
    await engine.start()
    assert not engine.capabilities.save_restore
    await engine.stop()


async def test_a_window_model_still_reuses_in_memory(window_model: Path) -> None:
    engine = LlamaServer(_settings(model=window_model, cache_ram_mib=64))
    await engine.start()
    await _ask(engine, "M-AAAA", "Who pays?")
    usage = await _ask(engine, "M-AAAA", "When is it due?")
    assert usage.reused_tokens > 0.5 * usage.prompt_tokens
    assert (await _ask(engine, "M-BBBB", "Who pays?")).reused_tokens <= 16
    again = await _ask(engine, "M-AAAA", "How much?")
    assert again.reused_tokens > 0.5 * again.prompt_tokens
    await engine.stop()


async def test_more_slots_than_one_have_no_slot_files() -> None:
    engine = LlamaServer(_settings(slots=2))
    await engine.start()
    assert engine.capabilities.notes == ("slot files off: more than one slot",)
    await engine.stop()
