"""``secondchair-worker upgrade``: the state folder's numbered changes, and the way back."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from protocol.errors import NotFound
from worker.cli import settings_of
from worker.clock import utc_now
from worker.keeping.backup import make_backup
from worker.keeping.migrations import pending, rollback, upgrade
from worker.keeping.version import CURRENT, read_version, refuse_newer, worker_stopped


@click.command(
    epilog="Examples: secondchair-worker upgrade --check --json;"
    " secondchair-worker upgrade --backup /mnt/backup; secondchair-worker upgrade --back-to 0"
)
@click.option("--check", is_flag=True, help="Only say what would be done; exit 1 when something.")
@click.option(
    "--backup",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    help="Make a backup there first.",
)
@click.option("--back-to", type=click.IntRange(min=0), help="Go back to this version.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: one object.")
@click.pass_context
def command(
    ctx: click.Context, check: bool, place: Path | None, back_to: int | None, as_json: bool
) -> None:
    """Bring the state folder to the version of this program, while the worker is stopped.

    A change that is cut off is run again by the next upgrade; a newer folder is left alone.
    """
    state = settings_of(ctx).state
    if not (state / "registry").is_dir():
        raise NotFound("there is no state folder", next_step="secondchair-worker init")
    found = read_version(state)
    if found.version > CURRENT:
        refuse_newer(state)
    todo = pending(state)
    if check:
        if as_json:
            rows = [{"number": one.number, "title": one.title} for one in todo]
            click.echo(json.dumps({"version": found.version, "newest": CURRENT, "pending": rows}))
        else:
            click.echo(f"state folder {found.version}, this program {CURRENT}")
            for one in todo:
                click.echo(f"  to do: {one.number}, {one.title}")
        sys.exit(1 if todo else 0)
    with worker_stopped(state):
        if place is not None:
            click.echo(f"backup: {make_backup(state, place, now=utc_now()).folder}", err=True)
        steps = upgrade(state) if back_to is None else rollback(state, back_to)
        done = [one.number for one in steps]
    now = read_version(state).version
    if as_json:
        click.echo(json.dumps({"version": now, "done": done}))
    else:
        click.echo(f"state folder {now}" + (f", changes {done}" if done else ", nothing to do"))
