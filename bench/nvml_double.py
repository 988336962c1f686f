"""Builds the stand-in for the NVIDIA library and writes its state files; tests and bench share it.

The C source is ``tests/shim/nvml_shim.c``; it documents the keys. Every further function that the
installed binding may ask for becomes a stub that answers NotSupported, as real libraries do, so
that other people's tools run on it, too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "shim" / "nvml_shim.c"
BOXES = ROOT / "tests" / "data" / "boards"
LIBRARY = "libnvidia-ml.so.1"


def why_not() -> str:
    """Why the stand-in cannot be built here; empty when it can."""
    if shutil.which("gcc") is None:
        return "gcc is not installed, so the stand-in for the NVIDIA library cannot be built"
    if importlib.util.find_spec("pynvml") is None:
        return "nvidia-ml-py is not installed"
    return ""


def build_library(profile: str = "R580") -> Path:
    """The folder that holds the library, built once for each source, binding and profile.

    Args:
        profile: R580, or R535 without the symbols that branch did not have.
    """
    spec = importlib.util.find_spec("pynvml")
    assert spec is not None
    assert spec.origin is not None
    binding = Path(spec.origin).read_text("utf-8")
    source = SOURCE.read_text("utf-8")
    key = hashlib.sha256(f"{profile}{source}{binding}".encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "secondchair"
    folder = cache / f"nvml-double-{key}"
    if (folder / LIBRARY).exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    wanted = set(re.findall(r'_nvmlGetFunctionPointer\("(nvml\w+)"\)', binding))
    ours = set(re.findall(r"^(?:ret_t|const char \*)\s*(nvml\w+)\(", source, re.MULTILINE))
    ours |= {f"nvmlDevice{name}" for name in re.findall(r"^SIMPLE\((\w+),", source, re.MULTILINE)}
    stubs = "".join(f"int {name}(void) {{ return 3; }}\n" for name in sorted(wanted - ours))
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        made = Path(scratch)
        (made / "stubs.c").write_text(stubs, "utf-8")
        subprocess.run(
            [
                *("gcc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{LIBRARY}"),
                f"-DSHIM_{profile}",
                *("-o", str(made / LIBRARY), str(SOURCE), str(made / "stubs.c")),
            ],
            check=True,
            capture_output=True,
        )
        folder.mkdir(exist_ok=True)
        (made / LIBRARY).replace(folder / LIBRARY)
    return folder


class FakeBox:
    """One simulated machine: its state file, and changes to it while programs look."""

    def __init__(self, name: str, state: Path) -> None:
        """Loads ``tests/data/boards/NAME.json`` and writes the state for the library."""
        self.path = state
        self.described: dict[str, Any] = json.loads((BOXES / f"{name}.json").read_text("utf-8"))
        self._rows: list[tuple[float, str, str, str]] = list(_rows(self.described))
        self.write()

    @property
    def uuids(self) -> list[str]:
        """The cards' UUIDs by index."""
        return [str(device["uuid"]) for device in self.described["devices"]]

    def environment(self, library: Path) -> dict[str, str]:
        """What a program needs to see this box."""
        return {"LD_LIBRARY_PATH": str(library), "NVML_SHIM_STATE": str(self.path)}

    def set(self, device: int | None, at_s: float = 0.0, /, **values: object) -> None:
        """Changes values of a device, or of the box, from a moment on. ``__`` stands for a dot.

        Args:
            device: The index, or None for the box.
            at_s: Seconds after the program opened the library; 0 means at once.
        """
        where = "-" if device is None else str(device)
        for key, value in values.items():
            self._rows.append((at_s, where, key.replace("__", "."), str(value)))
        self.write()

    def cut_link(self, one: int, other: int) -> None:
        """Turns off every NVLink between two cards, at both ends."""
        devices = self.described["devices"]
        for near, far in ((one, other), (other, one)):
            for number, remote in enumerate(devices[near].get("links", [])):
                if remote == devices[far]["pci"]:
                    self._rows.append((0.0, str(near), f"link.{number}", "off"))
        self.write()

    def declared(self) -> dict[str, Any]:
        """The boards file that belongs to the box, as plain values."""
        return dict(self.described["declared"])

    def write(self) -> None:
        """Replaces the state file in one go."""
        rows = sorted(self._rows, key=lambda row: row[0])
        text = "".join(f"{at} {device} {key} {value}\n" for at, device, key, value in rows)
        new = self.path.with_suffix(".new")
        new.write_text(text, "utf-8")
        new.replace(self.path)


def _rows(box: Mapping[str, Any]) -> Sequence[tuple[float, str, str, str]]:
    rows = [(0.0, "-", "count", str(len(box["devices"])))]
    rows += [(0.0, "-", key, str(value)) for key, value in box["system"].items()]
    for pair, level in box.get("near", {}).items():
        rows.append((0.0, "-", f"near.{pair}", str(level)))
    for index, device in enumerate(box["devices"]):
        values = {**box["kinds"][device["kind"]], **device}
        for number, remote in enumerate(values.pop("links", [])):
            rows.append((0.0, str(index), f"link.{number}", str(remote)))
        values.pop("kind")
        rows += [(0.0, str(index), key, str(value)) for key, value in values.items()]
    return rows
