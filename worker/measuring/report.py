"""What a measurement means beside floor, baseline and published reference; and it as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table

from worker.measuring import Cell, Measurement, Spread

REFERENCE_TTFT_S: Final = {1024: 1.2, 32_768: 17.2, 131_072: 59.2, 262_144: 118.7}
REFERENCE_DECODE: Final = {
    "code": {1024: 215.0, 32_768: 200.0, 131_072: 183.0, 262_144: 160.0},
    "legal": {1024: 118.0, 32_768: 117.0, 131_072: 111.0, 262_144: 103.0},
}
"""One model over two boards of four V100 with five drafted tokens, as its builder published it: to
look at beside one's own figures, never a floor."""

_COLUMNS: Final = (
    *("tokens", "text", "wait", "read/s", "write/s", "spread", "drafts", "energy"),
    *("peak", "floor", "base", "ref: rate wait"),
)
"""A column in which no row has anything is not shown."""

_WORSE: Final = 0.05
"""A figure counts as worse where it lost more than this and more than both spreads together."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One cell judged."""

    kind: str
    size: int
    under_floor: bool
    decode_of_baseline: float | None = None
    """This over the baseline; None without one."""
    ttft_of_baseline: float | None = None
    worse: bool = False
    decode_of_reference: float | None = None
    ttft_of_reference: float | None = None


def judged(now: Measurement, baseline: Measurement | None) -> tuple[Verdict, ...]:
    """Every cell against the floor, the baseline and the reference."""
    before = (
        {(cell.kind, cell.size): cell for cell in baseline.cells}
        if baseline is not None and baseline.output_tokens == now.output_tokens
        else {}
    )
    return tuple(
        _judged(cell, before.get((cell.kind, cell.size)), now.floor_tokens_per_s)
        for cell in now.cells
    )


def _judged(cell: Cell, before: Cell | None, floor: float) -> Verdict:
    decode, ttft = cell.decode_tokens_per_s.mean, cell.ttft_ms.mean
    reference = REFERENCE_DECODE.get(cell.kind, {}).get(cell.size)
    reference_s = REFERENCE_TTFT_S.get(cell.size)
    return Verdict(
        kind=cell.kind,
        size=cell.size,
        under_floor=decode < floor,
        decode_of_baseline=decode / before.decode_tokens_per_s.mean if before else None,
        ttft_of_baseline=ttft / before.ttft_ms.mean if before else None,
        worse=before is not None
        and (
            _lost(cell.decode_tokens_per_s, before.decode_tokens_per_s)
            or _lost(before.ttft_ms, cell.ttft_ms)
        ),
        decode_of_reference=decode / reference if reference else None,
        ttft_of_reference=ttft / 1000 / reference_s if reference_s else None,
    )


def _lost(now: Spread, before: Spread) -> bool:
    """Whether a figure of which more is better fell."""
    return now.mean < before.mean * (1 - max(_WORSE, now.spread + before.spread))


def baseline_path(state: Path, now: Measurement) -> Path:
    """Where the baseline of this model on this board lies."""
    name = f"baseline-{now.board}-{now.model_sha256[:16] or now.model}.json"
    return state / "measurements" / name


def read_baseline(path: Path) -> Measurement | None:
    """The stored baseline; None where there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Measurement)
    except (OSError, msgspec.DecodeError):
        return None


def keep(path: Path, measurement: Measurement) -> None:
    """Write a measurement as JSON, whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(measurement), indent=1))
    part.replace(path)


def shown(now: Measurement, verdicts: tuple[Verdict, ...]) -> RenderableType:
    """The measurement for a person."""
    rows = [
        _row(cell, verdict, now.floor_tokens_per_s)
        for cell, verdict in zip(now.cells, verdicts, strict=True)
    ]
    table = Table(box=None, pad_edge=False, title=_title(now), title_justify="left")
    wanted = [n for n, _ in enumerate(_COLUMNS) if any(row[n] for row in rows)]
    for n in wanted:
        table.add_column(_COLUMNS[n], justify="left" if n == 1 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[n] for n in wanted))
    below = [f"left out: {said}" for said in now.left_out]
    below += [f"not to be passed on: {said}" for said in now.unfit]
    return Group(table, *below)


def _title(now: Measurement) -> str:
    where = ", ".join(now.devices) if now.devices else now.machine
    crossed = f", {now.crossings} crossings" if now.devices else ""
    return f"board {now.board}: {now.model} on {where}{crossed}"


def _row(cell: Cell, verdict: Verdict, floor: float) -> tuple[str, ...]:
    under = f"[red]✘ <{floor:.0f}[/]" if verdict.under_floor else "[green]✔[/]"
    against = ""
    if verdict.decode_of_baseline is not None:
        sign = "[red]✘[/]" if verdict.worse else "[green]✔[/]"
        against = f"{sign} {verdict.decode_of_baseline:.2f}x"
    reference = ""
    if verdict.decode_of_reference is not None and verdict.ttft_of_reference is not None:
        reference = f"{verdict.decode_of_reference:.2f}x {verdict.ttft_of_reference:.1f}x"
    spread = max(cell.ttft_ms.spread, cell.decode_tokens_per_s.spread)
    return (
        f"{cell.size:,}",
        cell.kind,
        f"{cell.ttft_ms.mean / 1000:.2f} s",
        f"{cell.prefill_tokens_per_s.mean:,.0f}",
        f"{cell.decode_tokens_per_s.mean:.1f}",
        f"{spread:.0%} ({cell.runs})",
        "" if cell.accepted is None else f"{cell.accepted:.0%}",
        "" if cell.energy_j is None else f"{cell.energy_j:,.0f} J",
        "" if cell.peak_w is None else f"{cell.peak_w:.0f} W",
        under,
        against,
        reference,
    )
