"""``secondchair-worker backup``: the box, matter by matter, while it runs; or a backup's check."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from worker.cli import loaded
from worker.clock import utc_now
from worker.config import config_path
from worker.keeping.backup import make_backup, the_backup, verify_backup


@click.command(
    epilog="Examples: secondchair-worker backup /mnt/backup;"
    " secondchair-worker backup /mnt/backup --verify --json"
)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--verify", is_flag=True, help="Check FOLDER, or the newest backup in it.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: one object.")
@click.pass_context
def command(ctx: click.Context, folder: Path, verify: bool, as_json: bool) -> None:
    """Make a backup in FOLDER, named by the time. The worker may go on meanwhile.

    Typed by root it holds the gateway's host keys, too. It holds matters in clear: put FOLDER on an
    encrypted disk of its own. With --verify, exit 7 when something is not as it was written.
    """
    if verify:
        found = the_backup(folder)
        wrong = verify_backup(found)
        if as_json:
            click.echo(json.dumps({"backup": found.name, "wrong": wrong}))
        else:
            click.echo(f"{found.name}: {'whole' if not wrong else 'DAMAGED'}")
            for said in wrong:
                click.echo(f"  {said}")
        sys.exit(7 if wrong else 0)
    settings = loaded(ctx, as_owner=False).settings
    config = ctx.obj["config"] or config_path()
    made = make_backup(settings.state, folder.absolute(), now=utc_now(), config=config)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "backup": made.folder.name,
                    "sha256": made.sha256,
                    "size_bytes": made.size_bytes,
                    "matters": made.matters,
                    "left_out": made.left_out,
                }
            )
        )
        return
    click.echo(f"{made.folder}: {made.matters} matters, {made.size_bytes / 1e6:.1f} MB")
    click.echo(f"sha256 of its list {made.sha256}")
    for said in made.left_out:
        click.echo(f"  not in it: {said}", err=True)
