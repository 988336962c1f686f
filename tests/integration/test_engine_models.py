"""Models that are split, cut, missing or configured wrongly: what doctor, engine and worker say."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.house import read_matter
from bench.tiny_model import write_sliding_window_model
from protocol.errors import BadRequest, Damaged, NotFound, Unavailable
from worker import app_boards
from worker.app import App
from worker.boards.model_file import shards_of
from worker.boards.sizes import read_model
from worker.checks import Check, State, run_checks
from worker.config import Loaded, Settings
from worker.engine import EngineSettings, bundled_model
from worker.engine import State as EngineState
from worker.engine.llama_server import LlamaServer
from worker.engine.models import add_model, list_models, weights_sha256
from worker.registry import Registry, write

pytestmark = pytest.mark.model

ENGINE: dict[str, Any] = {"name": "A", "batch_tokens": 64, "ubatch_tokens": 64, "cache_ram_mib": 0}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model in one file."""
    return _write(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """The same model in several files, the first one without weights."""
    return _write(tmp_path, tensors_a_file=12)


def _write(folder: Path, **more: int) -> Path:
    try:
        return write_sliding_window_model(folder / "tiny.gguf", bundled_model(), **more)
    except Unavailable as error:
        pytest.skip(error.message)


async def test_a_split_model_runs_and_is_known_by_all_its_files(split: Path, whole: Path) -> None:
    parts = shards_of(split)
    assert len(parts) == 4
    assert read_model(split).parameters == read_model(whole).parameters > 0
    engine = LlamaServer(EngineSettings(model=split, **ENGINE))
    await engine.start()
    known = engine.provenance.model_sha256
    await engine.stop()
    assert known == weights_sha256(split)
    changed = bytearray(parts[2].read_bytes())
    changed[-1] ^= 1
    parts[2].write_bytes(changed)
    assert weights_sha256(split) != known
    recorded = LlamaServer(EngineSettings(model=split, model_sha256=known, **ENGINE))
    with pytest.raises(Damaged, match="recorded hash"):
        await recorded.start()


async def test_a_part_that_is_missing_or_cut_is_said_before_anything_is_loaded(split: Path) -> None:
    part = shards_of(split)[2]
    content = part.read_bytes()
    part.write_bytes(content[: len(content) // 2])
    engine = LlamaServer(EngineSettings(model=split, **ENGINE))
    with pytest.raises(Damaged, match="cut short"):
        await engine.start()
    part.unlink()
    with pytest.raises(NotFound):
        await engine.start()
    await engine.stop()


@pytest.mark.parametrize("lacks", [1, 4096, 2_000_000])
def test_a_cut_model_is_not_added_and_the_doctor_sees_it(
    whole: Path, tmp_path: Path, lacks: int
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole.read_bytes()[:-lacks])
    with pytest.raises(Damaged, match="cut short"):
        add_model(cut, tmp_path / "models")
    assert list_models(tmp_path / "models") == ()
    said = _doctor(tmp_path, EngineSettings(model=cut, **ENGINE))
    assert (said.state, "cut short" in said.reason) == (State.FAIL, True)
    assert _doctor(tmp_path, EngineSettings(model=whole, **ENGINE)).state is State.OK


def test_more_context_than_the_model_holds_is_seen_by_the_doctor(
    whole: Path, tmp_path: Path
) -> None:
    most = int(str(read_model(whole).values["gemma3.context_length"]))
    fits = EngineSettings(model=whole, context_tokens=most, **ENGINE)
    assert _doctor(tmp_path, fits).state is State.OK
    over = msgspec.structs.replace(fits, context_tokens=most + 1)
    said = _doctor(tmp_path, over)
    assert said.state is State.FAIL
    assert said.reason == f"the model holds {most} tokens, {most + 1} are configured"
    stretched = msgspec.structs.replace(over, flags=("--rope-scaling", "yarn"))
    assert _doctor(tmp_path, stretched).state is State.OK


def _doctor(folder: Path, board: EngineSettings) -> Check:
    settings = Settings(state=folder / "state", boards=(board,))
    checks = run_checks(Loaded(settings=settings, sources={}))
    return next(check for check in checks if check.name == "board A")


async def test_a_model_whose_disk_is_mounted_late_needs_no_restart(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker comes up without it, says so, and takes it once it is there."""
    monkeypatch.setattr(app_boards, "_AGAIN_S", (0.05,))
    state, papers, late = tmp_path / "state", tmp_path / "papers", tmp_path / "disk" / "m.gguf"
    papers.mkdir()
    (papers / "note.txt").write_text("The boiler was inspected on 3 May 2021.\n", "utf-8")
    read_matter(state, papers)
    (state / "registry").mkdir()
    write(state / "registry" / "users.toml", Registry(users=()))
    boards = (
        EngineSettings(model=late, **ENGINE),
        EngineSettings(name="B", engine="scripted"),
    )
    settings = Settings(state=state, run_folder=tmp_path / "run", boards=boards)
    async with App(settings).open() as app:
        engine = app._boards["A"].engine
        async with asyncio.timeout(60):
            await app._boards["A"].ready.wait()
            await app._boards["B"].ready.wait()
        said = await app.health()
        assert said["board A"][0] == "down"
        assert "cannot be read" in said["board A"][1]
        assert said["board B"][0] == "ok"
        late.parent.mkdir()
        shutil.copyfile(whole, tmp_path / "m.part")
        (tmp_path / "m.part").replace(late)
        async with asyncio.timeout(120):
            while (await engine.health()).state is not EngineState.READY:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def test_what_a_person_must_mend_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_boards, "_AGAIN_S", (0.0,))
    tried: list[int] = []

    class Wrong:
        async def start(self) -> None:
            tried.append(1)
            if len(tried) < 3:
                raise Unavailable("away")
            raise BadRequest("a setting is wrong")

    board: Any = type("Board", (), {"engine": Wrong(), "ready": asyncio.Event()})()
    await app_boards.start_board("A", board)
    assert len(tried) == 3
    assert board.ready.is_set()
