"""How long the rest of a summary takes, by the pages this run has worked so far."""

from __future__ import annotations


class Pace:
    """Seconds a page, measured where a part was made; parts that are only read back say nothing.

    With several boards at work each page counts its own time, so the rest is what they share out.
    """

    def __init__(self) -> None:
        self._pages = 0
        self._took_s = 0.0

    def made(self, pages: int, took_s: float) -> None:
        """Takes note of a part."""
        self._pages += max(1, pages)
        self._took_s += took_s

    def rest_s(self, pages: int, boards: int = 1) -> float | None:
        """Seconds for so many pages on so many boards; None before the first part was made."""
        if not self._pages:
            return None
        return pages * self._took_s / self._pages / boards
