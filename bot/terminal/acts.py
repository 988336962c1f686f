"""What lines and keys do in the app: which reply they act on, and where the outcome stands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from textual.events import Key  # noqa: TID251 - the terminal's door
from textual.widgets import Input  # noqa: TID251 - the terminal's door

from bot import chat, listings
from bot.blocks import Block, Piece, Tone, blank, paragraph
from bot.conversation import Conversation
from bot.look import Look
from bot.progress import Watch
from bot.slash import Name, Typed, parse
from bot.terminal.checklist import Checklist, Question
from bot.terminal.desk import Desk
from bot.terminal.entries import Entry, line_of
from bot.terminal.listing import Listing
from bot.terminal.panes import JobRow, diff_row, finding_rows
from bot.terminal.side import View
from protocol.answers import Answer
from protocol.ids import JobId

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
_PAGES: Final = {Name.OPEN: View.PAGE, Name.HEALTH: View.HEALTH, Name.DOCUMENTS: View.RECORD}
"""Commands whose outcome stands beside the messages."""


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


class Acts:
    """The commands of the app."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._words = ""
        """What was searched for last."""

    # --- what they act on ---

    @property
    def entry(self) -> Entry | None:
        """The message under the cursor."""
        row = self._desk.messages.row
        return row if isinstance(row, Entry) else None

    @property
    def answer(self) -> Answer | None:
        """The reply under the cursor; from where one writes, the newest."""
        desk = self._desk
        if desk.channel is None:
            return None
        entry = self.entry
        if entry is not None and entry.answer is not None:
            return entry.answer
        replies = [each.answer for each in desk.channel.entries if each.answer is not None]
        return replies[-1] if replies else None

    @property
    def job(self) -> JobId | None:
        """The job of the queue or of the message under the cursor, else the one at work last."""
        desk = self._desk
        if desk.side.items.has_focus and desk.side.job is not None:
            return desk.side.job.id
        if desk.messages.has_focus and self.entry is not None:
            return self.entry.job
        entries = desk.channel.entries if desk.channel is not None else []
        jobs = [(entry.ended, entry.job) for entry in entries if entry.job is not None]
        at_work = [job for ended, job in jobs if not ended]
        return at_work[-1] if at_work else jobs[-1][1] if jobs else None

    # --- lines ---

    def send(self, line: str) -> None:
        """Does what a line asks for, in the place where its outcome belongs."""
        desk, typed = self._desk, parse(line)
        if typed is None:
            return
        if typed.name is Name.QUIT:
            desk.exit(0)
        elif typed.name is Name.HELP:
            self.view(View.HELP, keep=True)
        elif desk.channel is None:
            desk.spawn(self._without_matter(line))
        elif typed.name is Name.MATTER:
            self._matter(typed)
        elif typed.name is Name.APPROVE:
            self.approve()
        elif typed.name is Name.JOBS:
            self.view(View.QUEUE, keep=True)
        elif typed.name in _PAGES:
            desk.spawn(self._beside(line, self._page_face(_PAGES[typed.name])))
        else:
            desk.add(desk.channel, line, self.answer)

    def _page_face(self, view: View) -> PageFace:
        return PageFace(self._desk, lambda blocks: self.open_page(view, "", blocks))

    async def _beside(self, line: str, face: PageFace) -> None:
        if self._desk.channel is not None:
            await self._desk.channel.carry_out(line, face, self.answer)

    async def _without_matter(self, line: str) -> None:
        start = self._desk.start
        face = self._page_face(View.PAGE)
        talk = Conversation(
            start.worker, face, start.outbox, thread=f"chat-{start.user}", new_key=start.new_key
        )
        await chat.handle(talk, line)

    def _matter(self, typed: Typed) -> None:
        desk = self._desk
        code = typed.rest.strip().removeprefix("#").upper()
        found = [channel for channel in desk.channels if channel.matter.id == code]
        if found:
            desk.spawn(desk.enter(found[0]))
        elif code and desk.channel is not None:
            desk.add(desk.channel, typed.line, None)  # says what is wrong with it
        else:
            desk.screen.add_class("listing")
            desk.matters.focus()

    # --- views ---

    def view(self, view: View, *, keep: bool = False) -> None:
        """Opens a view beside the messages; closes it if it is open, unless it is to be kept."""
        desk = self._desk
        if desk.side.view is view and not keep:
            desk.close_side()
            desk.composer.focus()
            return
        match view:
            case View.HELP:
                self.open_page(view, desk.look.words("help.title"), self._help())
            case View.FINDINGS:
                self._show_findings()
            case View.QUEUE:
                self.show_queue()
                if desk.channel is not None:
                    desk.side.items.focus()
            case View.HEALTH:
                self.send("/health")
            case View.RECORD:
                self.send("/documents")
            case _:
                pass

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

    def _show_findings(self) -> None:
        desk, answer = self._desk, self.answer
        rows = finding_rows(answer, desk.get_look) if answer is not None else []
        if answer is None or not rows:
            desk.note(desk.look.words("app.no_findings"))
            return
        desk.screen.add_class("beside")
        title = desk.look.words("app.findings", job=answer.job)
        desk.side.show_rows(View.FINDINGS, title, rows, page=True)
        desk.side.items.focus()
        self._source_soon()

    def _help(self) -> list[Block]:
        words = self._desk.look.words
        keys = [paragraph(Piece(words(key)), indent=3, hang=5) for key in _KEYS]
        head = paragraph(Piece(words("app.title_keys"), Tone.STRONG))
        return [head, *keys, blank(), *listings.commands(self._desk.look)]

    # --- findings ---

    def entry_changed(self, entry: Entry) -> None:
        """Keeps the findings with the reply they belong to."""
        side = self._desk.side
        if side.view is View.FINDINGS and entry is self.entry and entry.answer is not None:
            answer = entry.answer
            title = self._desk.look.words("app.findings", job=answer.job)
            rows = finding_rows(answer, self._desk.get_look)
            side.show_rows(View.FINDINGS, title, rows, page=True)

    def moved(self, listing: Listing) -> None:
        """The cursor stands on another row of a pane."""
        side = self._desk.side
        if listing is side.items and side.view is View.FINDINGS:
            self._source_soon()

    def chosen(self, listing: Listing) -> None:
        """A row of a pane was chosen."""
        side = self._desk.side
        if listing is self._desk.messages:
            self._show_findings()
        elif side.job is not None:
            self._show_job(side.job.id)
        elif side.finding is not None:
            self._source_soon(at_once=True)
            side.page.focus()

    def _source_soon(self, *, at_once: bool = False) -> None:
        async def fetch() -> None:
            await asyncio.sleep(0 if at_once else _REST_S)
            item = self._desk.side.finding
            if item is not None:
                face = PageFace(self._desk, self._desk.side.put_page)
                if item.diff and not at_once and self._show_diff():
                    return
                await self._beside(f"/open {item.number}", face)

        self._desk.run_worker(fetch(), group="source", exclusive=True, exit_on_error=False)

    def _show_diff(self) -> bool:
        desk, answer = self._desk, self.answer
        item = desk.side.finding
        if answer is None or item is None:
            return False
        row = diff_row(item, answer, desk.get_look)
        if row is None:
            desk.note(desk.look.words("app.no_diff", number=item.number))
            return False
        desk.side.put_page_rows([row])
        return True

    def _show_job(self, job: JobId) -> None:
        desk = self._desk
        rows = desk.messages.rows
        jobs = [row.job if isinstance(row, Entry) else None for row in rows]
        at = jobs.index(job) if job in jobs else -1
        desk.close_side()
        if at >= 0:
            desk.messages.go(at)
            desk.messages.focus()
        else:
            self.send(f"/show {job}")
            desk.composer.focus()

    # --- review ---

    def approve(self) -> None:
        """Goes through every item that is not green, then approves the reply that was shown."""
        self._desk.run_worker(self._approve(), exit_on_error=False)

    async def _approve(self) -> None:
        desk, answer = self._desk, self.answer
        if desk.channel is None or answer is None:
            return self._plainly("/approve")
        channel = desk.channel
        reasons = await desk.push_screen_wait(Checklist(answer, desk.look))
        if reasons is None:
            return None

        async def reason(question: str) -> str | None:
            return reasons.get(question)

        desk.add(channel, "/approve", answer, ask=reason)
        return None

    def give_back(self) -> None:
        """Asks for the note, then returns the reply that was shown."""
        self._desk.run_worker(self._give_back(), exit_on_error=False)

    async def _give_back(self) -> None:
        desk, answer = self._desk, self.answer
        if desk.channel is None or answer is None:
            return self._plainly("/return -")
        words = desk.look.words
        window = Question(words("app.return_title"), words("app.question_keys"))
        note = await desk.push_screen_wait(window)
        if note:
            desk.add(desk.channel, f"/return {note}", answer)
        return None

    def _plainly(self, line: str) -> None:
        """Says what a command says where there is nothing to do it with."""
        if self._desk.channel is not None:
            self._desk.add(self._desk.channel, line, None)

    # --- jobs ---

    def cancel(self) -> None:
        """Stops the job that is meant."""
        if self.job is not None:
            self.send(f"/cancel {self.job}")

    def retry(self) -> None:
        """Sends the line of the message under the cursor again."""
        entry = self.entry
        line = "" if entry is None else entry.line
        if entry is not None and entry.earlier and entry.answer is not None:
            line = line_of(entry.answer)
        typed = parse(line)
        if self._desk.channel is None or typed is None or typed.name in (Name.APPROVE, None):
            self._desk.note(self._desk.look.words("app.nothing_to_retry"))
        else:
            self.send(line)

    def reply(self) -> None:
        """Begins a question about the reply under the cursor."""
        answer = self.answer
        if answer is None:
            return
        look = self._desk.look
        asked = look.line(answer.question)
        self._desk.composer.take(look.words("app.reply_to", question=asked))
        self._desk.composer.focus()

    # --- search ---

    def find(self, words: str, by: int) -> None:
        """Goes to the next message that holds words, or the one before."""
        self._words = words.strip() or self._words
        desk, wanted = self._desk, self._words.casefold()
        if not wanted:
            return
        rows = desk.messages.rows
        width = desk.messages.size.width
        hits = [
            n for n, row in enumerate(rows)
            if isinstance(row, Entry) and wanted in row.text(width).casefold()
        ]  # fmt: skip
        if not hits:
            said = desk.look.line(self._words)
            desk.note(desk.look.words("app.not_found", words=said))
            return
        here = desk.messages.cursor
        after = [n for n in hits if (n > here if by > 0 else n < here)]
        at = (after[0] if by > 0 else after[-1]) if after else (hits[0] if by > 0 else hits[-1])
        desk.messages.go(at)
        desk.note(desk.look.words("app.found", number=hits.index(at) + 1, total=len(hits)))

    # --- single keys, where nothing is written ---

    def key(self, event: Key) -> None:
        """Letters act in every pane but where one writes."""
        desk = self._desk
        if len(desk.screen_stack) > 1 or isinstance(desk.focused, Input):
            return
        if desk.focused is desk.composer:
            return
        keys: dict[str, Callable[[], object]] = {
            "o": self._open, "d": self._show_diff, "a": self.approve, "r": self.give_back,
            "e": self._export, "c": self.cancel, "t": self.retry, "q": self.reply,
            "/": self._search, "n": self._next, "N": self._before,
        }  # fmt: skip
        doing = keys.get(event.character or "")
        if doing is not None:
            event.stop()
            doing()

    def _open(self) -> None:
        if self._desk.side.finding is not None:
            self._source_soon(at_once=True)
        else:
            self._show_findings()

    def _export(self) -> None:
        self.send("/export")

    def _search(self) -> None:
        self._desk.open_search()

    def _next(self) -> None:
        self.find("", 1)

    def _before(self) -> None:
        self.find("", -1)
