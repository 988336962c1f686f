"""The pane at the side: findings with their source page under them, the queue, or one page."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from textual.app import ComposeResult  # noqa: TID251 - the terminal's door
from textual.containers import Vertical  # noqa: TID251 - the terminal's door
from textual.content import Content  # noqa: TID251 - the terminal's door
from textual.widgets import Static  # noqa: TID251 - the terminal's door

from bot.blocks import Block
from bot.terminal.listing import Blocks, Listing, Row
from bot.terminal.panes import FindingRow, JobRow, lit_row
from protocol.answers import Answer, Finding
from protocol.jobs import Job


class View(StrEnum):
    """What the pane shows."""

    CLOSED = "closed"
    HELP = "help"
    FINDINGS = "findings"
    QUEUE = "queue"
    HEALTH = "health"
    RECORD = "record"
    PAGE = "page"


class Side(Vertical):
    """Rows to choose from above, a page below; either may be absent."""

    def __init__(self) -> None:
        super().__init__(id="side")
        self.view = View.CLOSED
        self.answer: Answer | None = None
        """The reply whose findings are open."""
        self.title_line = Static(id="side-title")
        self.items = Listing(ident="items")
        self.page = Listing(ident="page", cursor=False)

    def compose(self) -> ComposeResult:
        """Title, rows, page."""
        yield self.title_line
        yield self.items
        yield self.page

    @property
    def finding(self) -> Finding | None:
        """The finding under the cursor."""
        row = self.items.row
        return row.item if self.view is View.FINDINGS and isinstance(row, FindingRow) else None

    @property
    def job(self) -> Job | None:
        """The job under the cursor."""
        row = self.items.row
        return row.job if self.view is View.QUEUE and isinstance(row, JobRow) else None

    def close(self) -> None:
        """Shows nothing."""
        self.view = View.CLOSED
        self.answer = None
        self.display = False
        self.items.put([])
        self.page.put([])

    def show_rows(self, view: View, title: str, rows: Sequence[Row], *, page: bool) -> None:
        """Shows rows to choose from.

        Args:
            view: What they are.
            title: Says so, `visible` already.
            rows: The rows; the cursor stays where it was if the same view was open.
            page: Whether a page stands below them.
        """
        again = view is self.view
        self._open(view, title)
        self.items.display, self.page.display = True, page
        self.items.put(rows, cursor=None if again else 0)
        if not again:
            self.items.scroll_to(y=0, animate=False)
            self.page.put([])

    def show_page(self, view: View, title: str, blocks: Sequence[Block]) -> None:
        """Shows one page alone."""
        self._open(view, title)
        self.items.display, self.page.display = False, True
        self.put_page(blocks)

    def put_page(self, blocks: Sequence[Block]) -> None:
        """Puts blocks on the page, what is lit in view."""
        self.put_page_rows([Blocks([block]) for block in blocks], lit=lit_row(blocks))

    def put_page_rows(self, rows: Sequence[Row], *, lit: int = 0) -> None:
        """Puts rows on the page.

        Args:
            rows: What to show.
            lit: The row to bring into view.
        """
        self.page.put(rows)
        self.page.call_after_refresh(self.page.bring, lit)

    def _open(self, view: View, title: str) -> None:
        self.view = view
        self.answer = None
        self.display = True
        self.title_line.update(Content(title))
