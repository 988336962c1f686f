"""``secondchair-worker measure`` on the real small model: the whole path, at tiny sizes."""

from __future__ import annotations

import json
import socket

import pytest
from click.testing import CliRunner

from protocol.errors import Conflict, NotFound, Unavailable
from worker.cli import measure
from worker.engine import bundled_model
from worker.measuring import Plan


def _run(tmp_path, *words):
    obj = {"config": None, "flags": {"state": tmp_path / "state", "run_folder": tmp_path / "run"}}
    return CliRunner().invoke(measure.command, ["--quick", "--json", *words], obj=obj)


@pytest.mark.model
@pytest.mark.slow
def test_the_small_model_is_measured_kept_and_compared(tmp_path, monkeypatch):
    try:
        bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    plan = Plan(sizes=(160, 8192), runs=1, output_tokens=24)
    monkeypatch.setattr(measure, "QUICK", plan)
    first = _run(tmp_path)
    assert first.exit_code == 0, first.exception
    said = json.loads(first.stdout)
    done = said["measurement"]
    assert {(cell["kind"], cell["size"]) for cell in done["cells"]} == {
        ("code", 160),
        ("legal", 160),
    }
    for run in done["runs"]:
        assert abs(run["prompt_tokens"] - 160) <= 2
        assert run["output_tokens"] == 24  # the model may not end by itself
        assert run["decode_tokens_per_s"] > 0
        assert run["prefill_tokens_per_s"] > 0
    assert len(done["left_out"]) == 1
    assert done["model"].endswith(".gguf")
    assert len(done["model_sha256"]) == len(done["binary_sha256"]) == 64
    assert all(verdict["decode_of_baseline"] is None for verdict in said["verdicts"])
    folder = tmp_path / "state" / "measurements"
    assert len(list(folder.glob("*.png"))) == 1
    assert (tmp_path / "state" / "engines" / "speeds.json").exists()

    second = json.loads(_run(tmp_path).stdout)
    assert all(verdict["decode_of_baseline"] > 0 for verdict in second["verdicts"])


def test_it_does_not_measure_beside_a_running_worker(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as worker:
        worker.bind(str(tmp_path / "run" / "worker.sock"))
        worker.listen()
        assert isinstance(_run(tmp_path).exception, Conflict)


def test_a_board_that_is_not_there_is_said(tmp_path):
    assert isinstance(_run(tmp_path, "--board", "Z").exception, NotFound)
