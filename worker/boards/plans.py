"""The values of a plan: how a model shall run, and where it goes or why nowhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from worker.boards import GIB

_MARGIN_BYTES: Final = round(0.3 * GIB)
_OVERHEAD_BYTES: Final = GIB


class PlanSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model shall run."""

    context_tokens: int = 32768
    """Context of one slot."""
    slots: int = 1
    key_type: str = "q4_0"
    value_type: str = "q4_0"
    ubatch_tokens: int = 512
    span: str = "never"
    """``never``, or ``two-boards``."""
    overhead_bytes: int = _OVERHEAD_BYTES
    """What a card needs besides weights and cache; the measured value where there is one."""
    margin_bytes: int = _MARGIN_BYTES
    cache_ram_mib: int = 8192
    """Host memory for kv_cache that is in no slot now."""
    pinned_bytes: int = 0
    """Host memory locked for transfers."""
    image_bytes: int = 0
    """An image reader beside the model; it lies on the first card."""
    draft_bytes: int = 0
    """A draft model; it lies on the first card."""
    cache_bytes_per_token_and_layer: int = 0
    """For an architecture whose cache is not known: a measured or bounding value."""
    speculation: str = "none"
    """none, or a kind that the build knows (``draft-mtp``: the model's own extra layer drafts)."""
    speculation_flags: tuple[str, ...] = ()
    """Further flags for it, as the build names them."""


class Decision(StrEnum):
    """What the planner decided."""

    PIN = "pin"
    SPAN = "span"
    REFUSE = "refuse"


class CardLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What one card would hold."""

    uuid: str
    index: int
    board: str
    slots: int
    """Layers, the output counted as one."""
    load_bytes: int
    room_bytes: int


class Shortfall(msgspec.Struct, frozen=True, kw_only=True):
    """The first thing that does not fit."""

    where: str
    """A card in words, or ``host memory``."""
    uuid: str
    short_bytes: int
    board: str


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """The decision, with everything that follows from it."""

    decision: Decision
    reason: str
    boards: tuple[str, ...] = ()
    cards: tuple[CardLoad, ...] = ()
    split: tuple[int, ...] = ()
    """Whole numbers that add up to layers + 1."""
    crossings: int = 0
    flags: tuple[str, ...] = ()
    """For llama-server, all of them said."""
    engine_flags: tuple[str, ...] = ()
    """Of these, the ones that an engine's own settings do not say."""
    environment: dict[str, str] = {}
    host_bytes: int = 0
    """Memory of the box it takes."""
    shortfall: Shortfall | None = None
    would_fit: tuple[str, ...] = ()
    """Changes under which it would run."""
    warnings: tuple[str, ...] = ()

    @property
    def uuids(self) -> tuple[str, ...]:
        """The cards in the order in which the engine must see them."""
        return tuple(card.uuid for card in self.cards)
