"""``secondchair-worker models``: the weights of this box.

``pull`` is the only command of the product that reaches out; it says where to and how much first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

from protocol.errors import AppError, BadRequest, NotFound
from worker.boards.model_file import read_header
from worker.boards.sizes import missing_bytes
from worker.cli import settings_of
from worker.engine.builds import build_notes
from worker.engine.model_pull import Offer, offer, pull_model
from worker.engine.models import (
    ModelFile,
    add_model,
    file_sha256,
    list_models,
    recorded_sha256,
    remove_model,
    unfinished,
)


@click.group()
def command() -> None:
    """The weights of this box: list, add, pull, verify, remove."""


def _folder(ctx: click.Context) -> Path:
    return settings_of(ctx).state / "models"


def _show(model: ModelFile) -> str:
    return f"{model.name}  {model.size_bytes / 1e9:.2f} GB  sha256 {model.sha256 or 'unknown'}"


@command.command("list", epilog="Example: secondchair-worker models list --json")
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """The models of this box, with what their headers say."""
    found = [(model, _said(_folder(ctx) / model.name)) for model in list_models(_folder(ctx))]
    if as_json:
        click.echo(json.dumps([msgspec.structs.asdict(model) | said for model, said in found]))
        return
    for model, said in found:
        billion = said["parameters"] / 1e9
        what = said["damaged"] or f"{said['architecture']}  {billion:.2f} B parameters"
        click.echo(f"{_show(model)}  {what}")
    for part in unfinished(_folder(ctx)):
        click.echo(f"{part.name}  not whole: {part.size_bytes / 1e9:.2f} GB came; pull it again")


def _said(path: Path) -> dict[str, Any]:
    """What a model's header says, or why it cannot be read."""
    try:
        header = read_header(path)
    except AppError as error:
        return {"architecture": "", "parameters": 0, "damaged": error.message}
    missing = missing_bytes(header)
    return {
        "architecture": header.architecture,
        "parameters": header.parameters,
        "damaged": f"cut short: {missing / 1e9:.2f} GB of it are missing" if missing else "",
    }


@command.command(epilog="Example: secondchair-worker models add ~/Model-Q8_0.gguf")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--sha256", default="", help="What the file must hash to.")
@click.pass_context
def add(ctx: click.Context, file: Path, sha256: str) -> None:
    """Copy a local GGUF FILE into this box's models and record its hash."""
    click.echo(_show(add_model(file, _folder(ctx), sha256)))


@command.command(
    epilog="Example: secondchair-worker models pull https://models.example/M.gguf --sha256 HASH"
)
@click.argument("url")
@click.option("--sha256", required=True, help="What the file must hash to.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def pull(ctx: click.Context, url: str, sha256: str, yes: bool) -> None:
    """Fetch a model from URL. The only command that leaves this machine.

    A line that was cut loses nothing: the same command goes on where it stopped.
    """
    console = Console(stderr=True)
    offered = offer(url, _folder(ctx), sha256)
    for line in _told(offered, url):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    if not yes:
        if not sys.stdin.isatty():
            raise BadRequest("nothing was fetched: nobody was asked", next_step="add --yes")
        click.confirm("Fetch it?", abort=True, err=True)
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as shown:
        task = shown.add_task(offered.name, total=offered.size_bytes or None)
        model = pull_model(url, _folder(ctx), sha256, lambda more: shown.advance(task, more))
    click.echo(_show(model))


def _told(offered: Offer, url: str) -> Iterator[str]:
    """What will be fetched, from where, and how much of it is here."""
    size = f"{offered.size_bytes / 1e9:.2f} GB" if offered.size_bytes else "of unknown size"
    yield f"{offered.name}, {size}, from {url}"
    if offered.host != urlsplit(url).hostname:
        yield f"  which leads on to {offered.host}"
    if offered.here_bytes:
        yield f"  {offered.here_bytes / 1e9:.2f} GB of it are here from an earlier try"


@command.command(epilog="Example: secondchair-worker models verify")
@click.argument("names", nargs=-1)
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Read models again (all, or NAMES) and compare with the recorded hashes."""
    folder = _folder(ctx)
    known = [model.name for model in list_models(folder)]
    if missing := [name for name in names if name not in known]:
        raise NotFound(f"there is no model {missing[0]}")
    failed = False
    for name in names or known:
        recorded, now = recorded_sha256(folder / name), file_sha256(folder / name)
        good = recorded == now
        failed = failed or not good
        click.echo(f"{name}: {'as recorded' if good else 'NOT as recorded' if recorded else now}")
    if failed:
        sys.exit(7)


@command.command(epilog="Example: secondchair-worker models remove Old-Q4_0.gguf")
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Delete the model NAME from this box, whole or not."""
    remove_model(name, _folder(ctx))
    click.echo(f"{name}: removed")


@command.command(epilog="Example: secondchair-worker models again A")
@click.argument("board")
@click.pass_context
def again(ctx: click.Context, board: str) -> None:
    """Let builds that were set aside on BOARD try again at the worker's next start."""
    settings = settings_of(ctx)
    chosen = next((one for one in settings.board_settings() if one.name == board), None)
    if chosen is None:
        raise NotFound(f"there is no board {board}")
    notes = build_notes(settings.state, chosen)
    if not notes.exists():
        click.echo(f"{board}: nothing is noted of its builds")
        return
    notes.unlink()
    click.echo(f"{board}: the next start tests its builds anew")
