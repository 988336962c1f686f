"""Which slot of the engine a call works in, and whose matter was in it last."""

from __future__ import annotations


class Slots:
    """Chooses among the free ones: first one that held the same matter, then an empty one, then
    the one that was left longest ago."""

    def __init__(self, count: int) -> None:
        self._free = list(range(count))
        self._held: dict[int, str] = {}

    def take(self, matter: str) -> int:
        """A free slot; there must be one."""
        same = [slot for slot in self._free if self._held.get(slot) == matter]
        empty = [slot for slot in self._free if slot not in self._held]
        chosen = (same or empty or self._free)[0]
        self._free.remove(chosen)
        return chosen

    def give_back(self, slot: int) -> None:
        """The call in it has ended."""
        self._free.append(slot)

    def is_anothers(self, slot: int, matter: str) -> bool:
        """Whether another matter was in it last."""
        return self._held.get(slot, matter) != matter

    def hold(self, slot: int, matter: str) -> None:
        """From now on it holds this matter."""
        self._held[slot] = matter

    def empty(self) -> None:
        """Nothing is in any slot."""
        self._held.clear()
