"""``secondchair-worker engine``: one board's engine in a unit of its own, for a worker to use."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import click

from worker import notify
from worker.cli.until import until_ended
from worker.engine.unit import EngineUnit, Unit, variables


@click.command(
    epilog="Example: secondchair-worker engine --folder /run/secondchair-engine/A"
    " --model /srv/models/m.gguf -- -m /srv/models/m.gguf -c 8192"
)
@click.option("--folder", required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--model", required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--binary", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--variable", "names", multiple=True, help="A variable that the server gets, too.")
@click.option("--start-timeout", "start_timeout_s", type=float, default=1800.0)
@click.option("--leash", is_flag=True, hidden=True, help="End when standard input ends.")
@click.argument("flags", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    folder: Path,
    model: Path,
    binary: Path | None,
    names: tuple[str, ...],
    start_timeout_s: float,
    leash: bool,
    flags: tuple[str, ...],
) -> None:
    """Run one board's engine for the worker, until SIGTERM. Units that init writes call this.

    It is up once the engine has answered a real completion.
    """
    unit = Unit(
        folder=folder,
        model=model,
        binary=binary,
        environment=variables(names),
        start_timeout_s=start_timeout_s,
        flags=flags,
    )

    async def main() -> None:
        work = asyncio.create_task(EngineUnit(unit, notify.ready).run())
        end = asyncio.create_task(until_ended(leashed=leash))
        await asyncio.wait({work, end}, return_when=asyncio.FIRST_COMPLETED)
        end.cancel()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    asyncio.run(main())
