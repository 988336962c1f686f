"""``secondchair-worker stats``: how much of the work was approved, edited or rejected, by kind."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protocol.errors import BadRequest, Unavailable
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
    " secondchair-worker stats --since 2026-11-01 --json; secondchair-worker stats --out use.png"
)
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only jobs since this day (UTC).")
@click.option("--plot", is_flag=True, help="Bars instead of a table.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: a list of objects.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it to a file instead: a picture (.png), or the table (.csv, .json).",
)
@click.pass_context
def command(
    ctx: click.Context, since: dt.datetime | None, plot: bool, as_json: bool, out: Path | None
) -> None:
    """Show how many jobs were approved, edited and rejected, by kind; from the audit journals."""
    start = since.replace(tzinfo=dt.UTC) if since else None
    rows = tallies(audit_folder(settings_of(ctx)), start)
    if out is not None:
        _write(out, rows, "since " + start.date().isoformat() if start else "all jobs")
        return
    if as_json:
        click.echo(json.dumps([_as_json(row) for row in rows]))
    elif plot:
        Console().print(bars(rows))
    else:
        Console().print(table(rows))


def _write(out: Path, rows: tuple[Tally, ...], said: str) -> None:
    """The ledger as a file, by its suffix.

    Raises:
        BadRequest: The suffix is none of ours.
        Unavailable: It cannot be written there.
    """
    match out.suffix.lower():
        case ".png":
            from worker.stats_picture import picture

            content = picture(rows, said)
        case ".json":
            content = json.dumps([_as_json(row) for row in rows]).encode()
        case ".csv":
            content = _as_csv(rows).encode()
        case _:
            raise BadRequest("a file of that kind is not written", next_step=".png, .csv or .json")
    try:
        out.write_bytes(content)
    except OSError as error:
        raise Unavailable(f"the file could not be written ({error.strerror})") from error
    click.echo(f"{out.name}: {len(content):,} bytes", err=True)


def _as_csv(rows: tuple[Tally, ...]) -> str:
    lines = io.StringIO(newline="")
    writer = csv.DictWriter(lines, ["kind", "jobs", *_COLUMNS, "share"])
    writer.writeheader()
    writer.writerows([_as_json(row) for row in rows])
    return lines.getvalue()


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
