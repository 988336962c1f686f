"""Which message, reply and job the keys act on: where the cursor stands, else the newest."""

from __future__ import annotations

from bot.terminal.desk import Desk
from bot.terminal.entries import Entry
from protocol.answers import Answer
from protocol.ids import JobId


def entry(desk: Desk) -> Entry | None:
    """The message under the cursor."""
    row = desk.messages.row
    return row if isinstance(row, Entry) else None


def answer(desk: Desk) -> Answer | None:
    """The reply whose findings are open, else the one under the cursor, else the newest.

    The cursor counts only while it is seen: from where one writes, a command means the reply that
    came last, as it does in the plain chat.
    """
    if desk.channel is None:
        return None
    if desk.side.answer is not None:
        return desk.side.answer
    here = entry(desk)
    if desk.messages.has_focus and here is not None and here.answer is not None:
        return here.answer
    replies = [each.answer for each in desk.channel.entries if each.answer is not None]
    return replies[-1] if replies else None


def job(desk: Desk) -> JobId | None:
    """The job of the queue or of the message under the cursor, else the one at work last."""
    if desk.side.items.has_focus and desk.side.job is not None:
        return desk.side.job.id
    here = entry(desk)
    if desk.messages.has_focus and here is not None:
        return here.job
    entries = desk.channel.entries if desk.channel is not None else []
    jobs = [(each.ended, each.job) for each in entries if each.job is not None]
    at_work = [job for ended, job in jobs if not ended]
    return at_work[-1] if at_work else jobs[-1][1] if jobs else None
