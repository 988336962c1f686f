"""A pane of rows laid out for its width: only the lines in view are painted, a resize wraps anew.

Every pane of the app is one of these. Rows give lines that are `visible` already, laid out by
`bot.blocks`, so that widths and marks are the same as in the plain chat.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType  # noqa: TID251 - the terminal's door
from textual.events import Click, Resize  # noqa: TID251 - the terminal's door
from textual.geometry import Region, Size  # noqa: TID251 - the terminal's door
from textual.message import Message  # noqa: TID251 - the terminal's door
from textual.scroll_view import ScrollView  # noqa: TID251 - the terminal's door
from textual.strip import Strip  # noqa: TID251 - the terminal's door

from bot.blocks import Block, Line, lay_out
from bot.terminal import paint


class Row(Protocol):
    """Something that can say itself in lines of at most a number of cells."""

    def lines(self, width: int) -> list[Line]:
        """The lines for a width in cells."""
        ...


class Blocks:
    """A row made of blocks that do not change."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = tuple(blocks)

    def lines(self, width: int) -> list[Line]:
        """The blocks, laid out."""
        return lay_out(self.blocks, width)


class Listing(ScrollView, can_focus=True):
    """Rows one below the other, with a cursor on one of them.

    A pane that stands at its end stays there when rows grow, as a chat does (`follows`). Of a last
    row that is taller than the pane, the beginning is shown.
    """

    DEFAULT_CSS = """
    Listing { overflow-y: scroll; overflow-x: hidden; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup,b", "page_lines(-1)", show=False),
        Binding("pagedown,space", "page_lines(1)", show=False),
        Binding("home,g", "edge(-1)", show=False),
        Binding("end,G", "edge(1)", show=False),
        Binding("enter", "choose", show=False),
    ]

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, listing: Listing) -> None:
            self.listing = listing
            super().__init__()

        @property
        def control(self) -> Listing:
            """The pane it happened in."""
            return self.listing

    class Chosen(Moved):
        """The row under the cursor was chosen."""

    class AtTop(Moved):
        """The person wants to see what is above the first row."""

    def __init__(self, *, ident: str, follows: bool = False, cursor: bool = True) -> None:
        """An empty pane.

        Args:
            ident: Its name for styles and look-ups.
            follows: Whether it keeps to its end while it stands there.
            cursor: Whether rows can be chosen; without it the keys scroll.
        """
        super().__init__(id=ident)
        self.follows = follows
        self.has_cursor = cursor
        self.cursor = 0
        self._found = -1
        self._rows: list[Row] = []
        self._laid: list[list[Line]] = []
        self._tops: list[int] = [0]
        self._width = 0

    # --- rows ---

    @property
    def rows(self) -> Sequence[Row]:
        """What is shown, from the top."""
        return self._rows

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    def put(self, rows: Sequence[Row], *, cursor: int | None = None, end: bool = False) -> None:
        """Replaces all rows.

        Args:
            rows: What to show.
            cursor: Where the cursor stands; None leaves it where it was, as far as there are rows.
            end: Whether to stand at the end.
        """
        self._rows = list(rows)
        last = max(0, len(self._rows) - 1)
        self.cursor = min(self.cursor if cursor is None else cursor, last)
        if end:
            self.cursor = last
        self._lay_all()
        if end:
            self._to_end()

    def renewed(self, row: Row) -> None:
        """Lays a row out again that says something else now."""
        at = next((n for n, each in enumerate(self._rows) if each is row), None)
        if at is None:
            return
        bottom = self._at_end()
        self._laid[at] = row.lines(self._room)
        self._measure()
        if bottom and self.follows:
            self._to_end()
        self.refresh()

    def append(self, row: Row, *, go: bool = True) -> None:
        """Adds a row at the end.

        Args:
            row: What to add.
            go: Whether to go there even from elsewhere.
        """
        follows = self.follows and (go or self._at_end())
        self._rows.append(row)
        self._laid.append(row.lines(self._room))
        self._measure()
        if follows:
            self.cursor = len(self._rows) - 1
            self._to_end()
        self.refresh()

    # --- the toolkit's side ---

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        width = self.scrollable_content_region.width
        at = y + round(self.scroll_offset.y)
        base = self.rich_style
        if not 0 <= at < self._tops[-1]:
            return Strip.blank(width, base)
        number = bisect_right(self._tops, at) - 1
        line = self._laid[number][at - self._tops[number]]
        chosen = self.has_cursor and number == self.cursor
        gutter = "▌" if chosen and self.has_focus else " "
        ground = chosen and self.has_focus
        return paint.strip(line, width, gutter=gutter, chosen=ground).apply_style(base)

    def on_resize(self, event: Resize) -> None:
        """Wraps anew; a pane that stood at its end still does."""
        if self._room != self._width:
            bottom = self._at_end() or not self._width
            top = self._row_at_top()
            self._lay_all()
            if bottom and self.follows:
                self._to_end()
            elif top < len(self._rows):
                self.scroll_to(y=self._tops[top], animate=False)
        elif self.follows and self.has_cursor and self.cursor == len(self._rows) - 1:
            self._to_end()

    def on_focus(self) -> None:
        """Shows the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hides the cursor."""
        self.refresh()

    def on_click(self, event: Click) -> None:
        """Puts the cursor where the mouse was pressed, where the mouse is on at all."""
        at = event.y + round(self.scroll_offset.y)
        if self.has_cursor and 0 <= at < self._tops[-1]:
            self._put_cursor(bisect_right(self._tops, at) - 1)

    # --- keys ---

    def action_move(self, by: int) -> None:
        """One row up or down; inside a row that is taller than the pane, one line."""
        if not self.has_cursor or not self._rows:
            self.scroll_to(y=self.scroll_offset.y + by, animate=False)
            return
        top, bottom = self._tops[self.cursor], self._tops[self.cursor + 1]
        seen_from = self.scroll_offset.y
        seen_to = seen_from + self.scrollable_content_region.height
        if by > 0 and bottom > seen_to and bottom - top > seen_to - seen_from:
            self.scroll_to(y=seen_from + 1, animate=False)
        elif by < 0 and top < seen_from and bottom - top > seen_to - seen_from:
            self.scroll_to(y=seen_from - 1, animate=False)
        elif by < 0 and self.cursor == 0:
            self.post_message(self.AtTop(self))
        else:
            self._put_cursor(self.cursor + by)

    def action_page_lines(self, by: int) -> None:
        """A page up or down."""
        if by < 0 and self.scroll_offset.y == 0:
            self.post_message(self.AtTop(self))
        height = max(1, self.scrollable_content_region.height - 2)
        self.scroll_to(y=self.scroll_offset.y + by * height, animate=False)

    def action_edge(self, by: int) -> None:
        """To the first or the last row."""
        if self.has_cursor:
            self._put_cursor(0 if by < 0 else len(self._rows) - 1)
        self.scroll_to(y=0 if by < 0 else self._tops[-1], animate=False)

    def action_choose(self) -> None:
        """Chooses the row under the cursor."""
        if self.row is not None:
            self.post_message(self.Chosen(self))

    def go(self, number: int) -> None:
        """Puts the cursor on a row and shows it."""
        self._put_cursor(number)

    def bring(self, number: int) -> None:
        """Scrolls until a row stands a third below the top; the cursor stays."""
        top = self._tops[min(number, len(self._rows))]
        above = self.scrollable_content_region.height // 3
        self.scroll_to(y=max(0, top - above), animate=False)

    def search(self, words: str, by: int) -> tuple[int, int] | None:
        """Goes to the next line at which words begin, or the one before, around the ends.

        Args:
            words: What to look for; case and line ends do not matter.
            by: 1 for the next one, -1 for the one before.

        Returns:
            Which one it is, from 1, and how many there are; None where there is none.
        """
        hits = self._lines_with(" ".join(words.split()).casefold())
        if not hits:
            return None
        here = self._found if self._found in hits else self._tops[self.cursor] - (by > 0)
        after = [line for line in hits if (line > here if by > 0 else line < here)]
        line = (after or hits)[0 if by > 0 else -1]
        self._put_cursor(bisect_right(self._tops, line) - 1)
        above = self.scrollable_content_region.height // 3
        self.scroll_to(y=max(0, line - above), animate=False)
        self._found = line
        return hits.index(line) + 1, len(hits)

    def _lines_with(self, wanted: str) -> list[int]:
        hits: dict[int, None] = {}
        for number, lines in enumerate(self._laid):
            text, starts = "", []
            for line in lines:
                starts.append(len(text))
                said = " ".join("".join(piece.text for piece in line).split()).casefold()
                text += f"{said} " if said else ""
            at = text.find(wanted)
            while at >= 0 and wanted:
                hits[self._tops[number] + bisect_right(starts, at) - 1] = None
                at = text.find(wanted, at + 1)
        return list(hits)

    # --- inside ---

    @property
    def _room(self) -> int:
        return max(20, self.scrollable_content_region.width - 2)

    def _put_cursor(self, number: int) -> None:
        number = max(0, min(number, len(self._rows) - 1))
        moved = number != self.cursor
        self.cursor = number
        if self._rows:
            top, bottom = self._tops[number], self._tops[number + 1]
            height = min(bottom - top, max(1, self.scrollable_content_region.height))
            self.scroll_to_region(Region(0, top, 1, height), animate=False, force=True)
        if moved:
            self.post_message(self.Moved(self))
        self.refresh()

    def _lay_all(self) -> None:
        self._width = self._room
        self._laid = [row.lines(self._width) for row in self._rows]
        self._measure()
        self.refresh()

    def _measure(self) -> None:
        tops = [0]
        for lines in self._laid:
            tops.append(tops[-1] + len(lines))
        self._tops = tops
        self.virtual_size = Size(self.scrollable_content_region.width, tops[-1])

    def _row_at_top(self) -> int:
        return bisect_right(self._tops, round(self.scroll_offset.y)) - 1

    def _end(self) -> int:
        """The line on top when the end is in view: the last row's first one where it is tall."""
        if not self._rows:
            return 0
        last = self._tops[-1] - self.scrollable_content_region.height
        return max(0, min(last, self._tops[-2]))

    def _at_end(self) -> bool:
        top = round(self.scroll_offset.y)
        height = self.scrollable_content_region.height
        return abs(top - self._end()) <= 1 or top + height >= self._tops[-1] - 1

    def _to_end(self) -> None:
        self.scroll_to(y=self._end(), animate=False, force=True)
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        """Once the size is known to the toolkit, the end is where it should be."""
        self.scroll_to(y=self._end(), animate=False, force=True)
