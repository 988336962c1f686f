"""The box as its operator watches it: queues, engines, cards and notices as values of the protocol.

Rates come from replies: the decode rate that the engine measured, and how many of the tokens that
speculation proposed the model took, board by board.
"""

from __future__ import annotations

import statistics
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Final

from protocol.answers import Provenance, Timings
from protocol.boards import BoardState, CardState
from protocol.errors import Unavailable
from protocol.jobs import BoardsAre
from worker.boards import Sample, known
from worker.engine import Engine
from worker.jobs import JobQueue
from worker.watching.guard import Guard

_LATELY: Final = 20


class Rates:
    """Of the last replies of each board: tokens a second, and drafts made and taken."""

    def __init__(self) -> None:
        self._last: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_LATELY))
        self._drafts: dict[str, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=_LATELY))
        self._count: dict[str, int] = defaultdict(int)

    def add(self, timings: Timings, provenance: Provenance) -> None:
        """Notes a reply; one that no model wrote counts for nothing."""
        if timings.tokens_per_s > 0:
            self._last[timings.board].append(timings.tokens_per_s)
            drafts = (provenance.drafted_tokens, provenance.accepted_tokens)
            self._drafts[timings.board].append(drafts)
            self._count[timings.board] += 1

    def of(self, board: str) -> tuple[float | None, float | None, int]:
        """The last rate, the median of the last twenty, and how many replies there were."""
        last = self._last.get(board)
        if not last:
            return None, None, 0
        return last[-1], statistics.median(last), self._count[board]

    def drafts(self, board: str) -> tuple[int, int]:
        """Tokens drafted for the last twenty replies, and how many of them were taken."""
        lately = self._drafts.get(board, ())
        return sum(drafted for drafted, _ in lately), sum(taken for _, taken in lately)


async def boards_now(
    guard: Guard, queue: JobQueue, engines: Mapping[str, Engine], rates: Rates
) -> BoardsAre:
    """Everything an operator watches, as it is now."""
    infos = {info.name: info for info in await queue.boards()}
    boards = []
    for name, engine in engines.items():
        info, health = infos.get(name), await engine.health()
        why = guard.why(name)
        if info is not None and info.paused and not why:
            why = ("it was paused earlier and nobody wrote down why",)
        last, median, replies = rates.of(name)
        drafted, accepted = rates.drafts(name)
        boards.append(
            BoardState(
                name=name,
                paused=info.paused if info is not None else False,
                why=why,
                places=info.places if info is not None else 1,
                running=info.running if info is not None else 0,
                waiting=info.waiting if info is not None else 0,
                engine=health.state.value,
                detail=health.detail,
                restarts=health.restarts,
                hardware=guard.under(name),
                tokens_per_s=last,
                tokens_per_s_median=median,
                replies=replies,
                drafted_tokens=drafted,
                accepted_tokens=accepted,
                notes=_notes(engine),
            )
        )
    return BoardsAre(
        watched=guard.watching,
        boards=tuple(boards),
        cards=tuple(_card(guard, sample) for sample in guard.samples() if sample.uuid),
        notices=guard.notebook.lately()[:50],
    )


def _notes(engine: Engine) -> tuple[str, ...]:
    try:
        return engine.capabilities.notes
    except Unavailable:
        return ()  # it was never up


def _card(guard: Guard, sample: Sample) -> CardState:
    peak, limit = max(sample.power_mw, default=None), known(sample.power_limit_mw)
    return CardState(
        uuid=sample.uuid,
        label=guard.label(sample.uuid),
        board=next((n for n, uuids in guard.hardware().items() if sample.uuid in uuids), ""),
        reachable=sample.reachable == 0,
        temperature_c=known(sample.temperature_c),
        memory_temperature_c=known(sample.memory_temperature_c),
        power_w=peak / 1000 if peak is not None else None,
        power_limit_w=limit / 1000 if limit is not None else None,
        utilisation=known(sample.utilisation),
        sm_clock_mhz=known(sample.sm_clock_mhz),
        link_width=known(sample.link_width),
    )
