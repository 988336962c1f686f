"""``secondchair-worker probe``: how the running worker's parts are, for a health check."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Final

import click

from protocol import frames
from protocol.errors import AppError, NotFound, Unavailable, from_wire
from protocol.frames import Call, Error, Hello, LineSplitter, Return, Stamp, encode
from protocol.ids import UserName
from protocol.jobs import Health, HealthIs
from worker import registry
from worker.app import SOCKET, registry_path
from worker.cli import settings_of
from worker.config import Settings

_WAIT_S: Final = 240.0
"""As long as a completion of every board may take, one after another."""


@click.command(epilog="Example: secondchair-worker probe --prove --json")
@click.option("--prove", is_flag=True, help="Ask every idle board for a few words, too.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: parts with state and reason.")
@click.pass_context
def command(ctx: click.Context, prove: bool, as_json: bool) -> None:
    """Ask the running worker how its parts are. Exit 1 when one of them is down."""
    parts = asyncio.run(ask(settings_of(ctx), prove=prove))
    if as_json:
        click.echo(json.dumps(parts))
    else:
        for name, (state, reason) in parts.items():
            click.echo(f"{state:<9} {name}: {reason}")
    sys.exit(1 if any(state == "down" for state, _ in parts.values()) else 0)


async def ask(settings: Settings, *, prove: bool) -> dict[str, tuple[str, str]]:
    """The worker's answer over its socket, in the name of the box's own operator.

    Raises:
        NotFound: The registry has no operator.
        Unavailable: The worker does not run, or does not answer.
    """
    path = settings.run_of_worker() / SOCKET
    hello = Hello(lowest=frames.VERSION, highest=frames.VERSION, client="probe")
    said = (_stamp(settings), hello, Call(id=1, request=Health(prove=prove)))
    try:
        async with asyncio.timeout(_WAIT_S):
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                writer.write(b"".join(encode(frame) for frame in said))
                return await _answer(reader)
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        raise _away(path) from error


def _stamp(settings: Settings) -> Stamp:
    for user in registry.read(registry_path(settings)).users:
        if user.role is registry.Role.OPERATOR and user.keys:
            return Stamp(
                user=UserName(user.name),
                role=user.role.value,
                fingerprint=user.keys[0].fingerprint,
                peer="127.0.0.1",
            )
    raise NotFound(
        "the registry has no operator in whose name to ask",
        next_step="secondchair-worker users add NAME --key FILE --role operator",
    )


async def _answer(reader: asyncio.StreamReader) -> dict[str, tuple[str, str]]:
    splitter = LineSplitter(frames.MAX_TO_CLIENT_BYTES)
    while data := await reader.read(64 * 1024):
        for text in splitter.feed(data):
            frame = frames.decode_to_client(text)
            if isinstance(frame, Error):
                raise from_wire(frame.error)
            if isinstance(frame, Return) and isinstance(frame.result, HealthIs):
                return frame.result.parts
    raise OSError("the line ended")


def _away(path: Path) -> AppError:
    reason = "it does not answer" if path.exists() else "it is not running"
    return Unavailable(f"the worker: {reason}", next_step="secondchair-worker serve")
