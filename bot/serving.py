"""The command group `secondchair bot`: set up, run and bind a bot in a Discord server.

The Discord library is imported only by ``run``. The mode is chosen once, by ``init``; no command
changes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import functools
import signal
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from bot.guild import settings as guild
from bot.guild.deliveries import Bound, Deliveries
from bot.guild.settings import GuildSettings, Mode
from bot.options import (
    WithExamples,
    end_with,
    fail,
    matter_code,
    settings_of,
)
from protocol.errors import AppError, BadRequest, Conflict
from protocol.ids import matter_id, user_name

_MODES: Final = click.Choice([mode.value for mode in Mode])


@click.group()
def bot() -> None:
    """The bot in a Discord server: strict (codes and counts) or full (replies)."""


def _bot_options(command: Callable[..., None]) -> Callable[..., None]:
    """Which bot a command is about."""

    @click.option("--mode", type=_MODES, required=True, help="Which bot: strict or full.")
    @click.option("--bot-config", type=click.Path(path_type=Path), help="Its settings file.")
    @wraps(command)
    def with_options(*, mode: str, bot_config: Path | None, **rest: Any) -> None:
        file = bot_config if bot_config is not None else guild.default_file(Mode(mode))
        command(mode=Mode(mode), file=file, **rest)

    return with_options


@bot.command(
    cls=WithExamples,
    epilog="  secondchair bot init --mode strict --server 1234567890 --token-file ./token\n",
)
@_bot_options
@click.option("--server", required=True, help="The Discord server's numeric id.")
@click.option(
    "--token-file",
    required=True,
    type=click.Path(path_type=Path),
    help="The file that holds the application's token.",
)
def init(mode: Mode, file: Path, server: str, token_file: Path) -> None:
    """Write a bot's settings and make its SSH key; the mode stays what it is made with."""
    from bot import setup

    folder = file.parent
    try:
        settings = GuildSettings(
            mode=mode,
            server=server,
            token_file=token_file.absolute(),
            key_file=(folder / f"discord-{mode}_ed25519").absolute(),
            state=(folder / f"discord-{mode}.sqlite").absolute(),
        )
    except ValueError as error:
        fail(BadRequest(str(error)))
    try:
        for said in setup.prepare_bot(file, guild.explained(settings), settings.key_file):
            click.echo(said, err=True)
    except AppError as error:
        fail(error)


@bot.command(cls=WithExamples, epilog="  secondchair bot run --mode strict\n")
@_bot_options
@click.option("--config", type=click.Path(path_type=Path), help="The settings of the line.")
def run(mode: Mode, file: Path, config: Path | None) -> None:
    """Run a bot until it is stopped."""
    line = settings_of(config, {}).settings
    settings = _settings(mode, file)

    async def main() -> int:
        from bot.link import Link, Target, drop

        try:
            from bot.guild.supervisor import Supervisor
        except ModuleNotFoundError as error:
            raise BadRequest(
                f"{error.name} is not installed", next_step="pip install 'secondchair[bot]'"
            ) from error
        target = Target(
            host=line.host,
            port=line.port,
            key=settings.key_file,
            known_hosts=line.known_hosts,
        )
        async with Link.over_ssh(target, client=f"discord-{mode}") as link:
            put = functools.partial(drop.put, target) if mode is Mode.FULL else None
            supervisor = Supervisor(settings, link, trouble=_trouble, put=put)
            running = asyncio.create_task(supervisor.run())
            loop = asyncio.get_running_loop()
            with contextlib.suppress(NotImplementedError):  # not on Windows; Ctrl-C works there
                loop.add_signal_handler(signal.SIGTERM, running.cancel)
            with contextlib.suppress(asyncio.CancelledError):
                await running
        return 0

    end_with(main())


@bot.command(
    cls=WithExamples,
    epilog=(
        "  secondchair bot bind --mode strict 1234567890 M-7F3K\n"
        "  secondchair bot bind --mode full 1234567890 M-7F3K --consent-by you "
        "--consent-on 2026-11-30\n"
    ),
)
@_bot_options
@click.argument("channel")
@click.argument("matter")
@click.option("--role", default="", help="A Discord role's id that is asked for besides.")
@click.option("--consent-by", default="", help="Full only: who recorded the client's consent.")
@click.option("--consent-on", default="", help="Full only: when, such as 2026-11-30.")
def bind(
    mode: Mode,
    file: Path,
    channel: str,
    matter: str,
    role: str,
    consent_by: str,
    consent_on: str,
) -> None:
    """Bind a CHANNEL to a MATTER; a full bot shows its words only where consent is recorded."""
    settings = _settings(mode, file)
    try:
        bound = _bound(mode, channel, matter, role, consent_by, consent_on)
        with contextlib.closing(Deliveries(settings.state)) as store:
            store.bind(bound)
    except AppError as error:
        fail(error)
    click.echo(f"{channel} is bound to {bound.matter}", err=True)


@bot.command(cls=WithExamples, epilog="  secondchair bot unbind --mode strict 1234567890\n")
@_bot_options
@click.argument("channel")
def unbind(mode: Mode, file: Path, channel: str) -> None:
    """Unbind a CHANNEL; what Discord holds of it stays there."""
    settings = _settings(mode, file)
    try:
        with contextlib.closing(Deliveries(settings.state)) as store:
            known = store.unbind(channel)
    except AppError as error:
        fail(error)
    click.echo(f"{channel} is bound to nothing{'' if known else ', as before'}", err=True)


def _settings(mode: Mode, file: Path) -> GuildSettings:
    try:
        settings = guild.read(file)
        if settings.mode is not mode:
            raise Conflict(
                f"that is the {settings.mode} bot's file",
                next_step="a mode is never changed: make another application with bot init",
            )
    except AppError as error:
        fail(error)
    return settings


def _bound(
    mode: Mode, channel: str, matter: str, role: str, consent_by: str, consent_on: str
) -> Bound:
    if not (channel.isascii() and channel.isdigit()) or not (role == "" or role.isdigit()):
        raise BadRequest("channels and roles are named by their numeric ids")
    try:
        code = matter_id(matter_code(matter) or "")
    except ValueError:
        raise BadRequest("a matter is named by its code, such as M-7F3K") from None
    if mode is Mode.STRICT and (consent_by or consent_on):
        raise BadRequest("a strict bot shows no words, so there is nothing to consent to")
    if mode is Mode.FULL:
        try:
            consent_by = user_name(consent_by)
            consent_on = dt.date.fromisoformat(consent_on).isoformat()
        except ValueError:
            raise BadRequest(
                "full text needs a recorded consent",
                next_step="add --consent-by USER --consent-on 2026-11-30",
            ) from None
    return Bound(
        channel=channel, matter=code, role=role, consent_by=consent_by, consent_on=consent_on
    )


def _trouble(kind: str) -> None:
    """A word about what went wrong, for the service's log: a kind, never what it held."""
    click.echo(f"trouble: {kind}", err=True)
