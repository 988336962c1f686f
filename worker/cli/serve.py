"""``secondchair-worker serve``: the worker on its unix socket, until a signal ends it."""

from __future__ import annotations

import asyncio

import click

from worker import logs, notify
from worker.app import App
from worker.cli import settings_of
from worker.cli.until import until_ended


@click.command(epilog="Example: secondchair-worker --config worker.toml serve")
@click.option("--leash", is_flag=True, hidden=True, help="End when standard input ends.")
@click.pass_context
def command(ctx: click.Context, leash: bool) -> None:
    """Run the worker until SIGTERM or Ctrl-C. Unfinished jobs go on at the next start."""
    settings = settings_of(ctx)
    logs.setup()

    async def main() -> None:
        async with App(settings).open():
            notify.ready()
            await until_ended(leashed=leash)

    asyncio.run(main())
