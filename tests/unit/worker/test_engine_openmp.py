"""The OpenMP runtime that the packaged server needs, on a system that has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

PROGRAM = """
import sys
from worker.engine.native_server import OPENMP, openmp
openmp("libgomp-that-nobody-has.so.1")
open_now = {line.split()[-1] for line in open("/proc/self/maps") if OPENMP in line}
print(*open_now)
assert "torch" not in sys.modules
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there does a library go by its name")
def test_without_the_systems_own_torchs_copy_is_loaded_and_torch_is_not() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    (path,) = ran.stdout.split()
    assert Path(path).parts[-3:] == ("torch", "lib", "libgomp.so.1")
