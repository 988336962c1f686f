"""A matter as a channel: its messages, its draft, its jobs, what is new in it.

Nothing here is kept: the worker has the jobs and their replies, so a channel that is opened again
fills itself from them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from bot import chat
from bot.blocks import Line, Piece, Tone, lay_out, paragraph
from bot.conversation import Frontend, Worker
from bot.look import Look
from bot.outbox import Outbox
from bot.terminal.entries import Entry, Talk
from protocol.answers import Answer, ReviewState
from protocol.ids import JobId
from protocol.jobs import Job, Jobs, JobState, KeepPlace, ListJobs
from protocol.record import DocumentInfo, Matter

ENDED: Final = frozenset({JobState.DONE, JobState.FAILED, JobState.STOPPED})
_AT_ONCE: Final = 12
"""Jobs of before that a channel shows when it opens; the rest comes on asking for it."""
_MOST_JOBS: Final = 200
"""Jobs asked for when a channel opens."""
_NEWEST_JOBS: Final = 20
"""Jobs asked for when it is only looked at for what is new."""
_LOADS_AT_ONCE: Final = 3
MOST_KEPT_CHARS: Final = 60_000
"""Of an unsent line; a frame to the worker holds 256 KiB."""
_PENDING: Final = 200


class Shared(NamedTuple):
    """What every channel of one person shares."""

    worker: Worker
    outbox: Outbox
    thread: str
    new_key: Callable[[], str]


class Channel:
    """One matter; a row of the list of matters."""

    def __init__(
        self,
        matter: Matter,
        shared: Shared,
        look: Callable[[], Look],
        *,
        new_entry: Callable[[Channel, str], Entry],
        on_new: Callable[[Channel, Entry], None],
    ) -> None:
        """Nothing is asked of the worker yet.

        Args:
            matter: The matter.
            shared: The line, the outbox, the thread.
            look: How to build what is shown.
            new_entry: Makes an entry that tells the app of its changes.
            on_new: Told when an entry stands at the end of the channel.
        """
        self.matter = matter
        self.entries: list[Entry] = []
        self.jobs: tuple[Job, ...] = ()
        self.draft = ""
        self.unread = 0
        self.opened = False
        self.documents: tuple[DocumentInfo, ...] = ()
        self._shared = shared
        self._look = look
        self._new_entry = new_entry
        self._on_new = on_new
        self._known: set[JobId] | None = None
        self._slots = asyncio.Semaphore(_LOADS_AT_ONCE)
        self._older = 0
        self.place: KeepPlace | None = None
        """Where this person was when the worker last heard of it."""

    # --- commands ---

    def talk(self, front: Frontend, answer: Answer | None) -> Talk:
        """A conversation of this matter on a face, with the reply that commands act on."""
        shared = self._shared
        made = Talk(
            shared.worker, front, shared.outbox, thread=shared.thread, new_key=shared.new_key
        )
        made.bind(self.matter)
        made.documents = self.documents
        made.answer = answer
        made.job = answer.job if answer is not None else self.last_job
        return made

    async def carry_out(self, line: str, front: Frontend, answer: Answer | None) -> Answer | None:
        """Carries a line out on a face; gives the reply it left as the last one."""
        talk = self.talk(front, answer)
        await chat.handle(talk, line)
        self.documents = talk.documents or self.documents
        return talk.answer

    async def run(self, entry: Entry, answer: Answer | None) -> None:
        """Carries out the line of an entry, which ends with it."""
        try:
            before = answer
            after = await self.carry_out(entry.line, entry, answer)
        finally:
            entry.end()
        if after is not None and before is not None and after.job == before.job:
            self.renew(after)

    def renew(self, answer: Answer) -> None:
        """Shows a reply as it stands now wherever it is shown."""
        for entry in self.entries:
            entry.renew(answer)

    # --- what was here before, and what comes from elsewhere ---

    async def look_in(self) -> None:
        """Asks the worker for the jobs; one that is new becomes an entry or counts as unread.

        Raises:
            AppError: The worker is away.
        """
        most = _NEWEST_JOBS if self.jobs else _MOST_JOBS
        result = await self._shared.worker.call(ListJobs(matter=self.matter.id, most=most))
        assert isinstance(result, Jobs)
        heard = {job.id: job for job in (*self.jobs, *result.jobs)}
        self.jobs = tuple(heard[ident] for ident in sorted(heard, reverse=True))
        ended = {job.id for job in self.jobs if job.state in ENDED}
        if self._known is None:
            missed = set(self._shared.outbox.unfinished(self._key))
            if self.place is not None:
                seen, pending = self.place.seen or "", self.place.pending
                missed |= {job for job in ended if job > seen or job in pending}
            self._known = ended - missed
        new = ended - self._known
        if not self.opened:
            self.unread = len(new)
            return
        shown = {entry.job for entry in self.entries}
        waiting = any(entry.job is None and not entry.ended for entry in self.entries)
        if waiting:  # one of them may be an entry's own, which learns its job's id in a moment
            return
        newest = [job for job in self.jobs if job.id not in shown]
        since = max((job for job in shown if job), default="")
        for job in reversed([job for job in newest if job.id > since]):
            self._on_new(self, self._earlier(job))

    def place_now(self) -> KeepPlace | None:
        """Where this person is, to be kept; None before the channel knows its jobs."""
        if self._known is None:
            return self.place and msgspec.structs.replace(self.place, draft=self._kept_draft)
        seen = max(self._known, default=None)
        older = [job.id for job in self.jobs if seen is not None and job.id < seen]
        pending = tuple(job for job in older if job not in self._known)[:_PENDING]
        return KeepPlace(matter=self.matter.id, draft=self._kept_draft, seen=seen, pending=pending)

    @property
    def _kept_draft(self) -> str:
        """What is being written; nothing of what is too long to be kept whole."""
        return self.draft if len(self.draft) <= MOST_KEPT_CHARS else ""

    async def open(self) -> list[Entry]:
        """The entries of the newest jobs, oldest first; each fills itself once it is `run`.

        Raises:
            AppError: The worker is away.
        """
        await self.look_in()
        self.opened = True
        return self.older()

    def older(self) -> list[Entry]:
        """Entries of the next older jobs, put above those that are here."""
        shown = {entry.job for entry in self.entries}
        rest = [job for job in self.jobs[self._older :] if job.id not in shown]
        self._older += _AT_ONCE
        made = [self._earlier(job) for job in reversed(rest[:_AT_ONCE])]
        self.entries[:0] = made
        return made

    async def fill(self, entry: Entry) -> None:
        """Shows the job of an entry of before: its reply, or its events while it is at work."""
        job = next((job for job in self.jobs if job.id == entry.job), None)
        if job is None or job.state in ENDED:
            async with self._slots:
                await self.run(entry, None)
        else:
            await self.run(entry, None)
        if job is not None and job.state in ENDED:
            self._shared.outbox.shown(self._key, job.id, max(1, job.last_seq), last=True)
        if self._known is not None and entry.job is not None:
            self._known.add(entry.job)

    def _earlier(self, job: Job) -> Entry:
        entry = self._new_entry(self, f"/show {job.id}")
        entry.stands_for = job
        entry.job, entry.earlier = job.id, True
        return entry

    @property
    def _key(self) -> str:
        return f"{self._shared.thread}/{self.matter.id}"

    # --- what the list of matters says ---

    @property
    def last_job(self) -> JobId | None:
        """The job that stands last in the channel."""
        return next((entry.job for entry in reversed(self.entries) if entry.job), None)

    def read(self) -> None:
        """The person has seen what is here."""
        self.unread = 0
        if self._known is not None:
            self._known |= {job.id for job in self.jobs if job.state in ENDED}

    def states(self) -> list[str]:
        """How many jobs are at work and how many replies wait for a reviewer, where any are."""
        words = self._look().words
        at_work = sum(job.state not in ENDED for job in self.jobs)
        drafts = sum(job.review is ReviewState.AWAITING for job in self.jobs)
        said = [words("app.at_work", count=at_work)] if at_work else []
        return said + ([words("app.drafts", count=drafts)] if drafts else [])

    def lines(self, width: int) -> list[Line]:
        """Code and unread mark, title, state."""
        look = self._look()
        words = look.words
        sign = "*" if look.signs.ascii_only else "●"
        head = [Piece(f"#{self.matter.id}", Tone.STRONG, whole=True)]
        if self.unread:
            new = words("app.unread", count=self.unread)
            head.append(Piece(f"  {sign} {new}", Tone.AMBER, whole=True))
        state = self.states()
        title = look.line(self.matter.title)
        blocks = [paragraph(*head, hang=2), paragraph(Piece(title), indent=2, hang=2)]
        if state:
            blocks.append(paragraph(Piece(" · ".join(state), Tone.FAINT), indent=2, hang=2))
        return [*lay_out(blocks, width), ()]
