"""The example settings of both reference builds, on their simulated boxes: planned, and examined.

`doctor` runs whole: the real reading child on the stand-in for the driver, model files with headers
of the real shapes, the example files with nothing changed but where weights and binary lie.
"""

import asyncio
import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from bench.board_models import deepseek_v41_flash, gemma4_26b, qwen35_122b, qwen36_35b, write_header
from worker.boards import GIB, HostMemory
from worker.boards.declared import load_declared
from worker.boards.looking import look
from worker.boards.placement import Decision, plan
from worker.boards.profiles import load_profile
from worker.cli import cli
from worker.config import load
from worker.keys import make_key
from worker.registry import Registry, write
from worker.router import stands_in
from worker.watching.uses import hardware_of

DEPLOY = Path(__file__).parents[3] / "deploy"
MODELS = {
    "gemma-4-26b-a4b": gemma4_26b,
    "qwen3.6-35b-a3b": qwen36_35b,
    "qwen3.5-122b-a10b": qwen35_122b,
    "deepseek-v4.1-flash": deepseek_v41_flash,
}
BOXES = {  # the example, the simulated box, its memory in GiB
    "build-a": ("build_a", 256),
    "build-a-second": ("second_box", 512),
    "build-b": ("build_b", 512),
    "build-b-spark": ("dgx_spark", 119),
}


class Simulated:
    """One example set up on its simulated box."""

    def __init__(self, name, box, folder):
        self.name, self.box = name, box
        self.state, self.config = folder / "state", folder / "worker.toml"
        example = DEPLOY / "examples" / name
        models, binary = folder / "models", folder / "llama-server"
        models.mkdir()
        for model, header in MODELS.items():
            write_header(header(), models / f"{model}-q8_0.gguf")
        binary.write_text("#!/bin/sh\n", "ascii")
        binary.chmod(0o755)
        text = (example / "worker.toml").read_text("utf-8")
        for said, here in (
            ("/var/lib/secondchair", self.state),
            ("/srv/models", models),
            ("/opt/llama.cpp/bin/llama-server", binary),
        ):
            text = text.replace(said, str(here))
        self.write(f'run_folder = "{folder / "run"}"\nport = 1\n{text}')
        self.state.mkdir(mode=0o700)
        shutil.copy(example / "boards.toml", self.state)
        write(self.state / "registry" / "users.toml", Registry())
        make_key(self.state / "gateway" / "host_ed25519")

    @property
    def settings(self):
        return load(self.config, environment={}).settings

    def write(self, text):
        self.config.write_text(text, "utf-8")

    def change(self, said, new):
        text = self.config.read_text("utf-8")
        assert said in text
        self.write(text.replace(said, new, 1))

    def doctor(self, *more):
        done = CliRunner().invoke(cli, ["--config", str(self.config), "doctor", *more])
        assert done.exit_code in (0, 1), done.output
        return done

    def checks(self):
        """What the doctor says of cards and boards, by name."""
        found = {}
        for check in json.loads(self.doctor("--json").output):
            found.setdefault(check["name"], []).append(check)
        return found


@pytest.fixture(params=BOXES)
def example(request, library, simulate, tmp_path, monkeypatch):
    return _set_up(request.param, library, simulate, tmp_path, monkeypatch)


@pytest.fixture
def build_a(library, simulate, tmp_path, monkeypatch):
    return _set_up("build-a", library, simulate, tmp_path, monkeypatch)


@pytest.fixture
def build_b(library, simulate, tmp_path, monkeypatch):
    return _set_up("build-b", library, simulate, tmp_path, monkeypatch)


def _set_up(name, library, simulate, folder, monkeypatch):
    of_box, gib = BOXES[name]
    memory = HostMemory(total_bytes=gib * GIB, available_bytes=gib * GIB)
    monkeypatch.setattr("worker.boards.looking.read_memory", lambda: memory)
    monkeypatch.setattr("worker.boards.looking.nvidia_on_bus", lambda _: 0)
    box = simulate(of_box)
    for variable, value in box.environment(library).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("COLUMNS", "110")
    return Simulated(name, box, folder)


def test_every_example_is_tried_here():
    assert {path.name for path in (DEPLOY / "examples").iterdir()} == set(BOXES)


def test_the_doctor_finds_nothing_wrong_with_cards_and_boards(example):
    checks = example.checks()
    assert [check["state"] for check in checks["cards"]] == ["ok"], checks["cards"]
    boards = [check for name, found in checks.items() if name.startswith("board ")
              for check in found]  # fmt: skip
    assert len(boards) == len(example.settings.boards)
    for check in boards:
        assert check["state"] == "ok", check
        assert re.search(r"billion parameters, on \d+ cards? of ", check["reason"])
    failing = [name for name, found in checks.items() for one in found if one["state"] == "fail"]
    assert failing == []


def test_the_example_says_what_the_planner_says(example):
    declared = load_declared(example.state / "boards.toml")
    assert {uuid for board in declared.board for uuid in board.gpus} == set(example.box.uuids)
    box = asyncio.run(look(declared))
    homes = {board.name: board.uuids for board in box.boards}
    for engine in example.settings.boards:
        model = engine.model.name.removesuffix("-q8_0.gguf")
        profile = load_profile(DEPLOY / "profiles" / f"{model}.toml")
        names = hardware_of(engine, homes)
        assert "+".join(sorted(names)) == engine.name
        alone = msgspec.structs.replace(
            box, boards=tuple(board for board in box.boards if board.name in names)
        )
        placement = plan(alone, MODELS[model](), profile.plan)
        assert placement.decision is (Decision.SPAN if len(names) == 2 else Decision.PIN)
        assert placement.engine_flags == engine.flags
        assert placement.environment == engine.environment
        wanted = profile.plan
        assert (engine.context_tokens, engine.slots) == (wanted.context_tokens, wanted.slots)
        assert (engine.kv_dtype, engine.cache_ram_mib) == (wanted.key_type, wanted.cache_ram_mib)
        assert engine.ubatch_tokens == wanted.ubatch_tokens
        assert engine.speculation == wanted.speculation
        assert engine.floor_tokens_per_s == profile.floor_tokens_per_s


def test_the_models_of_one_box_fit_its_memory_together(example):
    box = asyncio.run(look(load_declared(example.state / "boards.toml")))
    taken = 0
    for engine in example.settings.boards:
        model = engine.model.name.removesuffix("-q8_0.gguf")
        settings = load_profile(DEPLOY / "profiles" / f"{model}.toml").plan
        taken += plan(box, MODELS[model](), settings).host_bytes
    assert taken <= 0.85 * box.memory.total_bytes


def test_jobs_of_one_board_of_build_a_may_go_on_on_the_other(build_a):
    north, south = build_a.settings.boards
    assert stands_in(south, north)
    assert stands_in(north, south)


def test_it_is_one_screen_that_a_lawyer_can_read(example):
    text = example.doctor().output
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 110
    assert not re.search(r"NVML|NVRM|Traceback|None|errno|0x", text)
    last = " ".join(text.split())[-140:]
    assert re.search(r"Nothing is broken. Not running: .*worker, gateway; 1 thing deserves", last)


def test_faults_of_build_a_are_told_with_what_to_do(build_a):
    build_a.box.set(4, width=4)
    build_a.box.set(9, lost=1)
    build_a.box.set(1, limit=300_000)
    build_a.box.cut_link(6, 7)
    done = build_a.doctor()
    assert done.exit_code == 1
    text = " ".join(done.output.split())
    for said in ("PCIe lanes", "reseat", "may draw 300 W", "NVLink"):
        assert said in text
    assert len(done.output.splitlines()) <= 60
    assert "not work until mended" in text
    north = build_a.checks()["board north"][0]
    assert north["state"] == "fail"
    assert "1 of the 4 cards it names are not in this box" in north["reason"]


def test_a_driver_that_is_too_new_for_volta_is_named(build_b):
    build_b.box.set(None, driver="595.10.01", branch="r595_00")
    checks = build_b.checks()["cards"]
    assert any("595" in check["reason"] for check in checks)


@pytest.mark.parametrize(
    ("said", "new", "words"),
    [
        ('"12,12,12,13"', '"12,12,25"', "its split (-ts) is for 3 cards; it names 4"),
        ("context_tokens = 32768", "context_tokens = 1048576", "no board takes it"),
        pytest.param('00000000000a,\\\n    GPU-0000000a-0000-4000-8000-00000000000b',
         '00000000000a,\\\n    GPU-0000000a-0000-4000-8000-000000000005',
                     "called after one board and names cards of north", id="stranger"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_their_cards_are_found_before_the_engine_does(
    build_a, said, new, words
):
    build_a.change(said, new)
    found = [one for name, checks in build_a.checks().items() if name.startswith("board ")
             for one in checks]  # fmt: skip
    wrong = [one for one in found if one["state"] == "fail"]
    assert any(words in one["reason"] for one in wrong), found
    assert all(one["next_step"] for one in wrong)


def test_a_card_that_two_engines_name_is_found(build_a):
    build_a.change("00000000000b", "000000000005")
    reasons = [checks[0]["reason"] for name, checks in build_a.checks().items()
               if name.startswith("board ")]  # fmt: skip
    assert any("south names one of its cards, too" in reason for reason in reasons)
    assert any("north names one of its cards, too" in reason for reason in reasons)


def test_cards_in_the_order_of_their_numbers_cross_too_often(build_b):
    uuids = build_b.box.uuids
    numbered = [uuids[at] for at in (0, 1, 4, 5, 2, 3, 6, 7)]
    text = build_b.config.read_text("utf-8")
    listed = re.search(r'"""\\\n.*?"""', text, re.DOTALL)[0]
    build_b.write(text.replace(listed, '"' + ",".join(numbered) + '"'))
    (board,) = build_b.checks()["board left+right"]
    assert (board["state"], "3 times; once is the most" in board["reason"]) == ("fail", True)


def test_an_engine_that_names_no_card_is_a_warning(build_b):
    text = build_b.config.read_text("utf-8")
    build_b.write(text[: text.index("[boards.environment]")])
    (board,) = build_b.checks()["board left+right"]
    assert board["state"] == "warn"
    assert "every card it finds" in board["reason"]
