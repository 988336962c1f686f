"""``secondchair-worker boards`` and the doctor's lines, as a person and a script see them."""

import asyncio
import json
import os
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from gguf import GGUFWriter

from worker.boards.declared import Declared, as_toml, load_declared
from worker.boards.looking import look


@pytest.fixture
def run(library, tmp_path):
    """Runs the command on a simulated box with its boards file."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)

    def command(box, *words, declared=None, columns=200):
        if declared is not None:
            (state / "boards.toml").write_text(as_toml(declared), "utf-8")
        environment = os.environ | box.environment(library) | {"COLUMNS": str(columns)}
        return subprocess.run(
            [sys.executable, "-m", "worker", "--state", str(state), *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return command


def declared_of(box):
    return msgspec.convert(box.declared(), Declared)


def test_a_well_box(run, simulate):
    box = simulate("build_a")
    done = run(box, "boards", declared=declared_of(box))
    assert done.returncode == 0, done.stderr
    assert "every board is well" in done.stdout
    for word in ("north", "south", "mixed", "pair", "15.8 GiB", box.uuids[11]):
        assert word in done.stdout


def test_a_narrow_terminal_gets_no_uuids(run, simulate):
    box = simulate("build_b")
    done = run(box, "boards", declared=declared_of(box), columns=90)
    assert max(map(len, done.stdout.splitlines())) <= 90
    assert box.uuids[0] not in done.stdout


def test_an_ill_box_says_what_and_what_to_do(run, simulate):
    box = simulate("build_a")
    box.set(5, width=4)
    box.cut_link(6, 7)
    box.set(2, ecc_uncorrected=2)
    done = run(box, "boards", declared=declared_of(box))
    assert done.returncode == 1
    for words in (
        "has 4 PCIe lanes instead of 8", "reseat the card", "board south is not whole",
        "2 memory errors that could not be corrected",
    ):  # fmt: skip
        assert words in done.stdout


def test_json_has_all_of_it(run, simulate):
    box = simulate("second_box")
    done = run(box, "boards", "--json", declared=declared_of(box))
    said = json.loads(done.stdout)
    assert [board["name"] for board in said["boards"]] == [
        "geforce-1", "geforce-2", "volta-1", "volta-2",
    ]  # fmt: skip
    assert said["boards"][0]["gpus"][0]["uuid"] == box.uuids[0]
    assert said["trouble"] is None


def test_a_spark_in_plain_words(run, simulate):
    done = run(simulate("dgx_spark"), "boards")
    assert done.returncode == 0, done.stdout
    assert "shared" in done.stdout
    assert "not reported" in done.stdout


@pytest.mark.parametrize(
    ("code", "words"), [(9, "installed but not running"), (18, "restart the box")]
)
def test_a_driver_in_trouble(run, simulate, code, words):
    box = simulate()
    box.set(None, init=code)
    done = run(box, "boards")
    assert done.returncode == 1
    assert words in done.stdout


def test_declare_prints_a_file_that_fits_the_box(run, simulate, tmp_path):
    box = simulate("build_b")
    done = run(box, "boards", "declare")
    path = tmp_path / "declared.toml"
    path.write_text(done.stdout, "utf-8")
    declared = load_declared(path)
    assert [board.gpus for board in declared.board] == [tuple(box.uuids[:4]), tuple(box.uuids[4:])]
    assert run(box, "boards", declared=declared).returncode == 0


# --- plan -----------------------------------------------------------------------------------------


@pytest.fixture
def small_model(tmp_path):
    """A model file of eight layers, written by the format's own package."""
    path = tmp_path / "m.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(8)
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    for layer in range(8):
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", np.zeros((64, 64), np.float32))
    writer.add_tensor("token_embd.weight", np.zeros((128, 64), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_plan_prints_cards_and_flags(run, simulate, small_model):
    box = simulate("build_b")
    done = run(
        box, "boards", "plan", str(small_model), "--context", "4096", declared=declared_of(box)
    )
    assert done.returncode == 0, done.stderr
    assert "one board: it fits board left" in done.stdout
    assert f"CUDA_VISIBLE_DEVICES={box.uuids[0]}" in done.stdout
    assert "-sm layer -ts" in done.stdout
    assert "-c 4096" in done.stdout


def test_plan_passes_over_a_board_whose_readings_say_stop(run, simulate, small_model):
    box = simulate("build_b")
    box.set(1, ecc_uncorrected=1)
    done = run(box, "boards", "plan", str(small_model), "--json", declared=declared_of(box))
    assert json.loads(done.stdout)["boards"] == ["right"]


def test_plan_refuses_in_words(run, simulate, small_model):
    done = run(simulate("build_b"), "boards", "plan", str(small_model), "--context", "2000000000")
    assert done.returncode == 1
    assert "refused: no board takes it" in done.stdout
    assert "would fit: a context of" in done.stdout


def test_plan_wants_the_profile_s_own_model(run, simulate, small_model):
    profile = "deploy/profiles/qwen3.6-35b-a3b.toml"
    done = run(simulate(), "boards", "plan", str(small_model), "--profile", profile)
    assert done.returncode == 2
    assert "the profile is for qwen35moe" in done.stderr


def test_plan_of_a_file_that_is_no_model(run, simulate, tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUX" + bytes(64))
    done = run(simulate(), "boards", "plan", str(path))
    assert done.returncode == 2
    assert "no GGUF model file" in done.stderr


# --- doctor ---------------------------------------------------------------------------------------


def test_doctor_says_each_thing_in_a_line(run, simulate):
    box = simulate("build_a")
    box.set(5, width=4)
    box.set(9, limit=300_000)
    done = run(box, "doctor", "--json", declared=declared_of(box))
    cards = [check for check in json.loads(done.stdout) if check["name"] == "cards"]
    assert [check["state"] for check in cards] == ["warn", "warn"]
    assert all(check["next_step"] for check in cards)


def test_doctor_on_a_well_box(run, simulate):
    box = simulate("build_a")
    done = run(box, "doctor", "--json", declared=declared_of(box))
    (cards,) = [check for check in json.loads(done.stdout) if check["name"] == "cards"]
    assert cards["state"] == "ok"
    assert "4 on board north" in cards["reason"]


async def test_a_supply_that_may_be_asked_too_much_is_named(library, simulate):
    box = simulate("build_a")
    declared = declared_of(box)
    assert (await look(declared, environment=box.environment(library))).notices == ()
    small = tuple(msgspec.structs.replace(one, rating_w=1500) for one in declared.supply)
    changed = msgspec.structs.replace(declared, supply=small)
    box = await look(changed, environment=box.environment(library))
    assert [notice.kind for notice in box.notices] == ["supply"]
    assert "supply left may be asked for 1480 W of its 1500 W" in box.notices[0].reason


def test_without_a_card_a_missing_driver_is_no_fault(tmp_path):
    empty = tmp_path / "none"
    box = asyncio.run(look(Declared(), environment={"LD_LIBRARY_PATH": str(empty)}, sys=empty))
    if box.trouble is None or box.trouble.kind not in ("no_card", "no_library"):
        pytest.skip("this machine has an NVIDIA library of its own")
    assert box.trouble.kind == "no_card"
    assert box.notices[0].severity == "ok"


def test_with_a_card_on_the_bus_a_missing_driver_is_one(tmp_path):
    card = tmp_path / "bus/pci/devices/0000:01:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x10de\n")
    (card / "device").write_text("0x1db5\n")
    (card / "class").write_text("0x030200\n")
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    box = asyncio.run(look(Declared(), environment=environment, sys=tmp_path))
    if box.trouble is None or box.trouble.kind != "no_library":
        pytest.skip("this machine has an NVIDIA library of its own")
    assert "install driver branch 580" in box.trouble.next_step
