"""The worker's command line: one small file per command group.

Output goes to stdout, talk to stderr; ``--json`` stands on what a script might read. Exit codes
follow the error tree (`protocol.errors`).
"""

from __future__ import annotations

import os
import pwd
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from protocol.errors import AppError, BadRequest
from worker.config import Loaded, Settings, load

_COMMANDS: Final = {
    "init": ("worker.cli.init", "Set up this box: settings, keys, folders; ends with doctor."),
    "demo": ("worker.cli.demo", "The main job on the bundled sample matter."),
    "serve": ("worker.cli.serve", "Run the worker."),
    "gateway": ("worker.cli.gateway", "Run the SSH gateway."),
    "engine": ("worker.cli.engine", "Run one board's engine in a unit of its own."),
    "doctor": ("worker.cli.doctor", "What works, what does not, and what to do."),
    "top": ("worker.cli.top", "Queues, engines, cards and speeds of the running worker, live."),
    "boards": ("worker.cli.boards", "Graphics cards, their health, and what fits on them."),
    "models": ("worker.cli.models", "The weights of this box: list, add, pull, verify, remove."),
    "measure": ("worker.cli.measure", "How fast this box reads and writes."),
    "matters": ("worker.cli.matters", "Open, read, list and close matters."),
    "documents": ("worker.cli.documents", "A matter's papers: list, set aside, admit by hand."),
    "users": ("worker.cli.users", "Users, keys and rights."),
    "backup": ("worker.cli.backup", "Back the box up, while it runs; check a backup."),
    "restore": ("worker.cli.restore", "A box from a backup."),
    "upgrade": ("worker.cli.upgrade", "Bring the state folder to this version, or back."),
    "audit": ("worker.cli.audit", "Check the sealed journals."),
    "stats": ("worker.cli.stats", "What was approved, edited and rejected, by kind."),
    "probe": ("worker.cli.probe", "How the running worker's parts are, for a health check."),
}


class _Lazy(click.Group):
    """Imports a command when it is used, so that help stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(_COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in _COMMANDS.items()])


@click.group(cls=_Lazy, epilog="Example: secondchair-worker doctor --json")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file (TOML); else the box's or the user's own.",
)
@click.option(
    "--state", type=click.Path(path_type=Path, file_okay=False), help="State folder of the box."
)
@click.version_option(package_name="secondchair")
@click.pass_context
def cli(ctx: click.Context, config: Path | None, state: Path | None) -> None:
    """secondchair's worker: a private legal assistant on the firm's own box."""
    ctx.obj = {"config": config, "flags": {"state": state}}


def loaded(ctx: click.Context, *, as_owner: bool = True) -> Loaded:
    """The settings for this call, with the source of each.

    Typed by root on a box whose state belongs to another user, the command goes on as that user, so
    that it leaves no file behind which the worker cannot open.

    Args:
        ctx: The command's context.
        as_owner: False for the commands that set owners themselves.
    """
    values: dict[str, Any] = ctx.obj
    found = load(values["config"], environment=os.environ, flags=values["flags"])
    if as_owner:
        become_owner(found.settings.state)
    return found


def become_owner(state: Path) -> None:
    """Drops root's rights for those of the state folder's owner; others stay who they are."""
    if os.geteuid() != 0 or not state.is_dir() or state.stat().st_uid == 0:
        return
    try:
        owner = pwd.getpwuid(state.stat().st_uid)
    except KeyError:
        raise BadRequest(
            "the state folder belongs to a user that this system does not know",
            next_step="secondchair-worker init --service, or chown it",
        ) from None
    os.initgroups(owner.pw_name, owner.pw_gid)
    os.setgid(owner.pw_gid)
    os.setuid(owner.pw_uid)
    os.umask(0o077)


def settings_of(ctx: click.Context) -> Settings:
    """The settings for this call."""
    return loaded(ctx).settings


def run() -> None:
    """Runs the command line; an `AppError` becomes a sentence, a next step and an exit code."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except AppError as error:
        click.echo(f"secondchair-worker: {error.message}", err=True)
        if error.next_step:
            click.echo(f"  {error.next_step}", err=True)
        if error.reference:
            click.echo(f"  reference {error.reference}", err=True)
        sys.exit(error.exit_code)
