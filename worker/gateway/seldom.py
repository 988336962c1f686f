"""What happens again and again is said seldom: a flood of connections must not fill the log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_MOST_OWNERS: Final = 1_000
"""Owners remembered; beyond them all are forgotten and said anew."""


class Seldom:
    """Counts by owner, and says when the count is to be told."""

    def __init__(self, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing has happened yet.

        Args:
            every_s: Seconds between two times that it is told of one owner.
            clock: Gives seconds that only grow.
        """
        self._every_s = every_s
        self._clock = clock
        self._told: dict[str, float] = {}
        self._count: dict[str, int] = {}

    def happened(self, owner: str) -> int:
        """How often it did since it was told last, this time included; 0 when it is too soon."""
        if len(self._told) >= _MOST_OWNERS and owner not in self._told:
            self._told.clear()
            self._count.clear()
        self._count[owner] = self._count.get(owner, 0) + 1
        now = self._clock()
        if owner in self._told and now - self._told[owner] < self._every_s:
            return 0
        self._told[owner] = now
        return self._count.pop(owner)
