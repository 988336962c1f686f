"""``secondchair-worker doctor``: one screen on what works, what does not, and what to do."""

from __future__ import annotations

import sys

import click
import msgspec
from rich.console import Console
from rich.table import Table

from worker.checks import Check, State, run_checks
from worker.cli import loaded

_SIGN = {State.OK: "[green]✔ ok[/]", State.WARN: "[yellow]≈ look[/]", State.FAIL: "[red]✘ fail[/]"}


@click.command(epilog="Example: secondchair-worker doctor --json")
@click.option("--json", "as_json", is_flag=True, help="For scripts: a list of checks.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Say what works, what does not, and what to do. Exit 1 when something fails."""
    checks = list(run_checks(loaded(ctx)))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(checks), indent=1))
    else:
        show(checks, Console())
    sys.exit(1 if any(check.state is State.FAIL for check in checks) else 0)


def show(checks: list[Check], console: Console) -> None:
    """The checks as a table for a person."""
    table = Table(box=None, pad_edge=False)
    for column in ("", "check", "finding", "next step"):
        table.add_column(column, overflow="fold")
    for check in checks:
        table.add_row(_SIGN[check.state], check.name, check.reason, check.next_step)
    console.print(table)
