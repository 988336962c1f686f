"""Where a new job goes: the router's rule over the lines of this moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from protocol.ids import MatterId
from protocol.jobs import Job
from worker.jobs import JobQueue
from worker.router import ROLE_OF, Choice, Router

Out = Callable[[MatterId, str], Sequence[str]]
_ANSWERS: Final = "ask"


def _nowhere(matter: MatterId, board: str) -> Sequence[str]:
    return ()


class Placing:
    """Chooses boards, and remembers which one answered each matter last.

    Only in memory, as the engines hold what they read: after a restart no board has an advantage.
    """

    def __init__(self, router: Router, queue: JobQueue, out: Out = _nowhere) -> None:
        """Begins with nothing remembered.

        Args:
            out: Boards on other boxes that may stand in for a board of ours, for this matter.
        """
        self._router = router
        self._out = out
        self._queue = queue
        self._last: dict[MatterId, str] = {}

    async def board_for(self, kind: str, matter: MatterId) -> Choice:
        """The board for a job of this kind, now."""
        able = self._router.able(kind)
        worded = kind in ROLE_OF
        more = [name for one in able for name in self._out(matter, one)] if worded else []
        if len(able) + len(more) == 1:
            return self._router.board_for(kind)
        return self._router.place(kind, await self._queue.boards(), self._last.get(matter), more)

    async def opened(self, matter: MatterId) -> str:
        """The board that should read the matter's record ahead; its questions then go there."""
        able = self._router.able(_ANSWERS)
        lines = await self._queue.boards() if len(able) > 1 else ()
        board = self._router.place(_ANSWERS, lines, self._last.get(matter)).name
        self._last[matter] = board
        return board

    def placed(self, job: Job) -> None:
        """Takes note of a job as the queue took it in."""
        if job.kind == _ANSWERS:
            self._last[job.matter] = job.board
