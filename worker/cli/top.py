"""``secondchair-worker top``: boards, queues, cards and speeds of the running worker, live."""

from __future__ import annotations

import sys
import time
from zoneinfo import ZoneInfo

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from protocol.errors import AppError
from protocol.jobs import BoardsAre, GetBoards
from worker import registry
from worker.cli import settings_of
from worker.clock import utc_now
from worker.config import Settings
from worker.door import Door, operator
from worker.paths import SOCKET, registry_path
from worker.watching.screen import screen


@click.command(
    epilog="Examples: secondchair-worker top; secondchair-worker top --once; ... top --json"
)
@click.option("--once", is_flag=True, help="Print one screen and end.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: one object, then end.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.2, max=60),
    default=1.0,
    show_default=True,
    help="Seconds between looks.",
)
@click.option("--as", "name", help="The user in whose name to look; an operator by default.")
@click.pass_context
def command(ctx: click.Context, once: bool, as_json: bool, every: float, name: str | None) -> None:
    """Show queues, engines, cards and speeds of the running worker; Ctrl-C ends it.

    With --once or --json, exit 1 when a board is held.
    """
    settings = settings_of(ctx)
    if as_json or once or not sys.stdout.isatty():
        now = look(settings, name)
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(now), indent=1))
        else:
            zone = ZoneInfo(settings.zone)
            Console().print(screen(now, at=utc_now(), zone=zone), highlight=False)
        sys.exit(1 if any(board.paused for board in now.boards) else 0)
    try:
        watch(settings, name, every)
    except KeyboardInterrupt:
        return


def look(settings: Settings, name: str | None) -> BoardsAre:
    """The box now, over the worker's own door.

    Raises:
        AppError: The worker is away, or the registry has nobody who may look.
    """
    who = operator(registry.read(registry_path(settings)), name, utc_now(), any_role=True)
    with Door(settings.run_of_worker() / SOCKET, who) as door:
        now = door.call(GetBoards())
    assert isinstance(now, BoardsAre)
    return now


def watch(settings: Settings, name: str | None, every_s: float) -> None:
    """Draws until it is interrupted; a worker that goes away is waited for."""
    zone = ZoneInfo(settings.zone)
    with Live(Text("looking"), screen=True, auto_refresh=False) as live:
        while True:
            try:
                shown = screen(look(settings, name), at=utc_now(), zone=zone)
            except AppError as error:
                shown = Text(f"{error.message}\n  → {error.next_step}" if error.next_step
                             else error.message)  # fmt: skip
            live.update(shown, refresh=True)
            time.sleep(every_s)
