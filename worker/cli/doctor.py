"""``secondchair-worker doctor``: one screen on what works, what does not, and what to do."""

from __future__ import annotations

import sys

import click
import msgspec
from rich.console import Console
from rich.table import Table

from worker.checks import Check, State, run_checks
from worker.checks_boxes import box_checks
from worker.cli import loaded

_SIGN = {State.OK: "[green]✔ ok[/]", State.WARN: "[yellow]≈ look[/]", State.FAIL: "[red]✘ fail[/]"}


@click.command(epilog="Example: secondchair-worker doctor --json")
@click.option("--json", "as_json", is_flag=True, help="For scripts: a list of checks.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Say what works, what does not, and what to do. Exit 1 when something fails."""
    given = loaded(ctx)
    checks = [*run_checks(given), *box_checks(given.settings)]
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
    console.print()
    console.print(verdict(checks), highlight=False)


def verdict(checks: list[Check]) -> str:
    """All of it in one sentence, for whoever reads one line only."""
    fails = sum(check.state is State.FAIL for check in checks)
    idle = [check.name for check in checks if check.state is State.WARN and _is_program(check)]
    looks = sum(check.state is State.WARN for check in checks) - len(idle)
    look = f"{looks} {'thing deserves' if looks == 1 else 'things deserve'} a look"
    if fails:
        stops = "1 thing does" if fails == 1 else f"{fails} things do"
        return f"[red]✘[/] {stops} not work until mended" + (f"; {look}." if looks else ".")
    if idle:
        said = f"[yellow]≈[/] Nothing is broken. Not running: {', '.join(idle)}"
        return f"{said}; {look}." if looks else f"{said}."
    if looks:
        return f"[yellow]≈[/] Everything works; {look}."
    return "[green]✔[/] Everything works."


def _is_program(check: Check) -> bool:
    """Whether a check is of a program that runs or not."""
    return check.name in ("worker", "gateway") or check.name.startswith("engine ")
