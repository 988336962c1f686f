"""The window of the app: its panes, what is said around them, and how it ends.

What the panes show stands in `bot.terminal.desk`; what lines and keys do, in `bot.terminal.acts`
and `bot.terminal.app`.
"""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
from textual.app import App, ComposeResult  # noqa: TID251 - the terminal's door
from textual.containers import Horizontal  # noqa: TID251 - the terminal's door
from textual.content import Content  # noqa: TID251 - the terminal's door
from textual.driver import Driver  # noqa: TID251 - the terminal's door
from textual.widgets import Input, Static  # noqa: TID251 - the terminal's door
from textual.worker import Worker  # noqa: TID251 - the terminal's door

from bot import conversation, failures
from bot.look import Look
from bot.outbox import Outbox
from bot.terminal.channels import Channel
from bot.terminal.checklist import Question
from bot.terminal.composer import Composer
from bot.terminal.entries import Entry
from bot.terminal.hints import hints
from bot.terminal.listing import Blocks, Listing
from bot.terminal.side import Side, View
from protocol.errors import AppError, Internal

Ask = Callable[[str], Awaitable[str | None]]
"""Asks the person one question; None when the window was closed without an answer."""


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


class Window(App[int]):
    """Panes, head and last line."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, start: Start, *, driver: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver)
        self.HORIZONTAL_BREAKPOINTS = [
            (0, "-small"), (80, "-medium"), (120, "-large"), (160, "-huge")
        ]  # fmt: skip
        self.start = start
        self.channel: Channel | None = None
        """The channel in view."""
        self.failure: BaseException | None = None
        """What ended the app, where it did not end well."""
        self._note = ""
        self.no_model = False
        """Whether every board's engine is down."""
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
        """Where one is, as whom, and how the line and the model are; with one matter, its state."""
        words, start = self.look.words, self.start
        title = "secondchair"
        if self.channel is not None:
            matter = self.channel.matter
            title = f"#{matter.id} {self.look.line(matter.title)}"
        user, host = self.look.line(start.user), self.look.line(start.host)
        who = words("app.at", user=user, host=host) if host else user
        if not start.up():
            who = words("app.line_lost")
        if self.channel is not None and len(self.matters.rows) == 1:
            who = "  ·  ".join([who, *self.channel.states()])
        if self.no_model:
            who = f"{who}  ·  {words('app.no_model')}"
        self.query_one("#top", Static).update(Content(f"{title}  ·  {who}"))

    def _keys(self) -> None:
        said = hints(self.look.words(self._pane()), self.size.width - 2)
        self.query_one("#keys", Static).update(Content(self._note) if self._note else said)

    def _pane(self) -> str:
        """The key of the hints for the pane one is in."""
        if self.focused is self.matters:
            return "app.keys_matters"
        if self.focused is self.messages:
            return "app.keys_messages"
        if self.focused is self.side.items:
            return "app.keys_queue" if self.side.view is View.QUEUE else "app.keys_findings"
        return "app.keys_page" if self.focused is self.side.page else "app.keys_compose"

    def on_descendant_focus(self) -> None:
        """The last line names the keys of the pane."""
        self._keys()

    async def ask(self, question: str) -> str | None:
        """Asks one question in a window."""
        return await self.push_screen_wait(Question(question, self.look.words("app.question_keys")))

    def close_side(self) -> None:
        """Closes what stands beside the messages."""
        self.side.close()
        self.screen.remove_class("beside")

    # --- what goes on beside the keys ---

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

    def stands(self, error: AppError) -> None:
        """Says what went wrong in the place of the messages, until a later try goes well."""
        blocks = failures.error_blocks(failures.error_value(error), self.look)
        self.messages.put([Blocks(blocks)])

    # --- how it ends ---

    def _fatal_error(self) -> None:
        """Ends without the toolkit's traceback, which would print words of a case.

        Whoever ran the app finds the error in `failure`.
        """
        self.failure = self._exception
        self._close_messages_no_wait()

    def panic(self, *renderables: object) -> None:
        """Ends in the same way."""
        self._fatal_error()
