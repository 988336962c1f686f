"""``secondchair-worker matters export`` and ``matters import``: a matter moves to another box."""

from __future__ import annotations

import json
from pathlib import Path

import click

from protocol.errors import BadRequest, NotFound
from protocol.ids import UserName, matter_id
from worker import registry
from worker.cli import settings_of
from worker.clock import utc_now
from worker.keeping.travel import Travelled, export_matter, import_matter
from worker.paths import registry_path


@click.command("export", epilog="Example: secondchair-worker matters export M-7F3K /mnt/usb/m.tar")
@click.argument("matter")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For scripts: one object.")
@click.pass_context
def export_command(ctx: click.Context, matter: str, file: Path, as_json: bool) -> None:
    """Write MATTER with its journal and replies into FILE. It stays here until it is closed.

    FILE holds all of the matter in clear, for its owner alone: carry it on an encrypted disk.
    """
    try:
        code = matter_id(matter)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    made = export_matter(settings_of(ctx).state, code, file.absolute(), now=utc_now())
    _tell(made, as_json)


@click.command(
    "import", epilog="Example: secondchair-worker matters import m.tar --sha256 HASH --user kim"
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--sha256", default="", help="What FILE must hash to, as the other box said.")
@click.option("--user", "users", multiple=True, help="A user of this box who is given the matter.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: one object.")
@click.pass_context
def import_command(
    ctx: click.Context, file: Path, sha256: str, users: tuple[str, ...], as_json: bool
) -> None:
    """Take the matter in FILE into this box, while the worker is stopped."""
    settings = settings_of(ctx)
    path = registry_path(settings)
    held = registry.read(path)
    if missing := [name for name in users if held.user(name) is None]:
        raise NotFound(f"there is no user {missing[0]}", next_step="users add comes first")
    made = import_matter(file, settings.state, now=utc_now(), sha256=sha256)
    for name in users:
        held = registry.with_matter(held, UserName(name), made.matter)
    if users:
        registry.write(path, held)
    _tell(made, as_json)


def _tell(made: Travelled, as_json: bool) -> None:
    if as_json:
        click.echo(
            json.dumps(
                {
                    "matter": made.matter,
                    "sha256": made.sha256,
                    "size_bytes": made.size_bytes,
                    "jobs": made.jobs,
                }
            )
        )
        return
    click.echo(f"{made.matter}  {made.title}  {made.size_bytes / 1e6:.1f} MB, {made.jobs} replies")
    click.echo(f"sha256 {made.sha256}")
