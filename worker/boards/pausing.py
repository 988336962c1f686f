"""Joins the watcher to the queue: a paused board's queue is paused, and goes on with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from protocol.errors import AppError
from worker.boards import Severity
from worker.boards.health import Change


class Pauses(Protocol):
    """What is needed of a queue (`worker.jobs.JobQueue`)."""

    async def pause(self, board: str) -> None:
        """No new claim on this board."""

    async def resume(self, board: str) -> None:
        """Ends that."""


def pausing(
    queue: Pauses,
    *,
    stop_running: Callable[[str], Awaitable[None]],
    tell: Callable[[Change], Awaitable[None]],
) -> Callable[[Change], Awaitable[None]]:
    """What the watcher calls on every change.

    The operator is told even when the queue is away, so that a pause is never lost in silence; the
    queue's error is raised after that, and the watcher calls again: he may hear it twice.

    Args:
        stop_running: Ends the job that runs on a board, so that it goes on elsewhere or later;
            called for ``pause``, not for ``drain``, which lets it end.
        tell: The operator's channel.
    """

    async def on_change(change: Change) -> None:
        error: AppError | None = None
        try:
            if change.kind == "pause":
                await queue.pause(change.board)
                if change.severity is Severity.PAUSE:
                    await stop_running(change.board)
            elif change.kind == "resume":
                await queue.resume(change.board)
        except AppError as caught:
            error = caught
        await tell(change)
        if error is not None:
            raise error

    return on_change
