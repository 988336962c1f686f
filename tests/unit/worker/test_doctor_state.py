"""What doctor says of a state folder that nobody may write into."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worker.checks import State, run_checks
from worker.config import Loaded, Settings
from worker.engine import EngineSettings


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    settings = Settings(state=state, boards=(EngineSettings(name="A", engine="scripted"),))
    loaded = Loaded(settings=settings, sources={})

    def said() -> str:
        checks = run_checks(loaded)
        check = next(check for check in checks if check.name == "state folder")
        return check.reason if check.state is State.FAIL else ""

    assert said() == ""
    state.chmod(0o500)
    try:
        assert said() == "it cannot be written"
    finally:
        state.chmod(0o700)
