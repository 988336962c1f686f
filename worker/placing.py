"""Where a new job goes: the router's rule over the lines of this moment."""

from __future__ import annotations

from protocol.ids import MatterId
from protocol.jobs import Job
from worker.jobs import JobQueue
from worker.router import Choice, Router

_ANSWERS = "ask"


class Placing:
    """Chooses boards, and remembers which one answered each matter last.

    Only in memory, as the engines hold what they read: after a restart no board has an advantage.
    """

    def __init__(self, router: Router, queue: JobQueue) -> None:
        self._router = router
        self._queue = queue
        self._last: dict[MatterId, str] = {}

    async def board_for(self, kind: str, matter: MatterId) -> Choice:
        """The board for a job of this kind, now."""
        if len(self._router.able(kind)) == 1:
            return self._router.board_for(kind)
        return self._router.place(kind, await self._queue.boards(), self._last.get(matter))

    async def opened(self, matter: MatterId) -> str:
        """The board that should read the matter's record ahead; its questions then go there."""
        board = (await self.board_for(_ANSWERS, matter)).name
        self._last[matter] = board
        return board

    def placed(self, job: Job) -> None:
        """Takes note of a job as the queue took it in."""
        if job.kind == _ANSWERS:
            self._last[job.matter] = job.board
