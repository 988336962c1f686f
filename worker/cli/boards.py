"""``secondchair-worker boards``: what hardware there is, how it does, and what fits on it."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from protocol.errors import BadRequest
from protocol.jobs import HoldBoard, ResumeBoard
from worker import registry
from worker.boards import GIB, Absent, Box, Gpu, IntReading, Lost, Severity, known
from worker.boards.declared import as_declared, as_toml, load_declared
from worker.boards.looking import look
from worker.boards.placement import Decision, Placement, PlanSettings, plan
from worker.boards.profiles import load_profile
from worker.boards.sizes import read_model
from worker.cli import settings_of
from worker.cli.roles import roles
from worker.clock import utc_now
from worker.config import Settings
from worker.door import Door, operator
from worker.paths import SOCKET, boards_path, registry_path

_SIGN = {
    Severity.OK: "[green]✔ ok[/]",
    Severity.WARN: "[yellow]≈ look[/]",
    Severity.DRAIN: "[yellow]≈ look[/]",
    Severity.PAUSE: "[red]✘ stop[/]",
}


_ROOM_FOR_UUIDS = 130
"""Columns of a terminal in which a UUID still fits on one line; ``--json`` always has them."""


@click.group(invoke_without_command=True, epilog="Example: secondchair-worker boards --json")
@click.option("--json", "as_json", is_flag=True, help="For scripts: the box as one object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show cards, boards and what is wrong with them. Exit 1 when a board must not work."""
    if ctx.invoked_subcommand is not None:
        return
    box = _box(settings_of(ctx))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(box), indent=1))
    else:
        show(box, Console())
    sys.exit(1 if any(one.severity is Severity.PAUSE for one in box.notices) else 0)


command.add_command(roles)


@command.command(epilog="Example: secondchair-worker boards declare > boards.toml")
@click.pass_context
def declare(ctx: click.Context) -> None:
    """Print a boards file of what is seen now, to be corrected and kept in the state folder."""
    click.echo(as_toml(as_declared(_box(settings_of(ctx)))), nl=False)


@command.command(
    "plan", epilog="Example: secondchair-worker boards plan MODEL.gguf --context 32768"
)
@click.argument("model", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--profile", type=click.Path(path_type=Path, dir_okay=False), help="Profile (TOML).")
@click.option("--context", type=click.IntRange(min=1), help="Tokens of context of one slot.")
@click.option("--slots", type=click.IntRange(min=1), help="Requests worked at the same time.")
@click.option("--kv", type=click.Choice(["f16", "q8_0", "q4_0"]), help="Type of the kv_cache.")
@click.option("--span", is_flag=True, help="Allow two boards, with one crossing.")
@click.option("--json", "as_json", is_flag=True, help="For scripts: the placement as one object.")
@click.pass_context
def plan_command(
    ctx: click.Context,
    model: Path,
    profile: Path | None,
    context: int | None,
    slots: int | None,
    kv: str | None,
    span: bool,
    as_json: bool,
) -> None:
    """Say which board a model goes to and with which flags, or why none takes it (exit 1)."""
    header = read_model(model)
    chosen = load_profile(profile) if profile else None
    if chosen is not None and chosen.architecture != header.architecture:
        raise BadRequest(
            f"the profile is for {chosen.architecture}, the model file is {header.architecture}"
        )
    given = {
        "context_tokens": context,
        "slots": slots,
        "key_type": kv,
        "value_type": kv,
        "span": "two-boards" if span else None,
    }
    wanted = msgspec.structs.replace(
        chosen.plan if chosen else PlanSettings(),
        **{key: value for key, value in given.items() if value is not None},
    )
    placement = plan(_box(settings_of(ctx)), header, wanted)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(placement), indent=1))
    else:
        show_placement(placement, Console())
    sys.exit(1 if placement.decision is Decision.REFUSE else 0)


@command.command(epilog="Example: secondchair-worker boards hold north")
@click.argument("board")
@click.option("--as", "name", help="The operator who does it; the registry's first one by default.")
@click.pass_context
def hold(ctx: click.Context, board: str, name: str | None) -> None:
    """Hold BOARD: it takes no new job, the running one may end. Sealed in the box's journal."""
    _ask(ctx, HoldBoard(board=board, key=secrets.token_hex(8)), name)
    click.echo(f"{board} is held; `secondchair-worker boards resume {board}` lets it go on")


@command.command(epilog="Example: secondchair-worker boards resume north")
@click.argument("board")
@click.option("--as", "name", help="The operator who does it; the registry's first one by default.")
@click.pass_context
def resume(ctx: click.Context, board: str, name: str | None) -> None:
    """Let BOARD go on after a fault or a hold. A fault that is still there holds it again."""
    _ask(ctx, ResumeBoard(board=board, key=secrets.token_hex(8)), name)
    click.echo(f"{board} goes on, unless its fault is still there: secondchair-worker top --once")


def _ask(ctx: click.Context, request: HoldBoard | ResumeBoard, name: str | None) -> None:
    settings = settings_of(ctx)
    who = operator(registry.read(registry_path(settings)), name, utc_now())
    with Door(settings.run_of_worker() / SOCKET, who) as door:
        door.call(request)


def _box(settings: Settings) -> Box:
    return asyncio.run(look(load_declared(boards_path(settings))))


# --- for people ----------------------------------------------------------------------------------


def show(box: Box, console: Console) -> None:
    """Cards by board, then what is to be said about them."""
    if box.trouble is not None:
        console.print(f"{box.trouble.reason}.", highlight=False)
        if box.trouble.next_step:
            console.print(f"  → {box.trouble.next_step}", highlight=False)
        return
    table = Table(box=None, pad_edge=False)
    columns = ["board", "GPU", "card", "memory", "free", "PCIe", "limit", "NVLinks"]
    wide = console.width >= _ROOM_FOR_UUIDS
    for column in [*columns, "UUID"] if wide else columns:
        table.add_column(column, overflow="fold")
    for board in box.boards:
        for place, gpu in enumerate(board.gpus):
            cells = _cells(gpu) if wide else _cells(gpu)[:-1]
            table.add_row(board.name if place == 0 else "", *cells)
    console.print(table)
    for notice in box.notices:
        console.print(f"{_SIGN[notice.severity]}  {notice.reason}", highlight=False)
        if notice.next_step:
            console.print(f"          → {notice.next_step}", highlight=False)
    if not box.notices:
        console.print(f"{_SIGN[Severity.OK]}  every board is well", highlight=False)


def _cells(gpu: Gpu) -> tuple[str, ...]:
    shared = " shared" if gpu.unified else ""
    limit = known(gpu.power_limit_mw)
    return (
        str(gpu.index),
        gpu.name,
        _gib(gpu.memory_bytes) + shared,
        _gib(gpu.memory_free_bytes),
        _said(gpu.link_width, "x"),
        f"{limit // 1000} W" if limit is not None else _said(gpu.power_limit_mw, ""),
        str(sum(link.active for link in gpu.links)) if gpu.links else "none",
        gpu.uuid,
    )


def _gib(reading: IntReading) -> str:
    return f"{reading / GIB:.1f} GiB" if isinstance(reading, int) else _said(reading, "")


def _said(reading: IntReading, before: str) -> str:
    match reading:
        case Absent():
            return "not reported"
        case Lost():
            return "lost"
        case _:
            return f"{before}{reading}"


def show_placement(placement: Placement, console: Console) -> None:
    """The decision, the cards with their loads, and the flags."""
    words = {Decision.PIN: "one board", Decision.SPAN: "two boards", Decision.REFUSE: "refused"}
    console.print(f"{words[placement.decision]}: {placement.reason}", highlight=False)
    if placement.cards:
        table = Table(box=None, pad_edge=False)
        for column in ("board", "GPU", "layers", "load", "room"):
            table.add_column(column)
        for card in placement.cards:
            load, room = f"{card.load_bytes / GIB:.2f} GiB", f"{card.room_bytes / GIB:.2f} GiB"
            table.add_row(card.board, str(card.index), str(card.slots), load, room)
        console.print(table)
        console.print("the last card's number counts the output as a layer", highlight=False)
    for name, value in placement.environment.items():
        console.print(f"{name}={value}", highlight=False, soft_wrap=True)
    if placement.flags:
        console.print(" ".join(placement.flags), highlight=False, soft_wrap=True)
    console.print(f"host memory: {placement.host_bytes / GIB:.1f} GiB", highlight=False)
    for change in placement.would_fit:
        console.print(f"would fit: {change}", highlight=False)
    for warning in placement.warnings:
        console.print(f"[yellow]≈[/] {warning}", highlight=False)
