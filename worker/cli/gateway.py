"""``secondchair-worker gateway``: the SSH gateway, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import click

from worker import logs, notify
from worker.box_settings import way_socket
from worker.cli import settings_of
from worker.cli.until import until_ended
from worker.config import Settings
from worker.gateway import DropSettings, GatewaySettings
from worker.gateway.boxes import BoxWay, OtherBox
from worker.gateway.listener import Gateway
from worker.paths import LENDER, PORT_FILE, SOCKET, audit_folder, matters_folder, registry_path


def gateway_settings(settings: Settings) -> GatewaySettings:
    """The gateway's part of the settings."""
    return GatewaySettings(
        host=settings.host,
        port=settings.port,
        host_keys=host_keys(settings.state),
        users=registry_path(settings),
        worker=settings.run_of_worker() / SOCKET,
        lender=settings.run_of_worker() / LENDER if settings.box and settings.box.lends else None,
        drop=DropSettings(matters=matters_folder(settings), audit=audit_folder(settings)),
    )


def ways(settings: Settings) -> tuple[OtherBox, ...]:
    """The ways to the other boxes, which this gateway keeps open for the worker."""
    return tuple(
        OtherBox(
            host=other.host,
            port=other.port,
            key=other.key,
            known_hosts=other.known_hosts,
            socket=way_socket(other, settings.run_of_worker(), apart=bool(settings.gateway_uids)),
        )
        for other in settings.other_box
    )


def host_keys(state: Path) -> tuple[Path, ...]:
    """The private host keys: the one in use, then the spare."""
    folder = state / "gateway"
    found = (folder / "host_ed25519", folder / "host_ed25519.spare")
    return tuple(path for path in found if path.exists())


@click.command(epilog="Example: secondchair-worker --config worker.toml gateway")
@click.option("--leash", is_flag=True, hidden=True, help="End when standard input ends.")
@click.pass_context
def command(ctx: click.Context, leash: bool) -> None:
    """Run the SSH gateway until SIGTERM or Ctrl-C. It speaks to the worker's socket only."""
    settings = settings_of(ctx)
    logs.setup()
    run = settings.run_of_worker()
    ours = run.stat().st_uid == os.getuid()  # a gateway with a user of its own only reads there

    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            gateway = await stack.enter_async_context(Gateway(gateway_settings(settings)).open())
            for way in ways(settings):
                await stack.enter_async_context(BoxWay(way).open())
            if ours:
                fresh = run / f".{PORT_FILE}.new"  # whoever waits for the file finds it whole
                fresh.write_text(f"{gateway.port}\n", "ascii")
                fresh.replace(run / PORT_FILE)
            notify.ready()
            try:
                await until_ended(leashed=leash)
            finally:
                if ours:
                    (run / PORT_FILE).unlink(missing_ok=True)

    asyncio.run(main())
