"""``secondchair-worker boards roles``: who does what, on which board, and why."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from worker.cli import settings_of
from worker.router import Router


@click.command(
    epilog="Examples: secondchair-worker boards roles; secondchair-worker boards roles --json"
)
@click.option("--json", "as_json", is_flag=True, help="For scripts: a list of objects.")
@click.pass_context
def roles(ctx: click.Context, as_json: bool) -> None:
    """Show the router's table: each kind of work, its role, its boards, and why they.

    Where several boards are named, a job goes to the shortest line. Extracts, chronologies,
    cite-checks, drafts and searches are computed by code, and approval is a person's: no model has
    those roles.
    """
    rows = Router(settings_of(ctx)).table()
    if as_json:
        click.echo(json.dumps([row._asdict() for row in rows], indent=1))
        return
    shown = Table("work", "role", "who does it", "boards", "why")
    for row in rows:
        shown.add_row(row.work, row.role, row.done_by, ", ".join(row.boards), row.why)
    Console().print(shown)
