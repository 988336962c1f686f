"""What every command of `secondchair` shares: its options, its settings, and how it ends."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import msgspec

from bot.config import Loaded, load
from bot.failures import error_value
from bot.visible import one_line
from protocol.errors import AppError, Internal

_INTERRUPTED: Final = 130  # what shells report for Ctrl-C
_NO_READER: Final = 141  # and for a closed pipe


class WithExamples(click.Command):
    """A command whose examples keep their lines in the help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Prints the examples as they are written."""
        if self.epilog:
            formatter.write("\nExamples:\n" + self.epilog)


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that every command takes, joined into one `Loaded`."""

    @click.option("--config", type=click.Path(path_type=Path), help="The settings file.")
    @click.option("--host", help="The box's SSH gateway.")
    @click.option("--port", help="The gateway's port.")
    @click.option("--key-file", help="Your private key.")
    @click.option("--known-hosts", help="The gateway's pinned host keys.")
    @click.option("--language", help="The language of the face: en or ko.")
    @wraps(command)
    def with_settings(
        *,
        config: Path | None,
        host: str | None,
        port: str | None,
        key_file: str | None,
        known_hosts: str | None,
        language: str | None,
        **rest: Any,
    ) -> None:
        flags = {
            "host": host,
            "port": port,
            "key_file": key_file,
            "known_hosts": known_hosts,
            "language": language,
        }
        command(config=config, flags=flags, **rest)

    return with_settings


fd_option = click.option(
    "--fd", type=int, help="Speak over this connected socket (used by the gateway)."
)


def once_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that asks once and ends."""

    @click.option("--matter", help="The matter to ask.")
    @click.option("--json", "as_json", is_flag=True, help="The whole answer as one JSON object.")
    @fd_option
    @settings_options
    @wraps(command)
    def with_options(
        *,
        config: Path | None,
        flags: dict[str, object],
        matter: str | None,
        as_json: bool,
        **rest: Any,
    ) -> None:
        loaded = settings_of(config, flags | {"matter": matter_code(matter)}, as_json=as_json)
        command(loaded=loaded, as_json=as_json, **rest)

    return with_options


def matter_code(matter: str | None) -> str | None:
    """A matter's code as people type it: "#m-7f3k"."""
    return None if matter is None else matter.strip().removeprefix("#").upper()


def settings_of(config: Path | None, flags: dict[str, object], *, as_json: bool = False) -> Loaded:
    """The settings of this process; a wrong one ends it with a sentence that names its key."""
    try:
        return load(config, environment=os.environ, flags=flags)
    except AppError as error:
        fail(error, as_json=as_json)


def end_with(doing: Coroutine[None, None, int], *, as_json: bool = False) -> None:
    """Runs to the end and leaves with the exit code that fits."""
    try:
        code = asyncio.run(doing)
    except AppError as error:
        fail(error, as_json=as_json)
    except KeyboardInterrupt:
        click.echo("left; a job that was accepted goes on", err=True)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # whoever read us has gone; what is still buffered has no reader
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_NO_READER)
    except Exception as error:  # ours to mend: never a traceback, which may hold words of a case
        fail(Internal(f"this program failed ({_where(error)})"), as_json=as_json)
    sys.exit(code)


def _where(error: Exception) -> str:
    """The kind of an unexpected error and the line of ours that it passed through last."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if name.partition(".")[0] in ("bot", "protocol"):
            place = f" at {name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return type(error).__name__ + place


def fail(error: AppError, *, as_json: bool = False) -> NoReturn:
    """Says what went wrong on stderr, for a person or as one JSON line, and ends the process."""
    value = error_value(error)
    if as_json:
        click.echo(msgspec.json.encode({"error": value}).decode(), err=True)
    else:
        for head, text in (
            ("secondchair", value.message),
            ("next", value.next_step),
            ("reference", value.reference),
        ):
            if text:
                click.echo(f"{head}: {one_line(text)}", err=True)
    sys.exit(error.exit_code)
