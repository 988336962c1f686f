"""The questions of `init`, with what was found as the proposal of each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zoneinfo
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.prompt import Confirm, IntPrompt, Prompt

from protocol.record import DateOrder
from worker.boards import GIB, Box
from worker.config import Settings
from worker.setup.proposal import Proposal, models_in, propose

_MODEL_PLACES: Final = (Path("/srv/models"), Path("/var/lib/secondchair/models"))


def ask_settings(found: Settings, box: Box, console: Console) -> Settings:
    """The settings as a person wants them; every question has a proposal."""
    say = console.print
    say("[bold]Where things are[/]")
    state = Path(Prompt.ask("  folder for matters, keys and journals", default=str(found.state)))
    say("[bold]How PCs reach the box[/] (SSH, one port; nothing else listens)")
    offered = office_addresses()
    if offered:
        say(f"  addresses of this box: {', '.join(offered)}")
    host = Prompt.ask("  address to listen on", default=offered[0] if offered else found.host)
    port = IntPrompt.ask("  port", default=found.port)
    say("[bold]Time and dates[/]")
    zone = _zone(console, local_zone() or found.zone)
    order = Prompt.ask(
        "  how 03/04/2024 reads in your papers",
        choices=[one.value for one in DateOrder],
        default=found.date_order.value,
    )
    say("[bold]Models[/]")
    tell_box(box, console)
    folder = Prompt.ask("  folder with GGUF files (- for none)", default=default_models())
    proposal = proposal_for(box, Path(folder) if folder != "-" else None, console)
    boards = proposal.boards
    if boards and not Confirm.ask("  take this placement", default=True):
        boards = ()
        say("  the small bundled model, then: it orders the record's words and writes none")
    return msgspec.structs.replace(
        found,
        state=state.expanduser().absolute(),
        host=host,
        port=port,
        zone=zone,
        date_order=DateOrder(order),
        boards=boards,
    )


def proposal_for(box: Box, folder: Path | None, console: Console) -> Proposal:
    """What goes where, told as it is found."""
    if folder is None or not folder.is_dir():
        return Proposal(boards=(), reasons=(), refused=())
    found, odd = models_in(folder)
    proposal = propose(box, found)
    for board, reason in zip(proposal.boards, proposal.reasons, strict=True):
        console.print(f"  [green]✔[/] board {board.name} ← {reason}", highlight=False)
    for said in (*proposal.refused, *odd):
        console.print(f"  [yellow]≈[/] {said}", highlight=False)
    if not found:
        console.print(f"  no GGUF file in {folder}", highlight=False)
    return proposal


def tell_box(box: Box, console: Console) -> None:
    """The boards, one a line."""
    if box.trouble is not None and not box.boards:
        console.print(f"  {box.trouble.reason}", highlight=False)
    for board in box.boards:
        names = ", ".join(sorted({gpu.name for gpu in board.gpus}))
        memory = f"{board.memory_bytes / GIB:.0f} GiB"
        ill = "" if board.healthy else f" [red]{board.reason}[/]"
        console.print(
            f"  board {board.name}: {len(board.gpus)} × {names}, {memory}{ill}", highlight=False
        )


def default_models() -> str:
    """A folder where weights usually lie; a dash when there is none."""
    return next((str(place) for place in _MODEL_PLACES if place.is_dir()), "-")


def local_zone() -> str:
    """The box's own time zone; empty where the system does not say."""
    try:
        name = os.readlink("/etc/localtime").partition("zoneinfo/")[2]  # noqa: PTH115
    except OSError:
        return ""
    return name if name in zoneinfo.available_timezones() else ""


def office_addresses() -> list[str]:
    """Addresses of this box that other machines may know; none where `ip` is missing."""
    if shutil.which("ip") is None:
        return []
    try:
        said = subprocess.run(
            ["ip", "-j", "addr"], capture_output=True, timeout=10, check=True
        ).stdout
        links = json.loads(said)
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    return [
        address["local"]
        for link in links
        for address in link.get("addr_info", ())
        if address.get("family") == "inet" and address.get("scope") == "global"
    ]


def _zone(console: Console, proposed: str) -> str:
    while True:
        zone = Prompt.ask("  time zone", default=proposed)
        if zone in zoneinfo.available_timezones():
            return zone
        console.print("  [yellow]≈[/] no such zone; write it like Asia/Seoul or America/New_York")
