"""The box's own speed test: how fast a model reads and writes here, at which cost, on which cards.

The values and the plan. `texts` makes the prompts, `running` times one call, `cards` watches the
hardware meanwhile, `campaign` does the whole, `report` judges and prints, `chart` draws.

Runs are greedy, one at a time, each with a head of its own and nothing reused: a prompt that shares
its beginning with an earlier one would be read too fast.
"""

from __future__ import annotations

import datetime as dt
import statistics
from typing import Final

import msgspec

SIZES: Final = (1024, 32_768, 131_072, 262_144, 524_288)
"""Prompt tokens of a full measurement; those over the context are left out, by name."""
KINDS: Final = ("code", "legal")
OUTPUT_TOKENS: Final = 1024
RUNS: Final = 2
UNSTEADY: Final = 0.05
"""A spread above this adds a third run."""
FLOOR_TOKENS_PER_S: Final = 40.0
"""Slowest writing that still feels live; where a board names no floor of its own."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured."""

    sizes: tuple[int, ...] = SIZES
    kinds: tuple[str, ...] = KINDS
    runs: int = RUNS
    output_tokens: int = OUTPUT_TOKENS


QUICK: Final = Plan(sizes=(256, 1024), output_tokens=32)
"""The same path in a minute on a processor."""


class Cards(msgspec.Struct, frozen=True, kw_only=True):
    """What the cards did during one run; empty where there are none."""

    energy_j: float | None = None
    """From power readings over time."""
    peak_w: float | None = None
    """The highest single reading of one card."""
    hottest_c: int | None = None
    throttled: tuple[str, ...] = ()
    """Why the hardware held clocks down, where it did."""
    trouble: tuple[str, ...] = ()
    """What health says of them, in words."""
    stop: bool = False
    """Whether health says that the board must not work."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One call."""

    kind: str
    size: int
    """Prompt tokens that were wanted."""
    prompt_tokens: int
    output_tokens: int
    ttft_ms: float
    """From sending to the first word, of answer or reasoning."""
    prefill_tokens_per_s: float
    """As the engine says."""
    decode_tokens_per_s: float
    """(tokens - 1) over the time from the first word to the last, as we saw them."""
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    cards: Cards = Cards()


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Mean of some runs, and how far apart they were."""

    mean: float
    spread: float
    """(largest - smallest) / mean."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one size and kind."""

    kind: str
    size: int
    ttft_ms: Spread
    prefill_tokens_per_s: Spread
    decode_tokens_per_s: Spread
    runs: int
    accepted: float | None = None
    """Share of drafted tokens that the model agreed with; None without speculation."""
    energy_j: float | None = None
    peak_w: float | None = None


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A whole measurement: what was run, on what, and what came."""

    at: dt.datetime
    board: str
    model: str
    model_sha256: str
    binary_sha256: str
    build: str
    flags: tuple[str, ...]
    devices: tuple[str, ...]
    """UUIDs in the order in which the engine sees them; empty on a processor."""
    boards: tuple[str, ...]
    """The board of each device."""
    crossings: int
    """How often the layers pass from one board to another."""
    driver: str
    machine: str
    output_tokens: int
    floor_tokens_per_s: float
    runs: tuple[Run, ...]
    cells: tuple[Cell, ...]
    left_out: tuple[str, ...] = ()
    """Sizes that were not measured, each with the reason."""
    unfit: tuple[str, ...] = ()
    """Why these figures must not be passed on: throttled, a narrow link, stopped by health."""


def spread_of(values: list[float]) -> Spread:
    """Mean and spread of at least one value."""
    mean = statistics.fmean(values)
    return Spread(mean=mean, spread=(max(values) - min(values)) / mean if mean else 0.0)


def cell_of(runs: list[Run]) -> Cell:
    """The runs of one size and kind as one row."""
    drafted = sum(run.drafted_tokens for run in runs)
    energies = [run.cards.energy_j for run in runs if run.cards.energy_j is not None]
    peaks = [run.cards.peak_w for run in runs if run.cards.peak_w is not None]
    return Cell(
        kind=runs[0].kind,
        size=runs[0].size,
        ttft_ms=spread_of([run.ttft_ms for run in runs]),
        prefill_tokens_per_s=spread_of([run.prefill_tokens_per_s for run in runs]),
        decode_tokens_per_s=spread_of([run.decode_tokens_per_s for run in runs]),
        runs=len(runs),
        accepted=sum(run.accepted_tokens for run in runs) / drafted if drafted else None,
        energy_j=statistics.fmean(energies) if energies else None,
        peak_w=max(peaks, default=None),
    )


def is_unsteady(runs: list[Run]) -> bool:
    """Whether these runs are too far apart to be called a figure."""
    cell = cell_of(runs)
    return max(cell.ttft_ms.spread, cell.decode_tokens_per_s.spread) > UNSTEADY
