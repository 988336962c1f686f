"""A command that only looks something up loads none of the worker's libraries.

`probe` is run every few seconds by whatever watches the box; loading the worker for it costs
seconds of a core.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"chromadb", "docx", "eyecite", "lxml", "numpy", "pypdfium2", "torch", "worker.app"}


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


LIGHT = "audit backup boards gateway probe restore stats top upgrade users".split()


@pytest.mark.parametrize("name", LIGHT)
def test_a_light_command_loads_nothing_heavy(name):
    loaded = loaded_by(f"worker.cli.{name}")
    assert f"worker.cli.{name}" in loaded
    assert loaded & HEAVY == set()


def test_the_test_bites():
    assert "worker.app" in loaded_by("worker.cli.serve")
