"""Wakes whoever waits in this process for something to change. Holds nothing that must last."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Bells:
    """Rings per topic. Listen first, look second, wait third: then no ring is missed."""

    def __init__(self) -> None:
        self._ears: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def listen(self, topic: str) -> Iterator[asyncio.Event]:
        """An event that is set at every ring of the topic; the listener clears it."""
        ear = asyncio.Event()
        ears = self._ears.setdefault(topic, set())
        ears.add(ear)
        try:
            yield ear
        finally:
            ears.discard(ear)
            if not ears:
                self._ears.pop(topic, None)

    def ring(self, topics: Iterable[str]) -> None:
        """Wakes the listeners of these topics. To be called on the loop's own thread."""
        for topic in topics:
            for ear in self._ears.get(topic, ()):
                ear.set()

    def topics(self) -> frozenset[str]:
        """Every topic somebody listens to."""
        return frozenset(self._ears)
