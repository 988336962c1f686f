"""One message of a channel: the line that was typed, where its job is, then what came of it.

An entry is the face of one command, so several jobs fill in their own places at once. Replies are
kept as answers and built for the width of the moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from bot import render
from bot.blocks import Block, Line, Piece, Tone, blank, lay_out, paragraph
from bot.conversation import Conversation
from bot.look import Look
from bot.progress import Watch
from bot.visible import visible
from protocol.answers import Answer
from protocol.ids import JobId
from protocol.jobs import Job

_TYPED_LINES: Final = 8
"""Lines of what was typed that are shown; the rest is counted."""
_ASKED_CHARS: Final = 300
"""Characters of the line that stand over its reply; what was sent is whole."""
_LIVE_LINES: Final = 6
"""Lines of unverified text shown under the progress; the reply itself comes checked."""


class _Reply(msgspec.Struct, frozen=True):
    answer: Answer
    title: str
    asked: str


class Entry:
    """A command and its outcome; a `Frontend` and a row of the messages."""

    def __init__(
        self,
        line: str,
        look: Callable[[], Look],
        *,
        on_change: Callable[[Entry], None],
        ask: Callable[[str], Awaitable[str | None]],
    ) -> None:
        """Nothing came of it yet.

        Args:
            line: What was typed, or the command that shows a job of before.
            look: How to build what is shown.
            on_change: Told whenever the entry says something else.
            ask: Asks the person one question.
        """
        self.line = line
        self.job: JobId | None = None
        self.watch: Watch | None = None
        self.ended = False
        self.earlier = False
        """Whether it stands for a job of before, so that its line was not typed now."""
        self.stands_for: Job | None = None
        """That job, as it was heard of first; its words come with its reply."""
        self._look = look
        self._on_change = on_change
        self._ask = ask
        self._parts: list[Sequence[Block] | _Reply] = []

    # --- as a face ---

    @property
    def look(self) -> Look:
        """The look of now."""
        return self._look()

    def show(self, blocks: Sequence[Block]) -> None:
        """Adds blocks in the place of the progress."""
        self.watch = None
        self._parts.append(tuple(blocks))
        self._on_change(self)

    def reply(self, answer: Answer, title: str, asked: str) -> None:
        """Adds a reply in the place of the progress."""
        self.watch = None
        self.job = answer.job
        self._parts.append(_Reply(answer, title, asked))
        self._on_change(self)

    def progress(self, watch: Watch) -> None:
        """Shows where the job is, in the place of the progress before."""
        self.watch = watch
        self._on_change(self)

    async def ask(self, question: str) -> str | None:
        """One line from the person."""
        return await self._ask(question)

    # --- as a row ---

    @property
    def answer(self) -> Answer | None:
        """The reply it shows; None where there is none."""
        replies = [part for part in self._parts if isinstance(part, _Reply)]
        return replies[-1].answer if replies else None

    def renew(self, answer: Answer) -> bool:
        """Shows a reply as it is now, after a decision; False when it is not shown here."""
        found = False
        for at, part in enumerate(self._parts):
            if isinstance(part, _Reply) and part.answer.job == answer.job:
                self._parts[at] = _Reply(answer, part.title, part.asked)
                found = True
        if found:
            self._on_change(self)
        return found

    def end(self) -> None:
        """Nothing more will come."""
        self.watch = None
        self.ended = True
        self._on_change(self)

    def lines(self, width: int) -> list[Line]:
        """The entry for a width, an empty line at its end."""
        look = msgspec.structs.replace(self.look, width=width)
        blocks: list[Block] = []
        if self.answer is None and not (self.earlier and self._parts):
            blocks += _typed(self._said(look), look)
        for part in self._parts:
            if blocks and isinstance(part, _Reply):
                blocks.append(blank())
            if isinstance(part, _Reply):
                blocks += render.reply(part.answer, look, title=part.title, asked=part.asked)
            else:
                blocks += part
        lines = lay_out(blocks, width)
        if not self.ended:
            lines += _progress(self.watch, look)
        return [*lines, ()]

    def _said(self, look: Look) -> str:
        job = self.stands_for
        if job is None:
            return self.line
        return look.words("chat.earlier_job", kind=job.kind, job=job.id, user=job.user)


class Talk(Conversation):
    """A conversation whose replies go to its entry as answers, not as blocks of one width."""

    async def follow(self, job: JobId, after: int, asked: str) -> None:
        """Shows a job's events; its entry knows from now on which job it is."""
        if isinstance(self.front, Entry):
            self.front.job = job
        await super().follow(job, after, asked)

    def reply(self, answer: Answer, asked: str = "") -> None:
        """Shows a reply, which is from then on the last one."""
        if not isinstance(self.front, Entry):
            super().reply(answer, asked)
            return
        self.answer, self.job = answer, answer.job
        title = self.matter.title if self.matter and self.matter.id == answer.matter else ""
        self.front.reply(answer, title, _short(asked or render.line_of(answer)))


def _short(asked: str) -> str:
    """A line as it stands over its reply: a long paste would push the reply out of view."""
    return asked if len(asked) <= _ASKED_CHARS else asked[:_ASKED_CHARS].rstrip() + " …"


def _typed(line: str, look: Look) -> list[Block]:
    ascii_only = look.signs.ascii_only
    rows = visible(line, ascii_only=ascii_only).split("\n")
    said = "\n".join(rows[:_TYPED_LINES])
    sign = "> " if ascii_only else "› "
    blocks = [paragraph(Piece(sign, Tone.FAINT), Piece(said, Tone.STRONG), hang=3)]
    more = len(rows) - _TYPED_LINES
    if more > 0:
        said = look.words("app.more_lines", count=more)
        blocks.append(paragraph(Piece(said, Tone.FAINT), indent=3, hang=3))
    return blocks


def _progress(watch: Watch | None, look: Look) -> list[Line]:
    said = look.line(watch.line) if watch is not None else ""
    sign = ".. " if look.signs.ascii_only else "⋯ "
    blocks = [paragraph(Piece(f"{sign}{said or look.words('app.sending')}", Tone.AMBER), hang=3)]
    live = look.line(watch.live) if watch is not None else ""
    if live:
        blocks.append(paragraph(Piece(look.words("progress.unverified"), Tone.AMBER), hang=3))
        text = paragraph(Piece(live, Tone.LIVE), indent=3, hang=3)
        return lay_out(blocks, look.width) + lay_out([text], look.width)[-_LIVE_LINES:]
    return lay_out(blocks, look.width)
