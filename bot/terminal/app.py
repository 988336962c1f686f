"""The app on the whole screen: its keys, and what happens when something is chosen or sent.

A command goes through `bot.chat` like a line of the plain chat, each with its entry as its face, so
several jobs fill in their places at once.
"""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding, BindingType  # noqa: TID251 - the terminal's door
from textual.content import Content  # noqa: TID251 - the terminal's door
from textual.driver import Driver  # noqa: TID251 - the terminal's door
from textual.events import Key  # noqa: TID251 - the terminal's door
from textual.widgets import Input, Static  # noqa: TID251 - the terminal's door

from bot import engines
from bot.slash import Name
from bot.terminal.acts import Acts
from bot.terminal.channels import Channel
from bot.terminal.composer import Composer
from bot.terminal.desk import Desk
from bot.terminal.entries import Entry
from bot.terminal.listing import Listing
from bot.terminal.side import View
from bot.terminal.window import Start

_ENGINES_S: Final = 30.0
"""Seconds between two looks at whether a model answers."""


class TerminalApp(Desk):
    """The app."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "view('help')", show=False, priority=True),
        Binding("f2", "view('findings')", show=False, priority=True),
        Binding("f3", "view('queue')", show=False, priority=True),
        Binding("f4", "view('health')", show=False, priority=True),
        Binding("f5", "view('record')", show=False, priority=True),
        Binding("f6", "approve", show=False, priority=True),
        Binding("f7", "give_back", show=False, priority=True),
        Binding("f8", "command('/export')", show=False, priority=True),
        Binding("f9", "cancel", show=False, priority=True),
        Binding("f10", "mouse", show=False, priority=True),
        Binding("ctrl+n", "matter(1)", show=False, priority=True),
        Binding("ctrl+p", "matter(-1)", show=False, priority=True),
        Binding("ctrl+f", "search", show=False, priority=True),
        Binding("ctrl+l", "paint", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+c", "empty", show=False, priority=True),
        Binding("escape", "write", show=False),
        Binding("tab", "app.focus_next", show=False),
        Binding("shift+tab", "app.focus_previous", show=False),
    ]

    def __init__(self, start: Start, *, driver: type[Driver] | None = None) -> None:
        super().__init__(start, driver=driver)
        self.acts = Acts(self)

    async def on_mount(self) -> None:
        """Says at once, and from then on, whether a model answers."""
        self._look_at_engines()
        self.set_interval(_ENGINES_S, self._look_at_engines)

    def _look_at_engines(self) -> None:
        if self.start.up():
            self.spawn(self._told_of_engines(), instead="engines")

    async def _told_of_engines(self) -> None:
        said = await engines.away(self.start.worker, self.look)
        if said and not self.no_model:
            self.note(said)
        self.no_model = bool(said)
        self._head()

    def entry_changed(self, entry: Entry) -> None:
        """Keeps the findings with their reply."""
        self.acts.views.entry_changed(entry)

    def looked_in(self, channel: Channel) -> None:
        """Keeps the queue as it is."""
        if channel is self.channel and self.side.view is View.QUEUE:
            self.acts.views.show_queue()

    def on_key(self, event: Key) -> None:
        """A note stands until the next key."""
        if self._note:
            self._note = ""
            self._keys()
        self.acts.key(event)

    # --- messages of the panes ---

    def on_composer_sent(self, event: Composer.Sent) -> None:
        """A line was finished."""
        if event.line.strip():
            self.composer.remember(event.line)
            self.composer.take("")
            self.acts.send(event.line)
            self.keep_soon()

    def on_composer_typing(self, event: Composer.Typing) -> None:
        """Lists what may complete the line."""
        box = self.query_one("#words", Static)
        box.display = bool(event.words)
        look = self.look
        rows = []
        for word in event.words:
            name = word.removeprefix("/")
            known = word.startswith("/") and name in set(Name)
            said = look.words(f"help.{name}") if known else ""
            rows.append(f"{word:<14}{said}"[: look.width - 3])
        box.update(Content("\n".join(rows)))

    def on_listing_moved(self, event: Listing.Moved) -> None:
        """The cursor moved in a pane."""
        if event.listing is self.matters and self.matters.has_focus:
            return
        self.acts.views.moved(event.listing)

    def on_listing_chosen(self, event: Listing.Chosen) -> None:
        """A row was chosen in a pane."""
        row = event.listing.row
        if isinstance(row, Channel):
            self.spawn(self.enter(row))
            self.composer.focus()
        else:
            self.acts.choose(event.listing)

    def on_listing_at_top(self, event: Listing.AtTop) -> None:
        """Brings what is older."""
        if event.listing is self.messages and self.channel is not None:
            made = self.channel.older()
            if made:
                self.messages.put(self.channel.entries)
                self.messages.go(len(made))
                for entry in reversed(made):
                    self.spawn(self.channel.fill(entry))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The search goes on to the next place."""
        if event.input.id == "search":
            self.acts.find(event.value, 1)
            self.messages.focus()

    # --- keys of the app ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A window takes all keys but those that leave, paint or move on inside it."""
        alone = len(self.screen_stack) <= 1
        return alone or action in ("leave", "paint", "focus_next", "focus_previous")

    def action_view(self, name: str) -> None:
        """Opens a view beside the messages, or closes it."""
        self.acts.view(View(name))

    def action_approve(self) -> None:
        """Opens the list to go through before an approval."""
        self.acts.approve()

    def action_give_back(self) -> None:
        """Asks for the note of a return."""
        self.acts.give_back()

    def action_command(self, line: str) -> None:
        """Sends a command."""
        self.acts.send(line)

    def action_cancel(self) -> None:
        """Stops the chosen job."""
        self.acts.cancel()

    def action_matter(self, by: int) -> None:
        """The next matter, or the one before."""
        if self.channels:
            at = self.channels.index(self.channel) if self.channel in self.channels else -by
            self.spawn(self.enter(self.channels[(at + by) % len(self.channels)]))

    def action_search(self) -> None:
        """Opens the search."""
        self.open_search()

    def action_write(self) -> None:
        """Back to where one writes; from there, or from a page, closes what is open."""
        search = self.query_one("#search", Input)
        if self.focused in (self.composer, self.side.page) or search.display:
            self.close_side()
        search.display = False
        self.screen.remove_class("listing")
        self.composer.focus()

    def action_page(self, by: int) -> None:
        """Pages the messages while one writes."""
        pane = self.messages if self.messages.display else self.side.page
        pane.action_page_lines(by)

    def action_paint(self) -> None:
        """Paints the whole screen anew."""
        self.refresh(repaint=True, layout=True)

    def action_mouse(self) -> None:
        """Switches the mouse on or off."""
        switch = getattr(self._driver, "set_mouse", None)
        if switch is None:
            self.note(self.look.words("app.no_mouse"))
            return
        on = not getattr(self._driver, "mouse", False)
        switch(on)
        self.note(self.look.words("app.mouse_on" if on else "app.mouse_off"))

    def action_empty(self) -> None:
        """Empties the line that is being written; says how to leave where there is none."""
        if self.composer.text:
            self.composer.take("")
        else:
            self.note(self.look.words("app.leave"))
