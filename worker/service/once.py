"""Doing a changing request once, however often it is sent.

Jobs are kept by their key in the queue, durably. This is for the requests that are answered at
once: a second identical one, even while the first still runs, gets the first one's result.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from protocol.errors import Conflict
from protocol.ids import UserName
from protocol.jobs import Request, Result

KEEP_S = 24 * 3600
"""How long a result is remembered."""

MOST = 10_000
"""Results kept; the oldest go first."""


class Once:
    """Results by (person, key), in memory: a restart forgets them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` gives seconds that never run backwards."""
        self._clock = clock
        self._kept: OrderedDict[tuple[UserName, str], tuple[float, str, asyncio.Task[Result]]] = (
            OrderedDict()
        )

    async def run(
        self, person: UserName, request: Request, do: Callable[[], Awaitable[Result]]
    ) -> Result:
        """The result of ``do``, called only if this request was not done before.

        An error is not remembered: the same request may be tried again.

        Raises:
            Conflict: The key was used for another request.
        """
        key = getattr(request, "key", "")
        if not key:
            return await do()
        self._forget()
        at = (person, key)
        digest = hashlib.sha256(msgspec.json.encode(request)).hexdigest()
        kept = self._kept.get(at)
        if kept is not None and kept[1] != digest:
            raise Conflict("that key was used for another request")
        if kept is None:
            task = asyncio.ensure_future(do())
            kept = self._kept[at] = (self._clock(), digest, task)
            task.add_done_callback(lambda done: self._drop_failed(at, done))
        return await asyncio.shield(kept[2])

    def _drop_failed(self, at: tuple[UserName, str], task: asyncio.Future[Result]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._kept.pop(at, None)

    def _forget(self) -> None:
        oldest = self._clock() - KEEP_S
        while self._kept:
            at, (when, _, task) = next(iter(self._kept.items()))
            if not task.done() or (when >= oldest and len(self._kept) < MOST):
                return
            del self._kept[at]
