"""``secondchair-worker probe``: how the running worker's parts are, for a health check."""

from __future__ import annotations

import json
import sys
from typing import Final

import click

from protocol.errors import Internal
from protocol.jobs import Health, HealthIs
from worker import registry
from worker.cli import settings_of
from worker.clock import utc_now
from worker.config import Settings
from worker.door import Door, operator
from worker.paths import SOCKET, registry_path

_WAIT_S: Final = 240.0
"""As long as a completion of every board may take, one after another."""


@click.command(epilog="Example: secondchair-worker probe --prove --json")
@click.option("--prove", is_flag=True, help="Ask every idle board for a few words, too.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: parts with state and reason.")
@click.pass_context
def command(ctx: click.Context, prove: bool, as_json: bool) -> None:
    """Ask the running worker how its parts are. Exit 1 when one of them is down."""
    parts = ask(settings_of(ctx), prove=prove)
    if as_json:
        click.echo(json.dumps(parts))
    else:
        for name, (state, reason) in parts.items():
            click.echo(f"{state:<9} {name}: {reason}")
    sys.exit(1 if any(state == "down" for state, _ in parts.values()) else 0)


def ask(settings: Settings, *, prove: bool) -> dict[str, tuple[str, str]]:
    """The worker's answer, in the name of the box's own operator.

    Raises:
        Refused: The registry has no operator.
        Unavailable: The worker does not run, or does not answer.
    """
    who = operator(registry.read(registry_path(settings)), None, utc_now())
    with Door(settings.run_of_worker() / SOCKET, who, timeout_s=_WAIT_S) as door:
        result = door.call(Health(prove=prove))
    if not isinstance(result, HealthIs):
        raise Internal("the worker answered something else than asked")
    return result.parts
