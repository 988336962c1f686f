"""What doctor says of a state folder that nobody may write into."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worker.checks import State, run_checks
from worker.config import Loaded, Settings
from worker.engine import EngineSettings
from worker.engine.run_folder import SOCKET_LIKE, SOCKET_PATH_BYTES, RunFolder


@pytest.mark.parametrize(("longer", "said"), [(0, ""), (1, "too long for a socket")])
def test_a_run_folder_too_deep_for_an_engines_socket_is_said(
    tmp_path: Path, longer: int, said: str
) -> None:
    """The worker's own socket still fits; the engine's name of 14 letters is one byte too far."""
    room = SOCKET_PATH_BYTES - len(f"/engine-A/{SOCKET_LIKE}")
    run = Path("/" + "r" * (room - 1 + longer))
    board = EngineSettings(name="A", model=tmp_path / "none.gguf")
    settings = Settings(state=tmp_path / "state", run_folder=run, boards=(board,))
    checks = run_checks(Loaded(settings=settings, sources={}))
    check = next(check for check in checks if check.name == "worker")
    assert said in check.reason
    assert (check.state is State.FAIL) is bool(said)


def test_every_socket_name_is_as_long_as_the_one_that_is_reckoned_with(tmp_path: Path) -> None:
    assert len(RunFolder(tmp_path).new_socket().name) == len(SOCKET_LIKE)


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
