"""``secondchair-worker audit``: follow the seals of every journal, offline."""

from __future__ import annotations

import json
import sys

import click

from worker import anchors, audit
from worker.cli import settings_of
from worker.clock import utc_now
from worker.paths import audit_folder


@click.group()
def command() -> None:
    """Check the sealed journals."""


@command.command(epilog="Example: secondchair-worker audit anchor --json")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def anchor(ctx: click.Context, as_json: bool) -> None:
    """Print today's anchor: one line over all journals, to be kept away from this box."""
    made = anchors.anchored(audit_folder(settings_of(ctx)), utc_now())
    if as_json:
        said = {"day": made.day, "seal": made.seal, "line": made.line, "journals": len(made.heads)}
        click.echo(json.dumps(said))
    else:
        click.echo(made.line)


@command.command(
    epilog="Examples: secondchair-worker audit verify --json;"
    ' secondchair-worker audit verify --anchor "secondchair-anchor 2026-11-30 sha256-1:..."'
)
@click.option("--json", "as_json", is_flag=True)
@click.option("--anchor", "line", help="An anchor's line that was kept elsewhere.")
@click.pass_context
def verify(ctx: click.Context, as_json: bool, line: str | None) -> None:
    """Follow every journal's chain and hold it against the anchors; exit 7 when one is broken."""
    folder = audit_folder(settings_of(ctx))
    rows = []
    for path in sorted(folder.glob("*.jsonl")):
        report = audit.verify(path)
        rows.append(
            {
                "matter": path.stem,
                "entries": report.entries,
                "head": report.head,
                "broken_at": report.broken_at,
                "reason": report.reason,
            }
        )
    against = anchors.troubles(folder, line)
    if as_json:
        click.echo(json.dumps(rows))
    else:
        for row in rows:
            state = "whole" if row["broken_at"] is None else f"BROKEN at entry {row['broken_at']}"
            click.echo(f"{row['matter']}  {row['entries']} entries  {state}  {row['reason']}")
    for said in against:
        click.echo(f"anchors: {said}", err=True)
    broken = against or any(row["broken_at"] is not None for row in rows)
    sys.exit(7 if broken else 0)
