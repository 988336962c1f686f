"""``secondchair-worker measure``: how fast this box reads and writes, kept and compared."""

from __future__ import annotations

import asyncio
import socket
import sys

import click
import msgspec
from rich.console import Console

from protocol.errors import Conflict, NotFound
from worker.boards.declared import load_declared
from worker.boards.looking import look
from worker.boards.probe import Probe
from worker.cli import settings_of
from worker.clock import utc_now
from worker.config import Settings
from worker.engine import EngineSettings, open_engine, speeds
from worker.engine.builds import build_notes
from worker.measuring import QUICK, Measurement, Plan
from worker.measuring.campaign import measure
from worker.measuring.chart import draw
from worker.measuring.report import baseline_path, judged, keep, read_baseline, shown
from worker.paths import SOCKET, boards_path


@click.command(epilog="Example: secondchair-worker measure --quick --json")
@click.option("--board", "name", default="", help="Which board; the first one when not said.")
@click.option("--quick", is_flag=True, help="Small sizes: a minute or two on a processor.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: the measurement, judged.")
@click.option("--set-baseline", is_flag=True, help="Later measurements are compared with this one.")
@click.pass_context
def command(ctx: click.Context, name: str, quick: bool, as_json: bool, set_baseline: bool) -> None:
    """Time reading and writing at 1K to 512K tokens of code and of contract text.

    Greedy, 1,024 tokens a run, nothing reused. JSON and a picture go to measurements/ of the state
    folder; the first measurement of a model becomes its baseline. Exit 1 when something is under
    the floor or worse than the baseline, or the cards were not well; --quick judges the cards only.
    """
    settings = settings_of(ctx)
    board = _board(settings, name)
    _refuse_beside_worker(settings)
    talk = Console(stderr=True)
    plan = QUICK if quick else Plan()
    done = asyncio.run(_measured(settings, board, plan, talk))
    folder = settings.state / "measurements"
    stem = folder / f"{done.at:%Y-%m-%dT%H%M%SZ}-{board.name}"
    keep(stem.with_suffix(".json"), done)
    if done.cells:
        draw(done, stem.with_suffix(".png"))
    place = baseline_path(settings.state, done)
    if quick:
        place = place.with_name(f"quick-{place.name}")
    before = read_baseline(place)
    verdicts = judged(done, before)
    if done.cells and not done.unfit and (set_baseline or before is None):
        keep(place, done)
    if as_json:
        whole = {
            "measurement": done,
            "verdicts": verdicts,
            "json": stem.with_suffix(".json"),
            "png": stem.with_suffix(".png"),
        }
        click.echo(msgspec.json.format(msgspec.json.encode(whole, enc_hook=str), indent=1))
    else:
        Console().print(shown(done, verdicts))
        talk.print(f"kept in {folder}", soft_wrap=True, highlight=False)
    slow = any(verdict.under_floor or verdict.worse for verdict in verdicts) and not quick
    sys.exit(1 if slow or done.unfit or not done.cells else 0)


async def _measured(
    settings: Settings, board: EngineSettings, plan: Plan, talk: Console
) -> Measurement:
    """The plan on an engine of its own, started and stopped here."""
    declared = load_declared(boards_path(settings))
    box = await look(declared)
    file = settings.state / "engines" / speeds.FILE
    placed = msgspec.structs.replace(
        board, state_file=build_notes(settings.state, board), speeds_file=file, run_folder=None
    )
    engine = open_engine(placed)
    probe = Probe() if box.gpus else None
    talk.print("starting the engine", highlight=False)
    try:
        await engine.start()
        return await measure(
            engine,
            plan,
            placed,
            box=box,
            declared=declared,
            probe=probe,
            speed=speeds.Speed(file, board.name, engine),
            now=utc_now(),
            say=lambda line: talk.print(line, highlight=False),
        )
    finally:
        await engine.stop()
        if probe is not None:
            await probe.close()


def _board(settings: Settings, name: str) -> EngineSettings:
    boards = settings.board_settings()
    found = next((one for one in boards if one.name == (name or boards[0].name)), None)
    if found is None:
        raise NotFound(f"there is no board {name}")
    return found


def _refuse_beside_worker(settings: Settings) -> None:
    """Two engines on one board would share its memory and its time."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(2)
        try:
            peer.connect(str(settings.run() / SOCKET))
        except OSError:
            return
    raise Conflict(
        "the worker is running: both would be slow, or neither would fit",
        next_step="stop it, measure, start it again",
    )
