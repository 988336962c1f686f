"""``secondchair-worker audit``: follow the seals of every journal, offline."""

from __future__ import annotations

import json
import sys

import click

from worker import audit
from worker.cli import settings_of


@click.group()
def command() -> None:
    """Check the sealed journals."""


@command.command(epilog="Example: secondchair-worker audit verify --json")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def verify(ctx: click.Context, as_json: bool) -> None:
    """Follow every journal's chain; exit 7 when one is broken."""
    folder = settings_of(ctx).state / "audit"
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
    if as_json:
        click.echo(json.dumps(rows))
    else:
        for row in rows:
            state = "whole" if row["broken_at"] is None else f"BROKEN at entry {row['broken_at']}"
            click.echo(f"{row['matter']}  {row['entries']} entries  {state}  {row['reason']}")
    sys.exit(7 if any(row["broken_at"] is not None for row in rows) else 0)
