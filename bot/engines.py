"""Whether any board's engine answers; where none does, replies are the record's own passages."""

from __future__ import annotations

from typing import Final

from bot.conversation import Worker
from bot.look import Look
from protocol.errors import AppError
from protocol.jobs import Health, HealthIs

_BOARD: Final = "board "
"""What the name of a board's part begins with."""


async def away(worker: Worker, look: Look) -> str:
    """What a person is told while every board's engine is down, with the worker's reason.

    Empty while one answers or starts, and where the worker does not say.
    """
    try:
        result = await worker.call(Health())
    except AppError:
        return ""
    assert isinstance(result, HealthIs)
    boards = [said for part, said in sorted(result.parts.items()) if part.startswith(_BOARD)]
    if not boards or any(state != "down" for state, _ in boards):
        return ""
    reasons = dict.fromkeys(look.line(reason) for _, reason in boards)
    return look.words("chat.record_alone", why="; ".join(reasons))
