"""Where a person was: what he was writing and how far he had read, for his next window.

A draft has words in it, so it lies in its matter's own work file and goes with the matter.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

from protocol.errors import BadRequest
from protocol.jobs import Done, KeepPlace, ListPlaces, Places, Result
from worker.handlers import Office
from worker.service import Caller

_DRAFT_CHARS: Final = 100_000
_PENDING: Final = 500


class Place:
    """Keeps and gives back places."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def keep(self, request: KeepPlace, caller: Caller) -> Result:
        """Keeps a place; it is on disk when this returns."""
        if len(request.draft) > _DRAFT_CHARS or len(request.pending) > _PENDING:
            raise BadRequest("that is more than is kept of an unsent line")
        async with self._office.shelf.use(request.matter) as held:
            held.work.put_place(caller.person, request, self._office.now())
        return Done()

    async def all(self, request: ListPlaces, caller: Caller) -> Result:
        """The places of one person, newest first."""
        shelf, found = self._office.shelf, []
        for matter in caller.matters:
            if shelf.exists(matter):
                async with shelf.use(matter) as held:
                    place = held.work.place(caller.person)
                if place is not None:
                    found.append(place)
        return Places(places=tuple(each for _, each in sorted(found, key=_when, reverse=True)))


def _when(place: tuple[dt.datetime, KeepPlace]) -> dt.datetime:
    return place[0]
