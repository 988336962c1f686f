"""Which hardware boards an engine of the settings uses, by what its settings say.

A board of the settings (a queue and an engine) and a hardware board (cards joined by NVLink) have
one name where the operator gave them one. Where the settings list cards, the cards count: an engine
over two hardware boards uses both, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from worker.engine import EngineSettings

VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
_ON_THIS_BOX: Final = frozenset({"llama_server", "llama_python"})
_NO_CARD: Final = frozenset({"", "-1", "NoDevFiles"})


def cards_named(engine: EngineSettings) -> tuple[str, ...] | None:
    """The UUIDs that the settings give the engine, in order; None where they name no card so.

    Empty when the settings keep every card from it. A number is no name: it may mean another card
    after the next start.
    """
    said = engine.environment.get(VISIBLE)
    if said is None:
        return None
    if said.strip() in _NO_CARD:
        return ()
    names = tuple(part.strip() for part in said.split(","))
    return names if all(name.startswith("GPU-") for name in names) else None


def hardware_of(engine: EngineSettings, boards: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The names of the hardware boards an engine uses.

    A build of its own that is told no card takes every card it finds, so every board counts. The
    build that comes with the package knows no card at all, and an engine elsewhere is bound by
    nothing but its name.

    Args:
        boards: Hardware boards with the UUIDs of their cards.
    """
    cards = cards_named(engine)
    if cards is not None:
        return frozenset(
            name
            for name, uuids in boards.items()
            if any(uuid.startswith(card) for uuid in uuids for card in cards)
        )
    if engine.name in boards:
        return frozenset({engine.name})
    if engine.engine not in _ON_THIS_BOX:
        return frozenset()
    bound = engine.binary is not None or VISIBLE in engine.environment
    return frozenset(boards) if bound else frozenset()
