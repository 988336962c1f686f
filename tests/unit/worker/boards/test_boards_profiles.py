"""The shipped profiles, each put to the planner with a header of its model's shape."""

from pathlib import Path

import msgspec
import pytest

from bench.board_boxes import build_a, build_b, make_board, make_box
from bench.board_models import deepseek_v41_flash, gemma4_26b, qwen35_122b, qwen36_35b
from protocol.errors import BadRequest, NotFound
from worker.boards.placement import Decision, plan
from worker.boards.profiles import load_profile
from worker.engine import EngineSettings
from worker.engine.build_help import read_help
from worker.engine.server_flags import server_flags, server_program

FOLDER = Path(__file__).parents[4] / "deploy" / "profiles"
MODELS = {
    "gemma-4-26b-a4b": gemma4_26b,
    "qwen3.6-35b-a3b": qwen36_35b,
    "qwen3.5-122b-a10b": qwen35_122b,
    "deepseek-v4.1-flash": deepseek_v41_flash,
}


def test_every_profile_has_its_model_here():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("build", [build_a, build_b])
def test_a_profile_runs_on_both_reference_builds(name, build):
    profile = load_profile(FOLDER / f"{name}.toml")
    header = MODELS[name]()
    assert profile.architecture == header.architecture
    placement = plan(build(), header, profile.plan)
    spans = name == "deepseek-v4.1-flash"
    assert placement.decision is (Decision.SPAN if spans else Decision.PIN)
    assert placement.crossings == int(spans)
    assert "-ctk q4_0 -ctv q4_0" in " ".join(placement.flags)
    assert "-fa on" in " ".join(placement.flags)


def test_five_tokens_are_drafted():
    profile = load_profile(FOLDER / "deepseek-v4.1-flash.toml")
    flags = " ".join(plan(build_a(), deepseek_v41_flash(), profile.plan).flags)
    assert "--spec-type draft-mtp" in flags
    assert "--spec-draft-n-max 5" in flags


@pytest.mark.parametrize("name", MODELS)
async def test_the_bundled_build_knows_every_flag(name):
    pytest.importorskip("xllamacpp")
    settings = load_profile(FOLDER / f"{name}.toml").plan
    placement = plan(build_a(), MODELS[name](), settings)
    build = await read_help(server_program(EngineSettings()))
    assert {word for word in placement.flags if word.startswith("-")} <= build.flags
    engine = EngineSettings(
        flags=placement.engine_flags,
        environment=placement.environment,
        context_tokens=settings.context_tokens,
        kv_dtype=settings.key_type,
        speculation=settings.speculation,
    )
    socket = Path("engine.sock")
    assert server_flags(engine, model=socket, socket=socket, slots=socket, build=build)


def test_the_122b_profile_is_refused_with_the_cautious_default():
    profile = load_profile(FOLDER / "qwen3.5-122b-a10b.toml")
    cautious = msgspec.structs.replace(profile.plan, overhead_bytes=2**30, margin_bytes=2**29)
    box = make_box(make_board("A", range(4)))
    assert plan(box, qwen35_122b(), cautious).decision is Decision.REFUSE


@pytest.mark.parametrize("text", ["", "title = 1", "title = 'x'\narchitecture = 'y'\nodd = 1", "="])
def test_a_wrong_profile_is_refused(tmp_path, text):
    path = tmp_path / "p.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(BadRequest):
        load_profile(path)


def test_a_missing_profile(tmp_path):
    with pytest.raises(NotFound):
        load_profile(tmp_path / "none.toml")
