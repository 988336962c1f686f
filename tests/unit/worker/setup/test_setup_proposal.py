"""What `init` proposes for the weights it finds, on the simulated reference builds."""

from __future__ import annotations

import msgspec
import pytest

from bench.board_boxes import build_a, build_b, make_board, make_box
from bench.board_models import deepseek_v41_flash, gemma4_26b, qwen35_122b, qwen36_35b
from worker.boards import Box, HostMemory
from worker.engine import EngineSettings
from worker.setup.proposal import Found, models_in, profiles_folder, propose
from worker.setup.proposal import _profile_for as profile_for
from worker.setup.proposal import _profiles as profiles

MODELS = {
    "Qwen3.5-122B-A10B-Q8_0.gguf": qwen35_122b,
    "gemma-4-26b-a4b-it-Q8_0.gguf": gemma4_26b,
    "Qwen3.6-35B-A3B-Q8_0.gguf": qwen36_35b,
    "DeepSeek-V4.1-Flash-Q4_K_M.gguf": deepseek_v41_flash,
}


def found(tmp_path, *names):
    rows = []
    for name in names:
        header = MODELS[name]()
        path = tmp_path / name
        rows.append(Found(path=path, header=header, profile=profile_for(path, header, profiles())))
    return sorted(rows, key=lambda one: -one.header.parameters)


@pytest.mark.parametrize("name", MODELS)
def test_every_shipped_profile_is_found_by_the_name_of_the_file(name, tmp_path):
    (one,) = found(tmp_path, name)
    assert one.profile is not None
    assert profiles_folder() is not None


@pytest.mark.parametrize("build", [build_a, build_b])
def test_both_reference_builds_get_their_boards_and_no_card_twice(build, tmp_path):
    box = build()
    proposal = propose(
        box, found(tmp_path, "Qwen3.5-122B-A10B-Q8_0.gguf", "gemma-4-26b-a4b-it-Q8_0.gguf")
    )
    assert proposal.boards
    cards = [
        uuid
        for board in proposal.boards
        for uuid in board.environment["CUDA_VISIBLE_DEVICES"].split(",")
    ]
    assert len(cards) == len(set(cards))
    assert set(cards) <= {gpu.uuid for gpu in box.gpus}
    assert proposal.boards[0].model.name == "Qwen3.5-122B-A10B-Q8_0.gguf"
    assert all(isinstance(board, EngineSettings) for board in proposal.boards)
    assert all("-ts" in board.flags for board in proposal.boards)


def test_a_span_takes_both_of_its_boards(tmp_path):
    box = build_a()
    proposal = propose(box, found(tmp_path, "DeepSeek-V4.1-Flash-Q4_K_M.gguf"))
    first = proposal.boards[0]
    assert len(first.name.split("+")) == 2
    later = {name for board in proposal.boards[1:] for name in board.name.split("+")}
    assert not later & set(first.name.split("+"))


def test_what_does_not_fit_is_said_with_the_planners_reason(tmp_path):
    box = make_box(make_board("A", range(1)))
    proposal = propose(box, found(tmp_path, "Qwen3.5-122B-A10B-Q8_0.gguf"))
    assert proposal.boards == ()
    assert "missing" in proposal.refused[0]


def test_models_do_not_take_the_boxs_memory_twice(tmp_path):
    one = found(tmp_path, "gemma-4-26b-a4b-it-Q8_0.gguf")
    roomy = make_box(make_board("A", range(4)), make_board("B", range(4, 8)))
    assert len(propose(roomy, one).boards) == 2
    # 16 GiB of cache each, and 85 % of 24 GiB for all: the second board is left alone
    memory = HostMemory(total_bytes=24 * 2**30, available_bytes=24 * 2**30)
    tight = msgspec.structs.replace(roomy, memory=memory)
    assert len(propose(tight, one).boards) == 1


def test_a_board_that_is_ill_gets_nothing(tmp_path):
    box = make_box(make_board("A", range(4)))
    ill = msgspec.structs.replace(box.boards[0], healthy=False, reason="a link is down")
    box = msgspec.structs.replace(box, boards=(ill,))
    proposal = propose(box, found(tmp_path, "gemma-4-26b-a4b-it-Q8_0.gguf"))
    assert proposal.boards == ()
    assert "a link is down" in proposal.refused[0]


def test_without_a_card_a_model_must_leave_most_of_the_memory_alone(tmp_path):
    (one,) = found(tmp_path, "gemma-4-26b-a4b-it-Q8_0.gguf")
    one.path.write_bytes(b"x" * 1000)
    for total, boards in ((4000, 1), (3999, 0)):
        box = Box(boards=(), memory=HostMemory(total_bytes=total, available_bytes=total))
        proposal = propose(box, [one])
        assert len(proposal.boards) == boards
        assert len(proposal.refused) == 1 - boards


def test_a_folder_of_odd_files_gives_reasons_and_no_model(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    (tmp_path / "empty.gguf").touch()
    (tmp_path / "mmproj-model.gguf").write_bytes(b"GGUF")
    (tmp_path / "Model-00002-of-00003.gguf").write_bytes(b"GGUF")
    models, odd = models_in(tmp_path)
    assert models == []
    assert sorted(line.split(":")[0] for line in odd) == ["broken.gguf", "empty.gguf"]
