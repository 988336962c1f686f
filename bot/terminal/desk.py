"""The channels behind the panes, and what goes on while nobody types.

It shows what the worker holds and keeps nothing. What lines and keys do stands in
`bot.terminal.acts` and `bot.terminal.app`.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from textual.driver import Driver  # noqa: TID251 - the terminal's door

from bot.blocks import Piece, Tone, paragraph
from bot.terminal.channels import Channel, Shared
from bot.terminal.entries import Entry
from bot.terminal.keeping import KEEP_S, LAST_S, Keeper
from bot.terminal.listing import Blocks
from bot.terminal.window import Ask, Start, Window
from protocol.answers import Answer
from protocol.errors import AppError
from protocol.jobs import ListMatters, Matters

_POLL_S: Final = 2.0
"""Seconds between two looks at the jobs of a matter; every other look is at another matter."""
_BEGIN_EVERY: Final = 3
"""Looks between two tries to open a matter, while none could be opened."""
_MATTERS_EVERY: Final = 15
"""Looks at jobs between two looks at the list of matters."""


class Desk(Window):
    """The channels of one window."""

    def __init__(self, start: Start, *, driver: type[Driver] | None = None) -> None:
        super().__init__(start, driver=driver)
        self.channels: list[Channel] = []
        self._polls = 0
        self._keeper = Keeper(start.worker)

    # --- start ---

    async def on_mount(self) -> None:
        """Opens the matter, then keeps looking for what is new."""
        self.composer.focus()
        self._head()
        self.spawn(self._begin(), instead="begin")
        self.set_interval(_POLL_S, self._poll)
        self.set_interval(KEEP_S, self.keep_soon)

    async def _begin(self) -> None:
        try:
            await self._open_first()
        except AppError as error:
            self.stands(error)

    async def _open_first(self) -> None:
        await self._list_matters()
        places = await self._keeper.places()
        for channel in self.channels:
            if channel.place is None and (place := places.get(channel.matter.id)) is not None:
                channel.place, channel.draft = place, place.draft
        if not self.channels:
            text = self.look.words("chat.no_matters")
            self.messages.put([Blocks([paragraph(Piece(text))])])
            return
        wanted = [c for c in self.channels if c.matter.id == self.start.matter]
        if not wanted:
            wanted = [c for c in self.channels if c.matter.id == next(iter(places), "")]
        if not wanted:
            for channel in self.channels:
                await channel.look_in()
            self.matters.put(self.channels)
            wanted = [max(self.channels, key=self._last_own_job)]
        await self.enter(wanted[0])

    def _last_own_job(self, channel: Channel) -> str:
        """Ids sort by time, so the greatest is the newest."""
        return max((job.id for job in channel.jobs if job.user == self.start.user), default="")

    async def _list_matters(self) -> None:
        result = await self.start.worker.call(ListMatters())
        assert isinstance(result, Matters)
        here = {channel.matter.id: channel for channel in self.channels}
        if [m.id for m in result.matters] == list(here):
            return
        shared = Shared(
            self.start.worker, self.start.outbox, f"chat-{self.start.user}", self.start.new_key
        )
        self.screen.set_class(len(result.matters) == 1, "alone")
        self.channels = [
            here.get(matter.id)
            or Channel(
                matter, shared, self.get_look, new_entry=self.new_entry, on_new=self._came_in
            )
            for matter in result.matters
        ]
        if self.channel is not None and self.channel not in self.channels:
            self.channel = None  # it is no longer this person's to see
            self.messages.put([])
            self.side.close()
        self.matters.put(self.channels)

    # --- channels ---

    async def enter(self, channel: Channel) -> None:
        """Shows a channel; what was being written in the one before stays there."""
        if self.channel is not None:
            self.channel.draft = self.composer.text
        elif self.composer.text:  # typed before the first channel stood
            kept = f"{channel.draft}\n" if channel.draft else ""
            channel.draft = kept + self.composer.text
        self.channel = channel
        self.close_side()
        self.screen.remove_class("listing")
        self.composer.take(channel.draft)
        self.matters.go(self.channels.index(channel))
        self._head()
        if not channel.opened:
            self.messages.put([])
            try:
                made = await channel.open()
            except AppError as error:
                self.stands(error)
                return
            for entry in reversed(made):
                self.spawn(channel.fill(entry), entry)
        missed = channel.unread
        channel.read()
        self.matters.renewed(channel)
        self.spawn(self._keeper.keep(self.channels, channel))
        if missed:
            self.note(self.look.words("app.missed", count=missed))
        if self.channel is channel:
            hint = self.look.words("chat.hello_here", user=self.look.line(self.start.user))
            empty = [Blocks([paragraph(Piece(hint, Tone.FAINT))])]
            self.messages.put(channel.entries or empty, end=True)

    def new_entry(self, channel: Channel, line: str, ask: Ask | None = None) -> Entry:
        """An entry of a channel that tells when it changes."""

        def changed(entry: Entry) -> None:
            if channel is self.channel:
                self.messages.renewed(entry)
                self.entry_changed(entry)
            elif entry.ended and not entry.earlier:
                channel.unread += 1
            self.matters.renewed(channel)

        return Entry(line, self.get_look, on_change=changed, ask=ask or self.ask)

    def add(
        self, channel: Channel, line: str, answer: Answer | None, *, ask: Ask | None = None
    ) -> Entry:
        """Puts a command at the end of a channel and carries it out.

        Args:
            channel: Where.
            line: The command.
            answer: The reply it acts on.
            ask: Answers what the command asks; None asks in a window.
        """
        entry = self.new_entry(channel, line, ask)
        self._append(channel, entry)
        self.spawn(channel.run(entry, answer), entry)
        return entry

    def _came_in(self, channel: Channel, entry: Entry) -> None:
        """A job that somebody asked for elsewhere."""
        self._append(channel, entry, go=False)
        self.spawn(channel.fill(entry), entry)

    def _append(self, channel: Channel, entry: Entry, *, go: bool = True) -> None:
        channel.entries.append(entry)
        if channel is not self.channel:
            return
        if len(channel.entries) == 1:  # in the place of the hint
            self.messages.put(channel.entries, end=True)
        else:
            self.messages.append(entry, go=go)

    # --- what goes on behind ---

    def _poll(self) -> None:
        self._head()
        if not self.start.up():
            return
        self._polls += 1
        if self.channel is None:
            if self._polls % _BEGIN_EVERY == 0:
                self.spawn(self._begin(), instead="begin")
            return
        if self._polls % _MATTERS_EVERY == 0:
            self.spawn(self._list_matters())
        others = [channel for channel in self.channels if channel is not self.channel]
        turn = self._polls % 2 and others
        channel = others[self._polls // 2 % len(others)] if turn else self.channel
        self.spawn(self._look_in(channel))

    async def _look_in(self, channel: Channel) -> None:
        if channel is self.channel and not channel.opened:
            await self.enter(channel)
            return
        try:
            async with asyncio.timeout(_POLL_S * 5):
                await channel.look_in()
        except (AppError, TimeoutError):
            return  # the head says that the line is lost; a command would say more
        self.matters.renewed(channel)
        self.looked_in(channel)

    # --- what the worker keeps of this window ---

    def keep_soon(self) -> None:
        """Has the worker keep what changed, beside the keys."""
        if self.channel is not None and self.start.up():
            self.channel.draft = self.composer.text
            self.spawn(self._keeper.keep(self.channels))

    async def keep_last(self) -> None:
        """The same before the window closes; it waits for the worker, but not long."""
        if self.channel is not None and self.start.up():
            self.channel.draft = self.composer.text
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_S):
                    await self._keeper.keep(self.channels)

    def action_leave(self) -> None:
        """Leaves; jobs go on, and what is being written is kept."""
        self.spawn(self._leave(), instead="leave")

    async def _leave(self) -> None:
        await self.keep_last()
        self.exit(0)

    # --- told to those who add to it ---

    def entry_changed(self, entry: Entry) -> None:
        """An entry of the channel in view says something else."""

    def looked_in(self, channel: Channel) -> None:
        """The jobs of a channel were heard of anew."""
