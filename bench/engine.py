"""The engine: reuse of a record's head, cancel, the wall in the kv_cache, what our path adds.

Everything runs on the real native server with the bundled small model, one thread. Each part has a
file of its own, ``engine_PART.py``. Ratios are of runs in one process run, interleaved.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.engine_ahead import measure_ahead
from bench.engine_asking import BATCH_TOKENS
from bench.engine_cancel import measure_cancels
from bench.engine_path import measure_path
from bench.engine_reuse import HEAD_TOKENS, measure_reuse
from bench.engine_wall import Alternations, measure_wall
from bench.harness import Arguments, Result

PARTS = ("reuse", "ahead", "cancels", "path", "wall")


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done."""

    reuse_runs: int
    pairs: int
    cancels: int
    """Over SSH, half while reading, half while writing."""
    engine_cancels: int
    """The same at the engine itself, at moments spread over a batch."""
    alternations: Alternations


QUICK = Sizes(
    reuse_runs=2,
    pairs=5,
    cancels=20,
    engine_cancels=8,
    alternations=Alternations(small=60, small_parallel=(10, 10), window=(140, 60, 40), leaky=11),
)
FULL = Sizes(
    reuse_runs=5,
    pairs=9,
    cancels=50,
    engine_cancels=50,
    alternations=Alternations(
        small=2000, small_parallel=(300, 300), window=(5000, 1500, 1000), leaky=31
    ),
)


def run(arguments: Arguments) -> Result:
    """The engine bench; see the module."""
    return asyncio.run(_run(arguments, FULL if arguments.full else QUICK))


async def _run(arguments: Arguments, sizes: Sizes) -> Result:
    result = Result(figures={})
    with tempfile.TemporaryDirectory(prefix="sc-bench-") as scratch:
        folder = Path(scratch)
        if arguments.wants("reuse"):
            await measure_reuse(result, runs=sizes.reuse_runs, folder=folder, seed=arguments.seed)
        if arguments.wants("ahead"):
            await measure_ahead(result)
        if arguments.wants("cancels"):
            await measure_cancels(result, cancels=sizes.engine_cancels)
        if arguments.wants("path"):
            await measure_path(result, pairs=sizes.pairs, cancels=sizes.cancels)
        if arguments.wants("wall"):
            await measure_wall(result, sizes.alternations, folder, arguments.seed)
    figures = result.figures
    result.sizes = {
        "head_tokens": HEAD_TOKENS,
        "batch_tokens": BATCH_TOKENS,
        "reuse_runs": sizes.reuse_runs,
        "alternations": sizes.alternations.ours,
        "leaky_alternations": sizes.alternations.leaky,
    }
    result.failed = bool(
        figures.get("canary_leaks")
        or figures.get("leaky_settings_caught") != figures.get("leaky_settings")
        or figures.get("cancels_in_time") != figures.get("cancels")
        or figures.get("engine_cancels_in_time") != figures.get("engine_cancels")
        or not (figures.get("warm_speedup", 8) or 0) >= 8
        or not (figures.get("restore_speedup", 8) or 0) >= 8
    )
    return result
