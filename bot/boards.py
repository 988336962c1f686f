"""The box's boards, their cards, and what was said of them, as every face lists them."""

from __future__ import annotations

from typing import Final

from bot.blocks import Block, Piece, Tone, paragraph
from bot.look import Look
from protocol.boards import BoardNotice, BoardState, CardState
from protocol.jobs import BoardsAre

_TONES: Final = {"ready": Tone.GREEN, "busy": Tone.GREEN, "starting": Tone.AMBER}
_NOTICES: Final = 8
"""The newest that are shown."""


def boards(found: BoardsAre, look: Look) -> list[Block]:
    """Every board with its cards under it, then what was said lately; nothing for no boards."""
    if not found.boards:
        return []
    blocks = [paragraph(Piece(look.words("boards.boards"), Tone.STRONG))]
    shown: set[str] = set()
    for board in found.boards:
        blocks += _board(board, look)
        for card in found.cards:
            if card.board in board.hardware:
                shown.add(card.uuid)
                blocks.append(_card(card, look))
    blocks += [_card(card, look) for card in found.cards if card.uuid not in shown]
    blocks += [_notice(notice, look) for notice in found.notices[:_NOTICES]]
    return blocks


def _board(board: BoardState, look: Look) -> list[Block]:
    words = look.words
    said = words(
        "boards.board_row",
        name=look.line(board.name),
        engine=look.line(board.engine),
        running=board.running,
        places=board.places,
        waiting=board.waiting,
    )
    if board.tokens_per_s is not None:
        said += " · " + words("boards.board_speed", speed=f"{board.tokens_per_s:.1f}")
    tone = Tone.AMBER if board.paused else _TONES.get(board.engine, Tone.RED)
    blocks = [paragraph(Piece(said, tone), indent=3, hang=5)]
    if board.paused:
        why = "; ".join(look.line(each) for each in board.why)
        blocks.append(
            paragraph(Piece(words("boards.board_held", why=why), Tone.AMBER), indent=5, hang=7)
        )
    if board.detail:
        blocks.append(paragraph(Piece(look.line(board.detail), Tone.FAINT), indent=5, hang=7))
    return blocks


def _card(card: CardState, look: Look) -> Block:
    words = look.words
    parts = []
    if card.temperature_c is not None:
        parts.append(words("boards.card_heat", degrees=card.temperature_c))
    if card.power_w is not None and card.power_limit_w is not None:
        power, most = f"{card.power_w:.0f}", f"{card.power_limit_w:.0f}"
        parts.append(words("boards.card_power_of", power=power, most=most))
    elif card.power_w is not None:
        parts.append(words("boards.card_power", power=f"{card.power_w:.0f}"))
    if card.utilisation is not None:
        parts.append(words("boards.card_busy", percent=card.utilisation))
    if not card.reachable:
        parts = [words("boards.card_gone")]
    said = words("boards.card_row", label=look.line(card.label), said=" · ".join(parts) or "–")
    return paragraph(Piece(said, Tone.PLAIN if card.reachable else Tone.RED), indent=5, hang=7)


def _notice(notice: BoardNotice, look: Look) -> Block:
    said = look.words(
        "boards.notice",
        time=look.time(notice.at),
        severity=look.line(notice.severity),
        reason=look.line(notice.reason),
    )
    if notice.next_step:
        said += f" · {look.line(notice.next_step)}"
    return paragraph(Piece(said, Tone.AMBER), indent=3, hang=5)
