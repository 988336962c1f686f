"""Hardware boards on one side, queues on the other: a queue waits while any board under it is held.

Keeps `worker.boards.pausing.Pauses` by the names of hardware boards, and carries each out on the
queues of the engines that use the board.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from worker.engine import EngineSettings
from worker.jobs import JobQueue
from worker.router import CODE_KINDS, stands_in
from worker.watching.uses import hardware_of

Hardware = Callable[[], Mapping[str, Sequence[str]]]
"""Hardware boards as they are known now, with the UUIDs of their cards."""


class Queues:
    """The queues of the settings' boards, and what holds each."""

    def __init__(
        self, queue: JobQueue, engines: Sequence[EngineSettings], hardware: Hardware
    ) -> None:
        self._queue = queue
        self._engines = {engine.name: engine for engine in engines}
        self._hardware = hardware
        self._down: set[str] = set()
        self.operator: dict[str, str] = {}
        """Boards of the settings that an operator holds, with his name."""

    @property
    def names(self) -> tuple[str, ...]:
        """The boards of the settings."""
        return tuple(self._engines)

    def under(self, name: str) -> frozenset[str]:
        """The hardware boards under a board of the settings."""
        return hardware_of(self._engines[name], self._hardware())

    def over(self, hardware: str) -> tuple[str, ...]:
        """The boards of the settings that use a hardware board."""
        return tuple(name for name in self._engines if hardware in self.under(name))

    def held(self, name: str) -> bool:
        """Whether something holds a board of the settings."""
        return name in self.operator or bool(self._down & self.under(name))

    async def pause(self, board: str) -> None:
        """Holds the queues over a hardware board. Twice is harmless."""
        self._down.add(board)
        for name in self.over(board):
            await self._queue.pause(name)

    async def resume(self, board: str) -> None:
        """Ends that, for queues that nothing else holds."""
        self._down.discard(board)
        await self.settle(self.over(board))

    async def settle(self, names: Sequence[str]) -> None:
        """Makes these queues what they should be by everything that holds them."""
        paused = {info.name for info in await self._queue.boards() if info.paused}
        for name in names:
            if self.held(name):
                await self._queue.pause(name)
            elif name in paused:
                await self._queue.resume(name)

    async def rehome(self) -> int:
        """Moves jobs that wait on a held board to one that may do them; gives their number.

        What a model words goes only where the same model runs; what is computed from the record
        goes anywhere.
        """
        infos = {info.name: info for info in await self._queue.boards()}
        free = [
            other
            for name, other in self._engines.items()
            if name in infos and not infos[name].paused
        ]
        moved = 0
        for name, engine in self._engines.items():
            info = infos.get(name)
            if info is None or not info.paused or not info.waiting:
                continue
            twin = next((other for other in free if stands_in(other, engine)), None)
            to, kinds = (twin, None) if twin else (next(iter(free), None), CODE_KINDS)
            if to is not None:
                moved += len(await self._queue.move(name, to.name, kinds))
        return moved
