"""Settings: later sources win, unknown keys are refused, values are never repeated."""

from __future__ import annotations

import pytest

from protocol.errors import BadRequest
from worker.config import load


@pytest.fixture
def file(tmp_path):
    return tmp_path / "worker.toml"


def test_file_then_environment_then_flag(file):
    file.write_text('port = 1\nhost = "10.0.0.1"\nzone = "Asia/Seoul"\n')
    loaded = load(
        file, environment={"SECONDCHAIR_PORT": "2", "SECONDCHAIR_HOST": "h"}, flags={"port": 3}
    )
    assert (loaded.settings.port, loaded.settings.host, loaded.settings.zone) == (
        3,
        "h",
        "Asia/Seoul",
    )
    assert (loaded.sources["port"], loaded.sources["host"], loaded.sources["zone"]) == (
        "flag",
        "environment",
        "file",
    )
    assert loaded.sources["engine"] == "default"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('prot = 1\n', "prot"),
        ('port = "my client confessed"\n', "port"),
        ('engine = "a secret engine"\n', "engine"),
        ('[[boards]]\nname = "A"\nmodle = "x"\n', "modle"),
        ("state = 1\n", "state"),
        ("not toml at all", "TOML"),
    ],
)  # fmt: skip
def test_an_error_names_the_key_and_never_the_value(file, text, named):
    file.write_text(text)
    with pytest.raises(BadRequest) as caught:
        load(file, environment={})
    assert named in caught.value.message
    assert "confessed" not in caught.value.message
    assert "secret" not in caught.value.message


def test_a_named_file_must_be_there(file):
    with pytest.raises(BadRequest, match="cannot be read"):
        load(file, environment={})


def test_one_setting_chooses_the_engine(file):
    file.write_text('engine = "llama_python"\n')
    (board,) = load(file, environment={}).settings.board_settings()
    assert (board.name, board.engine) == ("A", "llama_python")


def test_the_run_folder_is_for_its_owner_only(tmp_path):
    settings = load(
        None, environment={}, flags={"run_folder": tmp_path / "run", "state": tmp_path}
    ).settings
    assert settings.run().stat().st_mode & 0o077 == 0
