"""What lines and keys do in the app, and where the outcome stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.events import Key  # noqa: TID251 - the terminal's door
from textual.widgets import Input  # noqa: TID251 - the terminal's door

from bot import chat, deciding, render
from bot.conversation import Conversation
from bot.slash import Name, Typed, parse
from bot.terminal import chosen
from bot.terminal.checklist import Checklist, Question
from bot.terminal.desk import Desk
from bot.terminal.entries import Entry
from bot.terminal.listing import Listing
from bot.terminal.side import View
from bot.terminal.views import Views
from protocol.answers import Answer
from protocol.ids import JobId

_PAGES: Final = {Name.OPEN: View.PAGE, Name.HEALTH: View.HEALTH, Name.DOCUMENTS: View.RECORD}
"""Commands whose outcome stands beside the messages."""


class Acts:
    """The commands of the app."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.views = Views(desk)
        self._words = ""
        """What was searched for last."""
        self._opened: dict[JobId, Answer] = {}
        """Replies whose words were opened to be edited, as they were shown then."""

    # --- lines ---

    def send(self, line: str) -> None:
        """Does what a line asks for, in the place where its outcome belongs."""
        desk, typed = self._desk, parse(line)
        if typed is None:
            return
        if typed.name is Name.QUIT:
            desk.action_leave()
        elif typed.name is Name.HELP:
            self.view(View.HELP, keep=True)
        elif desk.channel is None:
            desk.spawn(self._without_matter(line))
        elif typed.name is Name.MATTER:
            self._matter(typed)
        elif typed.name is Name.APPROVE:
            self.approve()
        elif typed.name is Name.EDIT and not typed.rest:
            self.edit()
        elif typed.name is Name.EDIT:
            desk.add(desk.channel, line, self._edited(typed))
        elif typed.name is Name.JOBS:
            self.view(View.QUEUE, keep=True)
        elif typed.name in _PAGES:
            face = self.views.page_face(_PAGES[typed.name])
            desk.spawn(self.views.beside(line, face))
        else:
            desk.add(desk.channel, line, chosen.answer(self._desk))

    async def _without_matter(self, line: str) -> None:
        start = self._desk.start
        face = self.views.page_face(View.PAGE)
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
            desk.close_side()
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
                self.views.show_help()
            case View.FINDINGS:
                self.views.show_findings()
            case View.QUEUE:
                self.views.show_queue()
                if desk.channel is not None:
                    desk.side.items.focus()
            case View.HEALTH:
                self.send("/health")
            case View.RECORD:
                self.send("/documents")
            case _:
                pass

    def choose(self, listing: Listing) -> None:
        """A row of a pane was chosen."""
        side = self._desk.side
        if listing is self._desk.messages:
            self.views.show_findings()
        elif side.job is not None:
            self._show_job(side.job.id)
        elif side.finding is not None:
            self.views.source_soon(at_once=True)
            side.page.focus()

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
        self._desk.spawn(self._approve())

    async def _approve(self) -> None:
        desk, answer = self._desk, chosen.answer(self._desk)
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
        self._desk.spawn(self._give_back())

    async def _give_back(self) -> None:
        desk, answer = self._desk, chosen.answer(self._desk)
        if desk.channel is None or answer is None:
            return self._plainly("/return -")
        words = desk.look.words
        window = Question(words("app.return_title"), words("app.question_keys"))
        note = await desk.push_screen_wait(window)
        if note:
            desk.add(desk.channel, f"/return {note}", answer)
        return None

    def edit(self) -> None:
        """Opens the words of the reply that was shown where one writes."""
        answer = chosen.answer(self._desk)
        if answer is None:
            return self._plainly("/edit")
        self._opened[answer.job] = answer
        self._desk.composer.take(deciding.edit_line(answer))
        self._desk.composer.focus()
        return None

    def _edited(self, typed: Typed) -> Answer | None:
        """The reply that a line edits: as it was when its words were opened."""
        job, _ = deciding.edited_job(typed)
        if job is None:
            return chosen.answer(self._desk)
        answer, channel = self._opened.get(job), self._desk.channel
        here = answer is not None and channel is not None and answer.matter == channel.matter.id
        return answer if here else chosen.answer(self._desk)

    def _plainly(self, line: str) -> None:
        """Says what a command says where there is nothing to do it with."""
        if self._desk.channel is not None:
            self._desk.add(self._desk.channel, line, None)

    # --- jobs ---

    def cancel(self) -> None:
        """Stops the job that is meant."""
        job = chosen.job(self._desk)
        if job is not None:
            self.send(f"/cancel {job}")

    def retry(self) -> None:
        """Sends the line of the message under the cursor again."""
        entry = chosen.entry(self._desk)
        line = "" if entry is None else entry.line
        if entry is not None and entry.earlier and entry.answer is not None:
            line = render.line_of(entry.answer)
        typed = parse(line)
        if self._desk.channel is None or typed is None or typed.name in (Name.APPROVE, None):
            self._desk.note(self._desk.look.words("app.nothing_to_retry"))
        else:
            self.send(line)

    def reply(self) -> None:
        """Begins a question about the reply under the cursor."""
        answer = chosen.answer(self._desk)
        if answer is None:
            return
        look = self._desk.look
        asked = look.line(answer.question)
        self._desk.composer.take(look.words("app.reply_to", question=asked))
        self._desk.composer.focus()

    # --- search ---

    def find(self, words: str, by: int) -> None:
        """Goes to the next place in the messages that holds words, or the one before."""
        self._words = words.strip() or self._words
        desk, look = self._desk, self._desk.look
        if not self._words:
            return
        hit = desk.messages.search(self._words, by)
        if hit is None:
            desk.note(look.words("app.not_found", words=look.line(self._words)))
        else:
            desk.note(look.words("app.found", number=hit[0], total=hit[1]))

    # --- single keys, where nothing is written ---

    def key(self, event: Key) -> None:
        """Letters act in every pane but where one writes."""
        desk = self._desk
        if len(desk.screen_stack) > 1 or isinstance(desk.focused, Input):
            return
        if desk.focused is desk.composer:
            return
        keys: dict[str, Callable[[], object]] = {
            "o": self._open, "d": self._compare, "a": self.approve, "r": self.give_back,
            "e": self._export, "c": self.cancel, "t": self.retry, "q": self.reply, "w": self.edit,
            "/": self._search, "n": self._next, "N": self._before,
        }  # fmt: skip
        doing = keys.get(event.character or "")
        if doing is not None:
            event.stop()
            doing()

    def _open(self) -> None:
        if self._desk.side.finding is not None:
            self.views.source_soon(at_once=True)
        else:
            self.views.show_findings()

    def _compare(self) -> None:
        if self._desk.side.finding is not None:
            self.views.show_diff()
        else:
            self.views.show_findings()

    def _export(self) -> None:
        self.send("/export")

    def _search(self) -> None:
        self._desk.open_search()

    def _next(self) -> None:
        self.find("", 1)

    def _before(self) -> None:
        self.find("", -1)
