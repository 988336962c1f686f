"""The panes of the app, the channels behind them, and what goes on while nobody types.

It shows what the worker holds and keeps nothing. What lines and keys do stands in
`bot.terminal.acts` and `bot.terminal.app`.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec
from textual.app import App, ComposeResult  # noqa: TID251 - the terminal's door
from textual.containers import Horizontal  # noqa: TID251 - the terminal's door
from textual.content import Content  # noqa: TID251 - the terminal's door
from textual.driver import Driver  # noqa: TID251 - the terminal's door
from textual.widgets import Input, Static  # noqa: TID251 - the terminal's door
from textual.worker import Worker  # noqa: TID251 - the terminal's door

from bot import conversation, failures
from bot.blocks import Piece, Tone, paragraph
from bot.look import Look
from bot.outbox import Outbox
from bot.terminal.channels import Channel, Shared
from bot.terminal.checklist import Question
from bot.terminal.composer import Composer
from bot.terminal.entries import Entry
from bot.terminal.keeping import KEEP_S, LAST_S, Keeper
from bot.terminal.listing import Blocks, Listing
from bot.terminal.side import Side
from protocol.answers import Answer
from protocol.errors import AppError, Internal
from protocol.jobs import ListMatters, Matters

_POLL_S: Final = 2.0
"""Seconds between two looks at the jobs of a matter; every other look is at another matter."""
_BEGIN_EVERY: Final = 3
"""Looks between two tries to open a matter, while none could be opened."""
_MATTERS_EVERY: Final = 15
"""Looks at jobs between two looks at the list of matters."""

Ask = Callable[[str], Awaitable[str | None]]


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What the app is started with."""

    worker: conversation.Worker
    outbox: Outbox
    look: Look
    user: str
    host: str = ""
    matter: str = ""
    """The matter to open; empty opens the one in which this person worked last."""
    new_key: Callable[[], str]
    up: Callable[[], bool] = lambda: True
    """Whether the line to the worker stands."""


class Desk(App[int]):
    """Panes and channels."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, start: Start, *, driver: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver)
        self.HORIZONTAL_BREAKPOINTS = [
            (0, "-small"), (80, "-medium"), (120, "-large"), (160, "-huge")
        ]  # fmt: skip
        self.start = start
        self.channels: list[Channel] = []
        self.channel: Channel | None = None
        self.failure: BaseException | None = None
        """What ended the app, where it did not end well."""
        self._polls = 0
        self._note = ""
        self.no_model = False
        """Whether every board's engine is down."""
        self._keeper = Keeper(start.worker)
        self.matters = Listing(ident="matters")
        self.messages = Listing(ident="messages", follows=True)
        self.side = Side()
        self.composer = Composer()

    def compose(self) -> ComposeResult:
        """The panes."""
        yield Static(id="top")
        with Horizontal(id="middle"):
            yield self.matters
            yield self.messages
            yield self.side
        yield Static(id="words")
        yield Input(id="search")
        yield self.composer
        yield Static(id="keys")

    # --- the look of now ---

    @property
    def look(self) -> Look:
        """The look for the screen of now."""
        return msgspec.structs.replace(self.start.look, width=max(20, self.size.width))

    def get_look(self) -> Look:
        """The same, for those who ask later."""
        return self.look

    def screen_text(self) -> str:
        """What stands on the screen, line by line."""
        strips = self.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

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
            self._stands(error)

    def _stands(self, error: AppError) -> None:
        """Says what went wrong in the place of the messages, until a later try goes well."""
        blocks = failures.error_blocks(failures.error_value(error), self.look)
        self.messages.put([Blocks(blocks)])

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
                self._stands(error)
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

    def spawn(
        self, doing: Coroutine[Any, Any, None], entry: Entry | None = None, *, instead: str = ""
    ) -> None:
        """Runs something beside the keys; what goes wrong is said in words, where it belongs.

        Args:
            doing: What to run.
            entry: Where to say what goes wrong; None says it in the last line.
            instead: What was spawned under this name before is left; empty leaves all going on.
        """

        async def guarded() -> None:
            try:
                await doing
            except AppError as error:
                self._say_failure(error, entry)
            except Exception as error:  # ours to mend: never a traceback, which may hold words
                self._say_failure(Internal(f"this program failed ({type(error).__name__})"), entry)

        running: Worker[None] = self.run_worker(
            guarded, group=instead or "beside", exclusive=bool(instead), exit_on_error=False
        )
        weakref.finalize(running, doing.close)  # cancelled before it began, it has not run

    def _say_failure(self, error: AppError, entry: Entry | None) -> None:
        blocks = failures.error_blocks(failures.error_value(error), self.look)
        if entry is not None:
            entry.show(blocks)
        else:
            self.note(self.look.line(error.message))

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

    def close_side(self) -> None:
        """Closes what stands beside the messages."""
        self.side.close()
        self.screen.remove_class("beside")

    # --- what is said around the panes ---

    def note(self, text: str) -> None:
        """Says one sentence in the last line until the next key."""
        self._note = text
        self._keys()

    def open_search(self) -> None:
        """Opens the line for the words to search for."""
        field = self.query_one("#search", Input)
        field.display = True
        field.placeholder = self.look.words("app.search")
        field.focus()

    def _head(self) -> None:
        words, start = self.look.words, self.start
        title = "secondchair"
        if self.channel is not None:
            matter = self.channel.matter
            title = f"#{matter.id} {self.look.line(matter.title)}"
        user, host = self.look.line(start.user), self.look.line(start.host)
        who = words("app.at", user=user, host=host) if host else user
        if not start.up():
            who = words("app.line_lost")
        if self.no_model:
            who = f"{who}  ·  {words('app.no_model')}"
        self.query_one("#top", Static).update(Content(f"{title}  ·  {who}"))

    def _keys(self) -> None:
        key = "app.keys_compose" if self.focused is self.composer else "app.keys_list"
        self.query_one("#keys", Static).update(Content(self._note or self.look.words(key)))

    def on_descendant_focus(self) -> None:
        """The last line names the keys of the pane."""
        self._keys()

    async def ask(self, question: str) -> str | None:
        """Asks one question in a window."""
        return await self.push_screen_wait(Question(question, self.look.words("app.question_keys")))

    # --- told to those who add to it ---

    def entry_changed(self, entry: Entry) -> None:
        """An entry of the channel in view says something else."""

    def looked_in(self, channel: Channel) -> None:
        """The jobs of a channel were heard of anew."""

    def _fatal_error(self) -> None:
        """Ends without the toolkit's traceback, which would print words of a case.

        Whoever ran the app finds the error in `failure`.
        """
        self.failure = self._exception
        self._close_messages_no_wait()

    def panic(self, *renderables: object) -> None:
        """Ends in the same way."""
        self._fatal_error()
