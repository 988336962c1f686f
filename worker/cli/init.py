"""``secondchair-worker init``: a box from nothing, by asking or without; ends with doctor."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

import click
import msgspec
from rich.console import Console

from protocol.errors import AppError, BadRequest
from protocol.ids import user_name
from worker.boards import Box, HostMemory
from worker.boards.declared import load_declared
from worker.boards.looking import look
from worker.checks import State, run_checks
from worker.cli.doctor import show
from worker.config import Settings, config_path, load
from worker.paths import boards_path, registry_path
from worker.setup.interview import ask_settings, proposal_for
from worker.setup.plan import Plan, carry_out

_SERVICE_CONFIG: Final = Path("/etc/secondchair/worker.toml")
_SERVICE_STATE: Final = Path("/var/lib/secondchair")
_SERVICE_RUN: Final = Path("/run/secondchair")
_SERVICE_UNITS: Final = Path("/etc/systemd/system")


@click.command(
    epilog="Examples: secondchair-worker init;"
    " sudo secondchair-worker init --service --models /srv/models;"
    " secondchair-worker init --yes --config worker.toml --target units"
)
@click.option("--yes", is_flag=True, help="Take every proposal and ask nothing.")
@click.option(
    "--config",
    "config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file to use, or to write when it is not there.",
)
@click.option(
    "--service/--no-service",
    default=None,
    help="Users of its own for worker and gateway, and systemd units (root).",
)
@click.option(
    "--target",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the systemd units; with --service the system's own.",
)
@click.option(
    "--models",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with GGUF files: each is placed on a board, or said why not.",
)
@click.option("--user", "user", default="", help="A first user, whose key is made here.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
@click.pass_context
def command(
    ctx: click.Context,
    yes: bool,
    config: Path | None,
    service: bool | None,
    target: Path | None,
    models: Path | None,
    user: str,
    dry_run: bool,
) -> None:
    """Set up this box. Safe to run twice: what is there stays, and no key is written over."""
    console = Console(stderr=True)
    asking = not yes and not dry_run
    if asking and not sys.stdin.isatty():
        raise BadRequest("nobody is there to be asked", next_step="secondchair-worker init --yes")
    service = _service(service, asking)
    path = (config or ctx.obj["config"] or _default_config(service)).expanduser().absolute()
    settings = _settings(ctx, path, service)
    box = _box(settings, console)
    if not path.exists():
        if asking:
            settings = ask_settings(settings, box, console)
            user = user or _first_user(settings)
        else:
            boards = proposal_for(box, models, console).boards
            settings = msgspec.structs.replace(settings, boards=boards or settings.boards)
    plan = Plan(
        settings=settings,
        config=path,
        box=box,
        service=service,
        target=target or (_SERVICE_UNITS if service else None),
        user=_checked(user),
        user_key=_key_place(settings, user) if user else None,
    )
    if asking:
        for said in carry_out(plan, dry_run=True):
            console.print(f"  · {said}", highlight=False, soft_wrap=True)
        click.confirm("Do this?", default=True, abort=True, err=True)
    for said in carry_out(plan, dry_run=dry_run):
        console.print(
            f"[green]✔[/] {said}" if not dry_run else f"· {said}", highlight=False, soft_wrap=True
        )
    if dry_run:
        console.print("nothing was changed")
        return
    _end(ctx, path, plan, console)


def _end(ctx: click.Context, path: Path, plan: Plan, console: Console) -> None:
    checks = list(run_checks(load(path, environment=os.environ, flags=ctx.obj["flags"])))
    show(checks, console)
    console.print(f"settings: {path}", highlight=False, soft_wrap=True)
    if plan.service:
        console.print(
            "next: systemctl daemon-reload && systemctl enable --now secondchair-worker"
            " secondchair-gateway secondchair-health.timer",
            highlight=False,
            soft_wrap=True,
        )
    console.print(
        "then: secondchair-worker users add NAME --key FILE --role lawyer, and"
        ' secondchair-worker matters open "TITLE" --folder PAPERS --user NAME',
        highlight=False,
        soft_wrap=True,
    )
    sys.exit(1 if any(check.state is State.FAIL for check in checks) else 0)


def _service(wanted: bool | None, asking: bool) -> bool:
    if wanted is None:
        wanted = asking and os.geteuid() == 0 and _SERVICE_UNITS.is_dir()
        if wanted:
            wanted = click.confirm(
                "Install as a service, with users of its own?", default=True, err=True
            )
    if wanted and os.geteuid() != 0:
        raise BadRequest(
            "only root can set up the service", next_step="sudo secondchair-worker init --service"
        )
    return wanted


def _default_config(service: bool) -> Path:
    return _SERVICE_CONFIG if service else config_path()


def _settings(ctx: click.Context, path: Path, service: bool) -> Settings:
    """What the file says, else the defaults, at the service's places for a service."""
    flags = dict(ctx.obj["flags"])
    if path.exists():
        return load(path, environment=os.environ, flags=flags).settings
    if service:
        flags = {
            "state": flags.get("state") or _SERVICE_STATE,
            "run_folder": _SERVICE_RUN,
        }
    empty = Path(os.devnull)
    return load(empty, environment=os.environ, flags=flags).settings


def _box(settings: Settings, console: Console) -> Box:
    try:
        return asyncio.run(look(load_declared(boards_path(settings))))
    except AppError as error:
        console.print(f"[yellow]≈[/] {error.message}", highlight=False)
        return Box(boards=(), memory=HostMemory(total_bytes=0, available_bytes=0))


def _first_user(settings: Settings) -> str:
    if registry_path(settings).exists():
        return ""
    said: str = click.prompt(
        "A first user whose key is made here (empty for none)", default="", err=True
    )
    return said.strip()


def _checked(user: str) -> str:
    try:
        return user_name(user) if user else ""
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _key_place(settings: Settings, user: str) -> Path:
    """Beside the state, not in it: a backup holds no private key of a person."""
    return settings.state.with_name(f"{settings.state.name}-keys") / f"{user}_ed25519"
