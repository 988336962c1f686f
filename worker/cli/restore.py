"""``secondchair-worker restore``: a box from a backup, checked before, during and after."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from worker.cli import loaded
from worker.clock import utc_now
from worker.config import Settings
from worker.keeping.backup import the_backup
from worker.keeping.restore import restore
from worker.setup.accounts import Accounts, find_accounts
from worker.setup.folders import prepare


@click.command(
    epilog="Example: secondchair-worker --state /var/lib/secondchair restore /mnt/backup"
)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For scripts: one object.")
@click.pass_context
def command(ctx: click.Context, folder: Path, as_json: bool) -> None:
    """Make this box's state from the backup in FOLDER, or the newest one there.

    Nothing is written over: the state folder must hold no box yet, and what else lies in the way is
    moved aside. Every hash, database and journal
    is checked; indexes are made anew when a matter is first asked.
    """
    settings = loaded(ctx, as_owner=False).settings
    found = the_backup(folder)
    done = restore(found, settings.state, now=utc_now())
    prepare(settings, _accounts(settings))
    if as_json:
        click.echo(
            json.dumps(
                {
                    "backup": found.name,
                    "matters": len(done.matters),
                    "journals": done.journals,
                    "broken_journals": done.broken,
                    "host_keys": done.host_keys,
                    "moved_aside": done.aside,
                }
            )
        )
        return
    click.echo(f"{len(done.matters)} matters and {done.journals} journals are back and whole")
    for code in done.broken:
        click.echo(f"  the journal of {code} was broken when it was copied, and is so now")
    if done.aside:
        click.echo(f"  what lay in the way is kept in {settings.state / done.aside}", err=True)
    if not done.host_keys:
        click.echo("  new host keys were made: PCs must be given the new ones", err=True)


def _accounts(settings: Settings) -> Accounts | None:
    """The service's users, on a box whose settings name them."""
    accounts = find_accounts() if os.geteuid() == 0 else None
    if accounts is not None and accounts.gateway_uid in settings.gateway_uids:
        return accounts
    return None
