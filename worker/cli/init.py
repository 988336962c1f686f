"""``secondchair-worker init``: settings, keys and folders of a box; ends with doctor."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from worker import registry
from worker.app import matters_folder, registry_path
from worker.checks import run_checks
from worker.cli import loaded
from worker.cli.doctor import show
from worker.config import Settings, config_path
from worker.keys import make_key

_CONFIG = """\
# secondchair's worker. Every key has a default; unknown keys are refused.
# `secondchair-worker doctor` prints which of these are set and from where.

state = "{state}"
# Where matters, queue, keys and audit live. Put it on an encrypted disk.

# host = "127.0.0.1"
# The address the SSH gateway listens on; the box's office address for real use.

# port = 8022

# engine = "llama_server"
# llama_server, llama_python, remote or scripted.

# model = "/srv/models/your-model.gguf"
# Without it the bundled small model runs: it orders the record's words and writes none.

# zone = "UTC"
# date_order = "unset"
# month_first or day_first, where your matters agree.
"""


def prepare(settings: Settings) -> None:
    """Makes the folders, the host keys and an empty registry, each unless it is there."""
    for folder in (settings.state, matters_folder(settings), settings.state / "audit"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_key(settings.state / "gateway" / "host_ed25519")
    make_key(settings.state / "gateway" / "host_ed25519.spare")
    if not registry_path(settings).exists():
        registry.write(registry_path(settings), registry.Registry())


@click.command(epilog="Example: secondchair-worker init --yes")
@click.option("--yes", is_flag=True, help="Take every proposal.")
@click.pass_context
def command(ctx: click.Context, yes: bool) -> None:
    """Set up this box. Safe to run twice: what is there stays."""
    found = loaded(ctx)
    path: Path = ctx.obj["config"] or config_path()
    if not path.exists():
        if not yes:
            click.confirm(
                f"Write settings to {path} and keep the box's state in {found.settings.state}?",
                default=True,
                abort=True,
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_CONFIG.format(state=found.settings.state), "utf-8")
        path.chmod(0o600)
    prepare(found.settings)
    click.echo(f"settings: {path}", err=True)
    show(list(run_checks(found)), Console(stderr=True))
    click.echo(
        "next: secondchair-worker users add NAME --key FILE --role lawyer,"
        " then secondchair-worker serve and gateway",
        err=True,
    )
