"""Where lines are written: several lines long, with completion, history in memory, whole pastes.

Enter sends; Ctrl-J or Alt-Enter begins a new line. What was typed is written to no disk on this
side.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

from textual.binding import Binding, BindingType  # noqa: TID251 - the terminal's door
from textual.events import Key, Paste  # noqa: TID251 - the terminal's door
from textual.message import Message  # noqa: TID251 - the terminal's door
from textual.widgets import TextArea  # noqa: TID251 - the terminal's door

from bot.slash import candidates
from bot.visible import visible

_KEPT: Final = re.compile(r"([\t\n])")
MOST_LINES: Final = 8
"""Lines of the composer that are in view at most."""


class Composer(TextArea):
    """The input of the app."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,alt+enter", "new_line", show=False, priority=True),
        Binding("pageup", "screen.page(-1)", show=False, priority=True),
        Binding("pagedown", "screen.page(1)", show=False, priority=True),
    ]

    class Sent(Message):
        """A line was finished."""

        def __init__(self, line: str) -> None:
            self.line = line
            super().__init__()

    class Typing(Message):
        """What may complete the line changed."""

        def __init__(self, words: list[str]) -> None:
            self.words = words
            super().__init__()

    def __init__(self) -> None:
        super().__init__(
            id="composer", soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False
        )
        self._history: list[str] = []
        self._at: int | None = None
        self._kept = ""
        self._words: list[str] = []

    # --- what is in it ---

    def take(self, text: str) -> None:
        """Replaces what is in it, the cursor at the end."""
        self.text = text
        self.move_cursor(self.document.end)
        self._complete()

    def remember(self, line: str) -> None:
        """Puts a line where the arrow keys find it."""
        if line.strip() and (not self._history or self._history[-1] != line):
            self._history.append(line)
        self._at = None

    @property
    def words(self) -> list[str]:
        """What may complete the word at the cursor."""
        return self._words

    # --- keys ---

    async def _on_key(self, event: Key) -> None:
        handled = True
        row, _ = self.cursor_location
        match event.key:
            case "enter":
                self.post_message(self.Sent(self.text))
            case "tab" if self._words:
                self.complete()
            case "up" if row == 0 and not self.selected_text and self._back(-1):
                pass
            case "down" if row == self.document.line_count - 1 and self._back(1):
                pass
            case _:
                handled = False
        if handled:
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    async def _on_paste(self, event: Paste) -> None:
        """Takes a paste whole; what a terminal would obey is made visible first."""
        event.prevent_default()
        event.stop()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        text = "".join(p if p in ("\t", "\n") else visible(p) for p in _KEPT.split(text))
        result = self._replace_via_keyboard(text, *self.selection)
        if result is not None:
            self.move_cursor(result.end_location)

    def action_new_line(self) -> None:
        """Begins a new line."""
        self.insert("\n")

    def complete(self) -> None:
        """Completes the word as far as all candidates agree; there, takes the first."""
        if not self._words:
            return
        row, column = self.cursor_location
        before = self.document[row][:column]
        start = before.rfind(" ") + 1
        common = _common(self._words)
        word = before[start:]
        said = self._words[0] if len(self._words) == 1 or common == word else common
        end = " " if said == self._words[0] and (len(self._words) == 1 or common == word) else ""
        self.replace(said + end, (row, start), (row, column))
        self._complete()

    def on_text_area_changed(self) -> None:
        """Follows what is typed."""
        self._complete()

    def _complete(self) -> None:
        row, column = self.cursor_location
        before = self.document[row][:column] if row == 0 else ""
        words = [word for word in candidates(before) if word != before]
        if words != self._words:
            self._words = words
            self.post_message(self.Typing(words))

    def _back(self, by: int) -> bool:
        """Shows the line of history before or after; False where there is none."""
        at = len(self._history) if self._at is None else self._at
        to = at + by
        if not 0 <= to <= len(self._history) or (self._at is None and by > 0):
            return False
        if self._at is None:
            self._kept = self.text
        self._at = None if to == len(self._history) else to
        self.text = self._kept if self._at is None else self._history[to]
        self.move_cursor(self.document.end)
        return True


def _common(words: list[str]) -> str:
    first, last = min(words), max(words)
    at = 0
    while at < len(first) and at < len(last) and first[at] == last[at]:
        at += 1
    return first[:at]
