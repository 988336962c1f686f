"""What a person writes and how far he has read is kept on the worker, so a window holds nothing.

Sent soon after it changed, when a line was sent, and when the window closes. A worker that knows no
places is asked once and then left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from bot.conversation import Worker
from bot.terminal.channels import Channel
from protocol.errors import AppError, BadRequest, NotFound
from protocol.ids import MatterId
from protocol.jobs import KeepPlace, ListPlaces, Places

KEEP_S: Final = 1.0
"""Seconds between two looks at whether something is to be kept."""
LAST_S: Final = 2.0
"""Seconds that a closing window waits for the worker."""


class Keeper:
    """Keeps the places of one person's channels."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._turn = asyncio.Lock()
        self._able = True

    async def places(self) -> dict[MatterId, KeepPlace]:
        """Where this person was, by matter, the newest first; empty where nobody knows.

        Raises:
            AppError: The worker is away.
        """
        try:
            result = await self._worker.call(ListPlaces())
        except (BadRequest, NotFound):  # a worker of before
            self._able = False
            return {}
        assert isinstance(result, Places)
        return {place.matter: place for place in result.places}

    async def keep(self, channels: Iterable[Channel], entered: Channel | None = None) -> None:
        """Sends what changed; what does not arrive is sent at the next call.

        Args:
            channels: All of the person's channels.
            entered: One that he just came to: it is kept in any case, as the newest.
        """
        if not self._able:
            return
        async with self._turn:
            for channel in channels:
                place = channel.place_now()
                if place is None or (place == channel.place and channel is not entered):
                    continue
                try:
                    await self._worker.call(place)
                except BadRequest:
                    self._able = False
                    return
                except AppError:
                    return
                channel.place = place
