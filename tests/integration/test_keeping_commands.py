"""``backup``, ``restore``, ``upgrade``, ``matters export`` and ``import``, as they are typed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


class Typed:
    """A box in a folder, and what is typed on it."""

    def __init__(self, folder):
        self.folder = folder
        self.state = folder / "state"

    def __call__(self, *words, code=0):
        done = subprocess.run(
            [
                sys.executable, "-m", "worker", "--config", self.folder / "worker.toml",
                "--state", self.state, *map(str, words),
            ],
            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    def make(self):
        self.folder.mkdir()
        (self.folder / "worker.toml").write_text(f'run_folder = "{self.folder / "run"}"\n')
        self("init", "--yes")
        return self


@pytest.fixture
def typed(tmp_path):
    return Typed(tmp_path / "a").make()


def test_a_box_goes_and_comes_back(typed, tmp_path):
    matter = typed("matters", "open", "Kim v. Lee").strip()
    made = json.loads(typed("backup", tmp_path / "backups", "--json"))
    assert (made["matters"], made["left_out"]) == (1, [])
    assert typed("backup", tmp_path / "backups", "--verify").strip().endswith("whole")
    typed.state.rename(tmp_path / "lost")
    back = json.loads(typed("restore", tmp_path / "backups", "--json"))
    assert (back["matters"], back["journals"], back["host_keys"]) == (1, 1, True)
    assert [row["id"] for row in json.loads(typed("matters", "list", "--json"))] == [matter]
    rows = json.loads(typed("audit", "verify", "--json"))
    assert [(row["matter"], row["entries"], row["broken_at"]) for row in rows] == [
        (matter, 2, None)
    ]
    typed("restore", tmp_path / "backups", code=5)  # there is a box now


def test_damage_is_said_and_has_an_exit_code(typed, tmp_path):
    typed("backup", tmp_path / "b")
    (part,) = (tmp_path / "b").glob("*/box.tar")
    content = bytearray(part.read_bytes())
    content[700] ^= 1
    part.write_bytes(content)
    wrong = json.loads(typed("backup", tmp_path / "b", "--verify", "--json", code=7))["wrong"]
    assert wrong == ["box.tar does not match its hash"]
    other = Typed(tmp_path / "other")
    other.folder.mkdir()
    (other.folder / "worker.toml").touch()
    other("restore", tmp_path / "b", code=7)
    assert not other.state.exists()


def test_a_matter_moves(typed, tmp_path):
    other = Typed(tmp_path / "z").make()
    matter = typed("matters", "open", "Kim v. Lee").strip()
    sent = json.loads(typed("matters", "export", matter, tmp_path / "m.tar", "--json"))
    came = json.loads(
        other("matters", "import", tmp_path / "m.tar", "--sha256", sent["sha256"], "--json")
    )
    assert came["matter"] == matter
    assert [row["id"] for row in json.loads(other("matters", "list", "--json"))] == [matter]
    other("audit", "verify")


def test_a_state_folder_says_its_version_and_is_brought_up(typed):
    said = json.loads(typed("upgrade", "--check", "--json"))
    assert said == {"version": said["newest"], "newest": said["newest"], "pending": []}
    typed("upgrade", "--back-to", "0")
    assert json.loads(typed("upgrade", "--check", "--json", code=1))["version"] == 0
    typed("upgrade")
    typed("upgrade", "--check")
    (typed.state / "version.json").write_text('{"version": 99}')
    for words in (("upgrade", "--check"), ("upgrade",), ("serve",)):
        typed(*words, code=5)
