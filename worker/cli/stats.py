"""``secondchair-worker stats``: how much of the work was approved, edited or rejected, by kind."""

from __future__ import annotations

import datetime as dt
import json
from typing import Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from worker.cli import settings_of
from worker.paths import audit_folder
from worker.stats import Tally, tallies

_COLUMNS: Final = ("approved", "edited", "rejected", "undecided")
_STYLES: Final = {
    "approved": ("█", "green"),
    "edited": ("▓", "yellow"),
    "rejected": ("▒", "red"),
    "undecided": ("░", "dim"),
}
_WIDTH: Final = 50


@click.command(
    epilog="Examples: secondchair-worker stats; secondchair-worker stats --plot;"
    " secondchair-worker stats --since 2026-11-01 --json"
)
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only jobs since this day (UTC).")
@click.option("--plot", is_flag=True, help="Bars instead of a table.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def command(ctx: click.Context, since: dt.datetime | None, plot: bool, as_json: bool) -> None:
    """Show how many jobs were approved, edited and rejected, by kind; from the audit journals."""
    start = since.replace(tzinfo=dt.UTC) if since else None
    rows = tallies(audit_folder(settings_of(ctx)), start)
    if as_json:
        click.echo(json.dumps([_as_json(row) for row in rows]))
    elif plot:
        Console().print(bars(rows))
    else:
        Console().print(table(rows))


def table(rows: tuple[Tally, ...]) -> Table:
    """The ledger as a table."""
    shown = Table("kind", "jobs", *_COLUMNS, "of use")
    for row in rows:
        counts = [str(getattr(row, name)) for name in _COLUMNS]
        shown.add_row(row.kind, str(row.jobs), *counts, _share(row))
    return shown


def bars(rows: tuple[Tally, ...]) -> Text:
    """The ledger as bars, each kind's length after its number of jobs."""
    most = max((row.jobs for row in rows[:-1]), default=0)
    text = Text()
    for row in rows[:-1]:
        text.append(f"{row.kind:<12}")
        for name in _COLUMNS:
            sign, style = _STYLES[name]
            text.append(sign * _length(getattr(row, name), most), style)
        text.append(f" {row.jobs}, {_share(row)} of use\n")
    for name in _COLUMNS:
        sign, style = _STYLES[name]
        text.append(f"{sign} ", style)
        text.append(f"{name}   ")
    return text


def _length(count: int, most: int) -> int:
    """Characters of a part; one that is not nothing is seen."""
    return max(1, round(count * _WIDTH / most)) if count else 0


def _share(row: Tally) -> str:
    """What was of use, of what somebody decided."""
    return "-" if row.share is None else f"{row.share:.0%}"


def _as_json(row: Tally) -> dict[str, object]:
    counts = {name: getattr(row, name) for name in _COLUMNS}
    return {"kind": row.kind, "jobs": row.jobs, **counts, "share": row.share}
