"""How many connections there may be, in all and from one address."""

from __future__ import annotations

from collections import Counter


class Caps:
    """Counts open connections; a connection that is over a cap is not counted."""

    def __init__(self, *, total: int, per_address: int) -> None:
        self._total = total
        self._per_address = per_address
        self._open: Counter[str] = Counter()

    def take(self, address: str) -> bool:
        """Whether one more connection from this address is let in; if so it counts."""
        if self._open.total() >= self._total or self._open[address] >= self._per_address:
            return False
        self._open[address] += 1
        return True

    def give(self, address: str) -> None:
        """A connection that was let in has ended."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]
