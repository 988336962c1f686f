"""What every bench shares: arguments, results, timing, the machine, where rows are written."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """How a bench was asked to run."""

    full: bool
    """The sizes of the issue instead of those that fit in ten minutes on two cores."""
    data: Path | None
    """The folder with ``verify/``, ``retrieval/``, ``files/``; None where there is none."""
    seed: int
    parts: frozenset[str] = frozenset()
    """Only these parts of a bench that has parts; empty for all."""
    models: tuple[Path, ...] = ()
    """The operator's embedding models (sentence-transformers) to measure beside the bundled one."""
    prefixes: tuple[str, str] = ("", "")
    """What those models want before a question and before a passage."""
    reranker: Path | None = None
    """A cross-encoder of the operator."""
    device: str = "cpu"

    def wants(self, part: str) -> bool:
        """Whether a part is to run; one that does is named on stderr, as a sign of life."""
        if self.parts and part not in self.parts:
            return False
        print(f"{time.strftime('%H:%M:%S')} {part}", file=sys.stderr, flush=True)
        return True


@dataclass(kw_only=True)
class Result:
    """What a bench found."""

    figures: dict[str, float | int | None]
    """Flat; shares are numbers from 0 to 1, times name their unit; None was not measured."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """One an item: what was tried, what was expected, what came."""
    sizes: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    """Tables for people, as Markdown."""
    notes: list[str] = field(default_factory=list)
    """What was not measured and why; which data was used."""
    failed: bool = False
    """A figure that must hold does not."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Several runs of one thing, in milliseconds of wall time."""

    min_ms: float
    median_ms: float
    max_ms: float
    runs: int

    def as_figures(self, name: str) -> dict[str, float]:
        """The median under the plain name, the others beside it."""
        return {
            name: round(self.median_ms, 3),
            f"{name}_min": round(self.min_ms, 3),
            f"{name}_max": round(self.max_ms, 3),
        }


def timed(work: Callable[[], object], runs: int) -> Spread:
    """Runs something several times and says how long each took."""
    took = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1e3)
    return Spread(min_ms=min(took), median_ms=statistics.median(took), max_ms=max(took), runs=runs)


def machine() -> dict[str, Any]:
    """The machine in words: nothing that names it, everything that explains a figure."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = (
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "load_1min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }


def write_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Writes the rows behind the figures, one JSON object a line."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.rows.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def data_folder(given: str | None) -> Path | None:
    """``--data``, else SECONDCHAIR_DATA, else None."""
    chosen = given or os.environ.get("SECONDCHAIR_DATA")
    return Path(chosen) if chosen and Path(chosen).is_dir() else None
