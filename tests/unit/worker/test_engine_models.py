"""The box's models: added, fetched, verified, removed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from protocol.errors import Conflict, Damaged, NotFound
from worker.cli.models import command
from worker.engine import EngineSettings
from worker.engine.builds import Builds, build_notes
from worker.engine.models import (
    add_model,
    file_sha256,
    list_models,
    recorded_sha256,
    remove_model,
    verify_model,
)

BODY = b"GGUF" + b"\x03\0\0\0" + b"\0" * 16 + b"weights"
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "given" / "A.gguf"
    file.parent.mkdir()
    file.write_bytes(BODY)
    return file


def test_added_listed_verified_removed(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    assert list_models(folder) == ()
    added = add_model(source, folder, SHA256)
    assert add_model(source, folder) == added
    assert list_models(folder) == (added,)
    assert added.sha256 == recorded_sha256(folder / "A.gguf") == SHA256
    assert verify_model(folder / "A.gguf", SHA256.upper()) == added
    assert sorted(path.name for path in folder.iterdir()) == ["A.gguf", "A.gguf.sha256"]
    remove_model("A.gguf", folder)
    assert list(folder.iterdir()) == []


def test_what_may_not_be_added_or_removed(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    with pytest.raises(Damaged):
        add_model(source, folder, "0" * 64)
    plain = tmp_path / "B.gguf"
    plain.write_bytes(b"not a model")
    with pytest.raises(Damaged):
        add_model(plain, folder)
    add_model(source, folder)
    other = tmp_path / "other" / "A.gguf"
    other.parent.mkdir()
    other.write_bytes(BODY + b"more")
    with pytest.raises(Conflict):
        add_model(other, folder)
    for name in ("none.gguf", "../given/A.gguf", ""):
        with pytest.raises(NotFound):
            remove_model(name, folder)
    assert source.exists()


def test_a_changed_file_is_hashed_again(source: Path) -> None:
    before = file_sha256(source)
    source.write_bytes(BODY + b"x")
    assert file_sha256(source) != before


def test_the_command_line(source: Path, tmp_path: Path) -> None:
    obj = {"config": None, "flags": {"state": tmp_path / "state"}}

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(command, list(words), obj=obj)
        return done.exit_code, done.stdout

    code, said = run("add", str(source))
    assert (code, SHA256 in said) == (0, True)
    code, said = run("list", "--json")
    assert [row["name"] for row in json.loads(said)] == ["A.gguf"]
    assert run("verify") == (0, "A.gguf: as recorded\n")
    (tmp_path / "state" / "models" / "A.gguf").write_bytes(BODY + b"x")
    assert run("verify", "A.gguf") == (7, "A.gguf: NOT as recorded\n")
    assert run("remove", "A.gguf") == (0, "A.gguf: removed\n")
    (tmp_path / "state" / "models" / "Cut.gguf").write_bytes(BODY[:12])
    code, said = run("list")
    assert (code, "cut short" in said or "header" in said) == (0, True)


def test_a_set_aside_build_tries_again_on_an_operators_word(tmp_path: Path) -> None:
    state = tmp_path / "state"
    obj = {"config": None, "flags": {"state": state}}
    notes = build_notes(state, EngineSettings(name="A"))
    builds = Builds(notes)
    builds.set_aside("b")
    assert Builds(notes).note("b").set_aside
    done = CliRunner().invoke(command, ["again", "A"], obj=obj)
    assert (done.exit_code, "anew" in done.stdout) == (0, True)
    assert not Builds(notes).note("b").set_aside
    assert CliRunner().invoke(command, ["again", "A"], obj=obj).exit_code == 0
    assert isinstance(CliRunner().invoke(command, ["again", "Z"], obj=obj).exception, NotFound)
