"""Who may import whom, shown to bite: a copy of the tree with one forbidden import fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("bot", "worker", "rag", "verify", "protocol")


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-cache"],
        cwd=root,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_tree_keeps_the_contracts(copy):
    result = lint(copy)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("room", "forbidden"),
    [
        ("bot", "worker.review"),  # the face knows nothing of how an answer is made
        ("bot", "verify.source"),
        ("verify", "rag.paged"),  # finder and checker share no text cleaning
        ("rag", "verify.source"),
        ("protocol", "verify.source"),
        ("worker", "bot"),  # the worker never calls the bot
    ],
)
def test_a_forbidden_import_is_named(copy, room, forbidden):
    (copy / room / "trespass.py").write_text(f"import {forbidden}\n", "utf-8")
    result = lint(copy)
    assert result.returncode == 1
    assert f"{room}.trespass -> {forbidden}" in result.stdout


def test_the_rooms_are_ours_and_nobody_elses():
    import importlib.metadata as metadata

    providers = metadata.packages_distributions()
    for room in ROOMS:
        assert set(providers.get(room, ["secondchair"])) == {"secondchair"}
        spec = __import__(room)
        assert Path(spec.__file__).parent.parent == ROOT
