"""Whether an engine of the settings still fits the cards it names: for `doctor`.

The settings hold the flags that the planner gave once. Since then a card may have been changed, a
longer context asked for or a number mistyped; the engine would find out after minutes of loading,
or run over a slow way without saying so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.errors import AppError
from worker.boards import GIB, Board, Box, Notice, Severity
from worker.boards.llama_rule import board_crossings
from worker.boards.model_file import ModelHeader
from worker.boards.placement import Decision, PlanSettings, plan
from worker.engine import EngineSettings
from worker.watching.uses import cards_named

_LEAST_OVERHEAD: Final = GIB // 2
"""What a card needs at the very least besides weights and cache: a refusal under it is certain."""
_PLAN: Final = "plan it anew: secondchair-worker boards plan MODEL --profile PROFILE"


def misplaced(
    box: Box,
    engine: EngineSettings,
    header: ModelHeader,
    others: Sequence[EngineSettings] = (),
) -> tuple[Notice, ...]:
    """What is wrong with an engine's place; empty when nothing is, or when it names no card.

    Args:
        others: Every engine of the settings: no card belongs to two.
    """
    cards = cards_named(engine)
    if cards is None:
        bound = engine.binary is not None and bool(box.gpus)
        return (_says(engine, Severity.WARN, _TAKES_ALL, _PLAN),) if bound else ()
    seen = {uuid for board in box.boards for uuid in board.uuids}
    if gone := [card for card in cards if card not in seen]:
        said = f"{len(gone)} of the {len(cards)} cards it names are not in this box"
        return (_says(engine, Severity.PAUSE, said, "secondchair-worker boards shows which are"),)
    boards = [board for card in cards if (board := box.board_of(card)) is not None]
    if not boards:
        return ()
    found = [
        *_strangers(box, engine, boards),
        *_shared(engine, cards, others),
        *_crossings(engine, header, boards),
        *_room(box, engine, header, boards),
    ]
    return tuple(_says(engine, Severity.PAUSE, said, _PLAN) for said in found)


_TAKES_ALL: Final = "it names no card by UUID, so it spreads over every card it finds"


def place_in_words(box: Box, engine: EngineSettings) -> str:
    """Where an engine is, for a line of `doctor`; empty when it names no card."""
    cards = cards_named(engine) or ()
    boards = dict.fromkeys(board.name for card in cards if (board := box.board_of(card)))
    if not boards:
        return ""
    on = " and ".join(boards)
    return f"{len(cards)} card{'s' if len(cards) > 1 else ''} of {on}"


def _strangers(box: Box, engine: EngineSettings, boards: Sequence[Board]) -> list[str]:
    """An engine called after one board that has cards of another: two boards are never a slip."""
    more = sorted({board.name for board in boards} - {engine.name})
    if not more or engine.name not in {board.name for board in box.boards}:
        return []
    return [f"it is called after one board and names cards of {' and '.join(more)}"]


def _shared(
    engine: EngineSettings, cards: Sequence[str], others: Sequence[EngineSettings]
) -> list[str]:
    also = [
        other.name
        for other in others
        if other.name != engine.name and set(cards) & set(cards_named(other) or ())
    ]
    return [f"{' and '.join(also)} names one of its cards, too"] if also else []


def _crossings(engine: EngineSettings, header: ModelHeader, boards: Sequence[Board]) -> list[str]:
    split = _split(engine)
    if split is None:
        if len({board.name for board in boards}) > 1:
            return ["it spreads over two boards without a split (-ts): layers would lie anywhere"]
        return []
    if len(split) != len(boards):
        return [f"its split (-ts) is for {len(split)} cards; it names {len(boards)}"]
    blocks = header.values.get(f"{header.architecture}.block_count", 0)
    try:
        times = board_crossings(int(blocks), split, [board.name for board in boards])  # type: ignore[arg-type]
    except AppError as error:
        return [error.message]
    names = {board.name for board in boards}
    if times > len(names) - 1 or len(names) > 2:
        return [f"the text would cross between boards {times} times; once is the most"]
    return []


def _room(
    box: Box, engine: EngineSettings, header: ModelHeader, boards: Sequence[Board]
) -> list[str]:
    """Whether the model can be there at all, as if nothing else were on the cards."""
    names = {board.name for board in boards}
    settings = PlanSettings(
        context_tokens=engine.context_tokens,
        slots=engine.slots,
        key_type=engine.kv_dtype,
        value_type=engine.kv_dtype,
        ubatch_tokens=engine.ubatch_tokens,
        span="two-boards" if len(names) > 1 else "never",
        overhead_bytes=_LEAST_OVERHEAD,
        margin_bytes=0,
        cache_ram_mib=engine.cache_ram_mib,
    )
    alone = tuple(_emptied(board) for board in box.boards if board.name in names)
    try:
        placement = plan(msgspec.structs.replace(box, boards=alone), header, settings)
    except AppError:  # its cache has no known formula: nothing can be said
        return []
    unwell = [board for board in alone if not board.healthy]
    return [placement.reason] if placement.decision is Decision.REFUSE and not unwell else []


def _emptied(board: Board) -> Board:
    gpus = tuple(
        msgspec.structs.replace(gpu, memory_free_bytes=gpu.memory_bytes, foreign_processes=0)
        for gpu in board.gpus
    )
    return msgspec.structs.replace(board, gpus=gpus)


def _split(engine: EngineSettings) -> list[int] | None:
    for at, word in enumerate(engine.flags[:-1]):
        if word in ("-ts", "--tensor-split"):
            parts = engine.flags[at + 1].split(",")
            return [int(part) if part.strip().isdigit() else -1 for part in parts]
    return None


def _says(engine: EngineSettings, severity: Severity, reason: str, next_step: str) -> Notice:
    return Notice(
        severity=severity, kind="placement", reason=reason, next_step=next_step, board=engine.name
    )
