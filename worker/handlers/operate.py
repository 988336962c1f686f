"""What an operator does to boards: look, hold, let go on. Sealed in the box's journal first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from protocol.jobs import BoardsAre, Done, GetBoards, HoldBoard, Result, ResumeBoard
from worker.audit import BOX, Journal
from worker.handlers import Office
from worker.service import Caller
from worker.watching.guard import Guard


class Operate:
    """Boards, as an operator handles them."""

    def __init__(
        self, office: Office, guard: Guard, boards: Callable[[], Awaitable[BoardsAre]]
    ) -> None:
        self._office = office
        self._guard = guard
        self._boards = boards

    async def boards(self, request: GetBoards, caller: Caller) -> Result:
        """Boards with queues, engines, cards and what was said lately."""
        return await self._boards()

    async def hold(self, request: HoldBoard, caller: Caller) -> Result:
        """Holds a board.

        Raises:
            NotFound: There is no such board.
        """
        self._seal("board.held", request.board, caller)
        await self._guard.hold(request.board, caller.person)
        return Done()

    async def resume(self, request: ResumeBoard, caller: Caller) -> Result:
        """Lets a board go on.

        Raises:
            NotFound: There is no such board.
            Conflict: The driver cannot be asked.
        """
        self._seal("board.resumed", request.board, caller)
        await self._guard.resume(request.board)
        return Done()

    def _seal(self, what: str, board: str, caller: Caller) -> None:
        """One entry for each board of the settings that is meant."""
        for name in self._guard.named(board):
            Journal(self._office.audit, BOX).seal(
                what,
                by=caller.person,
                through=caller.through,
                now=self._office.now(),
                details={"board": name},
            )
