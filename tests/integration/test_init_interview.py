"""The interview of ``init`` on a real terminal: every question has a proposal."""

from __future__ import annotations

import os
import subprocess
import sys

from protocol.record import DateOrder
from worker import registry
from worker.config import load
from worker.engine import bundled_model


def interview(folder, answers):
    """Types lines at a terminal; gives what was said."""
    ours, theirs = os.openpty()
    try:
        child = subprocess.Popen(
            [
                sys.executable, "-m", "worker", "--state", folder / "state",
                "init", "--no-service", "--config", folder / "worker.toml",
            ],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        os.close(theirs)
        os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
        said, _ = child.communicate(timeout=180)
    finally:
        os.close(ours)
    assert "Traceback" not in said, said
    return child.returncode, said


def test_every_proposal_may_be_taken_with_return(tmp_path):
    code, said = interview(tmp_path, [""] * 12)
    assert code == 0, said
    assert "How PCs reach the box" in said
    assert load(tmp_path / "worker.toml", environment={}).settings.state == tmp_path / "state"


def test_answers_are_what_stands_in_the_file_afterwards(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    (models / "tiny.gguf").symlink_to(bundled_model())
    where = ["", "127.0.0.1", "2222", "Nowhere/Land", "Asia/Seoul", "day_first"]
    lines = [*where, str(models), "y", "kim", "y"]
    code, said = interview(tmp_path, lines)
    assert code == 0, said
    assert "no such zone" in said
    settings = load(tmp_path / "worker.toml", environment={}).settings
    assert (settings.port, settings.zone) == (2222, "Asia/Seoul")
    assert settings.date_order is DateOrder.DAY_FIRST
    if "on the processor" in said:  # no card here
        assert [board.model for board in settings.boards] == [models / "tiny.gguf"]
    held = registry.read(tmp_path / "state" / "registry" / "users.toml")
    assert held.user("kim") is not None


def test_saying_no_at_the_end_changes_nothing(tmp_path):
    code, said = interview(tmp_path, ["", "", "", "", "", "", "", "n"])
    assert code == 130
    assert "every key explained" in said
    assert list(tmp_path.iterdir()) == []
