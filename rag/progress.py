"""How far an ingest is, as it tells whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class IngestProgress:
    """How far an ingest is."""

    stage: str
    """copying, reading, embedding, indexing."""
    done: int
    total: int
    """Files, then passages."""
    page: int = 0
    pages: int = 0
    """While reading: pages done of the file that is being read; 0 when that is not known."""


OnProgress = Callable[[IngestProgress], None]
"""Called between steps; an exception from it stops the run, and the next run goes on from there."""


def quiet(_: IngestProgress) -> None:
    """Nobody waits."""
