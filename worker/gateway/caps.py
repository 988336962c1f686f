"""How many of a thing there may be, in all and for one owner: connections, programs."""

from __future__ import annotations

from collections import Counter


class Caps:
    """Counts what is open; what is over a cap is not let in and not counted."""

    def __init__(self, *, total: int, each: int) -> None:
        """Sets the caps.

        Args:
            total: Most in all.
            each: Most for one owner (an address, a user).
        """
        self._total = total
        self._each = each
        self._open: Counter[str] = Counter()

    def take(self, owner: str) -> bool:
        """Whether one more is let in; if so it counts."""
        if self._open.total() >= self._total or self._open[owner] >= self._each:
            return False
        self._open[owner] += 1
        return True

    def give(self, owner: str) -> None:
        """One that was let in has ended."""
        self._open[owner] -= 1
        if self._open[owner] <= 0:
            del self._open[owner]

    def held(self, owner: str) -> int:
        """How many an owner has."""
        return self._open[owner]
