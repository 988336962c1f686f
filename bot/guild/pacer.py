"""Paces the edits of progress messages: newest wins, one edit a channel in so many seconds.

Replies do not go through here, so a channel full of progress never holds a reply back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Final

from bot.guild.gate import Template

Sleep = Callable[[float], Awaitable[None]]
_LONGEST_EDIT_S: Final = 10.0
"""discord.py tries a failing request again for half a minute; by then the progress is old."""


class Pace:
    """The pace of all channels."""

    def __init__(self, pace_s: float, sleep: Sleep = asyncio.sleep) -> None:
        """Sets the pace.

        Args:
            pace_s: Seconds between two edits in one channel.
            sleep: Waits; tests pass their own.
        """
        self._pace_s = pace_s
        self._sleep = sleep
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(
        self, channel: str, newest: Newest, edit: Callable[[Template], Awaitable[bool]]
    ) -> None:
        """Edits with whatever is newest until cancelled, or until an edit says there is no use."""
        while True:
            await newest.changed.wait()
            async with self._turns[channel]:
                template = newest.take()
                if template is not None:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_LONGEST_EDIT_S):
                            if not await edit(template):
                                return
                await self._sleep(self._pace_s)


class Newest:
    """The newest thing to show; what was not shown before it is dropped."""

    def __init__(self, shown: Template) -> None:
        """Starts with what is shown already."""
        self._shown = shown
        self._next: Template | None = None
        self.changed = asyncio.Event()

    def offer(self, template: Template) -> None:
        """Something newer to show."""
        if template != self._shown or self._next is not None:
            self._next = template
            self.changed.set()

    def take(self) -> Template | None:
        """What to show now; None when it is shown already."""
        self.changed.clear()
        template, self._next = self._next, None
        if template is None or template == self._shown:
            return None
        self._shown = template
        return template
