"""What stands beside the messages: findings with their pages, the queue, help, one page.

Findings belong to the reply for which they were opened, whatever comes in meanwhile: what is
opened, compared or decided there is that reply's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from bot import listings
from bot.blocks import Block, Piece, Tone, blank, paragraph
from bot.look import Look
from bot.progress import Watch
from bot.terminal import chosen
from bot.terminal.desk import Desk
from bot.terminal.entries import Entry
from bot.terminal.listing import Listing
from bot.terminal.panes import JobRow, diff_row, finding_rows
from bot.terminal.side import View
from protocol.answers import Answer

_REST_S: Final = 0.12
"""Seconds the cursor rests on a finding before its page is fetched."""
_KEYS: Final = (
    "keys.send",
    "keys.panes",
    "keys.matters",
    "keys.views",
    "keys.reply",
    "keys.job",
    "keys.review",
    "keys.search",
    "keys.mouse",
    "keys.leave",
)
_TITLES: Final = {
    View.PAGE: "app.view_page",
    View.HEALTH: "app.view_health",
    View.RECORD: "app.view_record",
}


class PageFace:
    """The page at the side as a face: what is shown replaces what was there."""

    def __init__(self, desk: Desk, show: Callable[[Sequence[Block]], None]) -> None:
        self._desk = desk
        self._show = show

    @property
    def look(self) -> Look:
        """The look of now."""
        return self._desk.look

    def show(self, blocks: Sequence[Block]) -> None:
        """Puts blocks on the page."""
        self._show(blocks)

    def progress(self, watch: Watch) -> None:
        """Nothing here takes long."""

    async def ask(self, question: str) -> str | None:
        """Asks in a window."""
        return await self._desk.ask(question)


class Views:
    """The views of the app."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def page_face(self, view: View) -> PageFace:
        """A face whose blocks open as a page of their own."""
        return PageFace(self._desk, lambda blocks: self.open_page(view, "", blocks))

    async def beside(self, line: str, face: PageFace) -> None:
        """Carries out a line whose outcome stands on a page."""
        channel = self._desk.channel
        if channel is not None:
            await channel.carry_out(line, face, chosen.answer(self._desk))

    def open_page(self, view: View, title: str, blocks: Sequence[Block]) -> None:
        """Opens one page beside the messages."""
        desk = self._desk
        desk.screen.add_class("beside")
        said = title or desk.look.words(_TITLES[view])
        desk.side.show_page(view, said, blocks)
        desk.side.page.focus()

    def show_queue(self) -> None:
        """Shows the jobs of the matter as they were heard of last."""
        desk = self._desk
        if desk.channel is None:
            return
        desk.screen.add_class("beside")
        title = desk.look.words("app.queue", matter=desk.channel.matter.id)
        rows = [JobRow(job, desk.get_look) for job in desk.channel.jobs]
        desk.side.show_rows(View.QUEUE, title, rows, page=False)

    def show_findings(self) -> None:
        """Opens the findings of the chosen reply, the page of the first one under them."""
        desk, answer = self._desk, chosen.answer(self._desk)
        if answer is None or not self._findings(answer):
            desk.note(desk.look.words("app.no_findings"))
            return
        desk.side.items.focus()
        self.source_soon()

    def _findings(self, answer: Answer) -> bool:
        desk = self._desk
        rows = finding_rows(answer, desk.get_look)
        if rows:
            desk.screen.add_class("beside")
            title = desk.look.words("app.findings", job=answer.job)
            desk.side.show_rows(View.FINDINGS, title, rows, page=True)
            desk.side.answer = answer
        return bool(rows)

    def show_help(self) -> None:
        """Shows the keys and the commands."""
        self.open_page(View.HELP, self._desk.look.words("help.title"), self._help())

    def _help(self) -> list[Block]:
        words = self._desk.look.words
        keys = [paragraph(Piece(words(key)), indent=3, hang=5) for key in _KEYS]
        head = paragraph(Piece(words("app.title_keys"), Tone.STRONG))
        return [head, *keys, blank(), *listings.commands(self._desk.look)]

    # --- findings ---

    def entry_changed(self, entry: Entry) -> None:
        """Keeps the findings as their reply stands, after a decision."""
        shown, now = self._desk.side.answer, entry.answer
        if shown is not None and now is not None and now.job == shown.job and now != shown:
            self._findings(now)

    def moved(self, listing: Listing) -> None:
        """The cursor stands on another row of a pane."""
        side = self._desk.side
        if listing is side.items and side.view is View.FINDINGS:
            self.source_soon()

    def source_soon(self, *, at_once: bool = False) -> None:
        """Shows the difference or the source page of the finding under the cursor.

        Args:
            at_once: Whether it was asked for: no rest first, and the page even of a difference.
        """

        async def fetch() -> None:
            await asyncio.sleep(0 if at_once else _REST_S)
            item = self._desk.side.finding
            if item is not None:
                face = PageFace(self._desk, self._desk.side.put_page)
                if item.diff and not at_once and self.show_diff():
                    return
                await self.beside(f"/open {item.number}", face)

        self._desk.spawn(fetch(), instead="source")

    def show_diff(self) -> bool:
        """Puts record and reply side by side; False where there is nothing to compare."""
        desk, answer = self._desk, self._desk.side.answer
        item = desk.side.finding
        if answer is None or item is None:
            return False
        row = diff_row(item, answer, desk.get_look)
        if row is None:
            desk.note(desk.look.words("app.no_diff", number=item.number))
            return False
        desk.side.put_page_rows([row])
        return True
