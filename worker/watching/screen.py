"""The screen of ``secondchair-worker top``: boards, cards and notices, for rich."""

from __future__ import annotations

import datetime as dt
from typing import Final
from zoneinfo import ZoneInfo

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from protocol.boards import BoardNotice, BoardState, CardState
from protocol.jobs import BoardsAre

_NOTICES: Final = 6
_BAR: Final = 10
_NEAR_LIMIT: Final = 0.95
_STYLE: Final = {"ok": "green", "warn": "yellow", "drain": "yellow", "pause": "red"}
_ENGINE_STYLE: Final = {"ready": "green", "busy": "cyan", "starting": "yellow"}


def screen(now: BoardsAre, *, at: dt.datetime, zone: ZoneInfo) -> RenderableType:
    """Everything on one screen.

    Args:
        at: When it was asked, aware.
        zone: In which times are shown.
    """
    held = sum(board.paused for board in now.boards)
    title = Text.assemble(
        ("secondchair", "bold"),
        f"  {at.astimezone(zone):%H:%M:%S} {at.astimezone(zone):%Z}",
        f"  {_count(len(now.boards), 'board')}",
    )
    if held:
        title.append(f"  {held} held", "red")
    parts: list[RenderableType] = [title, Text(), _boards(now.boards)]
    if now.cards:
        parts += [Text(), _cards(now.cards)]
    elif now.watched:
        parts += [Text(), Text("the cards have not been read yet", "dim")]
    else:
        parts += [Text(), Text("no card is watched: this box has none, or it is turned off", "dim")]
    if now.notices:
        parts += [Text(), *(_notice(one, zone) for one in now.notices[:_NOTICES])]
    return Group(*parts)


def _boards(boards: tuple[BoardState, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("board", "queue", "engine"):
        table.add_column(column, overflow="fold")
    drafts = any(board.drafted_tokens for board in boards)
    for column in ("running", "waiting", "tok/s", "median", *(["drafts"] * drafts), "replies"):
        table.add_column(column, justify="right")
    table.add_column("", overflow="fold")
    for board in boards:
        engine = Text(board.engine, _ENGINE_STYLE.get(board.engine, "red"))
        restarts = _count(board.restarts, "restart") if board.restarts else ""
        said = [*board.why, board.detail if board.engine == "down" else "", *board.notes, restarts]
        table.add_row(
            board.name,
            Text("✘ held", "red") if board.paused else Text("✔ works", "green"),
            engine,
            f"{board.running}/{board.places}",
            str(board.waiting),
            _rate(board.tokens_per_s),
            _rate(board.tokens_per_s_median),
            *([_taken(board)] * drafts),
            str(board.replies),
            "; ".join(filter(None, said)),
        )
    return table


def _cards(cards: tuple[CardState, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("board", "card", "load", "power", "temperature"):
        table.add_column(column, no_wrap=True)
    for column in ("clock", "PCIe"):
        table.add_column(column, justify="right", no_wrap=True)
    before = None
    for card in sorted(cards, key=lambda one: one.board):
        name, before = ("" if card.board == before else card.board), card.board
        if not card.reachable:
            table.add_row(name, card.label, Text("gone", "red"), "", "", "", "")
            continue
        table.add_row(
            name,
            card.label,
            _bar(card.utilisation),
            _power(card),
            _heat(card),
            f"{card.sm_clock_mhz} MHz" if card.sm_clock_mhz is not None else "",
            f"x{card.link_width}" if card.link_width is not None else "",
        )
    return table


def _notice(notice: BoardNotice, zone: ZoneInfo) -> Text:
    said = Text(f"{notice.at.astimezone(zone):%d %b %H:%M}  ")
    style = _STYLE.get(notice.severity, "")
    said.append(f"{notice.kind:<8}", style)
    said.append(f"{notice.board or 'box'}: {notice.reason}")
    if notice.next_step and notice.kind != "resume":
        said.append(f"\n              → {notice.next_step}", "dim")
    return said


def _bar(percent: int | None) -> Text:
    if percent is None:
        return Text("not reported", "dim")
    full = round(max(0, min(100, percent)) * _BAR / 100)
    return Text.assemble(("█" * full, "cyan"), ("·" * (_BAR - full), "dim"), f" {percent:>3} %")


def _power(card: CardState) -> Text:
    if card.power_w is None:
        return Text("not reported", "dim")
    if card.power_limit_w is None:
        return Text(f"{card.power_w:.0f} W")
    over = card.power_w > card.power_limit_w
    near = card.power_w > card.power_limit_w * _NEAR_LIMIT
    style = "red" if over else "yellow" if near else ""
    return Text(f"{card.power_w:.0f} of {card.power_limit_w:.0f} W", style)


def _heat(card: CardState) -> str:
    core = f"{card.temperature_c} °C" if card.temperature_c is not None else ""
    memory = card.memory_temperature_c
    return core + (f", memory {memory} °C" if memory is not None else "")


def _rate(tokens_per_s: float | None) -> str:
    return f"{tokens_per_s:.1f}" if tokens_per_s is not None else "-"


def _taken(board: BoardState) -> str:
    """The share of drafted tokens that the model took."""
    if not board.drafted_tokens:
        return "-"
    return f"{board.accepted_tokens / board.drafted_tokens:.0%}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
