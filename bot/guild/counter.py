"""What the commands and buttons do: each is acknowledged, allowed, done and answered, in one place.

Nothing here sends anything itself: answers are templates, and the gate decides what leaves.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any, Final

import discord  # noqa: TID251
import msgspec

from bot.findings import findings
from bot.guild import shape
from bot.guild.buttons import NO_VERSION, VERSION_CHARS, Act, Press
from bot.guild.deliveries import Deliveries, Delivery
from bot.guild.desk import Desk
from bot.guild.gate import Counted, Fixed, Listing, Parts, Prose, Said, Status, Template, Written
from bot.guild.post import Post
from bot.guild.rights import ActingLine, Asker, Grant, authorize
from bot.guild.settings import GuildSettings, Mode
from bot.look import Look
from bot.words import Words
from protocol.answers import Answer, ReviewState
from protocol.errors import AppError, BadRequest, Conflict, NotFound, Refused, Unavailable
from protocol.ids import JobId, job_id
from protocol.jobs import (
    Cancel,
    Documents,
    Export,
    Exported,
    Health,
    HealthIs,
    Job,
    Jobs,
    JobState,
    ListDocuments,
    ListJobs,
    WorkRequest,
)

MESSAGE: Final = "message-"
"""Begins the key of a request that was a plain message: what was cut off is read there again."""
LISTED: Final = 10
"""Jobs in a list."""
_BUTTONS: Final = 5
"""Buttons in one row."""
_AT_WORK: Final = frozenset({JobState.WAITING, JobState.RUNNING})
_COUNTED: Final = 200
"""Jobs that are counted; the box gives no more at once."""
_WATCH_S: Final = 1800.0
_WATCH: Final = "watch"
_NOTHING: Final = Fixed(said=Said.NOT_FOUND)


class Answering(msgspec.Struct, frozen=True, kw_only=True):
    """A private answer."""

    template: Template
    presses: tuple[Press, ...] = ()


Doing = Callable[[Grant], Awaitable[Answering]]


class Counter:
    """Where people are served."""

    def __init__(
        self,
        line: ActingLine,
        post: Post,
        store: Deliveries,
        desk: Desk,
        settings: GuildSettings,
        *,
        words: Words,
        look: Look,
        trouble: Callable[[str], None],
        watch_every_s: float = 3.0,
    ) -> None:
        """Joins the parts; see `Desk`.

        Args:
            watch_every_s: Seconds between looks for a job that is asked for in the terminal.
        """
        self.line = line
        self.post = post
        self.store = store
        self.desk = desk
        self.settings = settings
        self.words = words
        self.look = look
        self.trouble = trouble
        self._watch_every_s = watch_every_s

    def start(self) -> None:
        """Goes on looking for what was announced before a restart."""
        for name, value in self.store.facts(_WATCH):
            _, channel, account = name.split(" ")
            self.desk.run(self._watch(channel, account, value))

    # --- serving ---

    async def serve(self, interaction: discord.Interaction[Any], doing: Doing) -> None:
        """Acknowledges, lets the asker in or not, does it, and answers him alone."""
        if not await self.post.acknowledge(interaction):
            return
        answering = await self.outcome(asker_of(interaction), doing)
        await self.post.answer(interaction, answering.template, answering.presses)

    async def outcome(self, asker: Asker, doing: Doing) -> Answering:
        """What somebody is told, whatever happens."""
        try:
            grant = await self.let_in(asker)
            return await doing(grant)
        except AppError as error:
            return Answering(template=self.told(error))
        except Exception as error:  # ours to mend; he gets a code, the log a kind
            self.trouble(type(error).__name__)
            return Answering(template=Fixed(said=Said.INTERNAL))

    async def let_in(self, asker: Asker, within_s: float = 60.0) -> Grant:
        """The grant of somebody here. Raises `AppError`; `Refused` reads like absence."""
        server = self.settings.server
        return await authorize(self.line, self.store, asker, server=server, within_s=within_s)

    def told(self, error: AppError) -> Template:
        """An error as it may be told: a code; in a full server, what to mend about a request."""
        match error:
            case Refused() | NotFound():
                return _NOTHING
            case Conflict():
                return Fixed(said=Said.STALE)
            case Unavailable():
                return Fixed(said=Said.UNAVAILABLE)
            case BadRequest() if self.settings.mode is Mode.FULL:
                said = f"{error.message}; {error.next_step}" if error.next_step else error.message
                return Prose(text=shape.escaped(self.look.line(said))[: shape.PART_CHARS])
            case BadRequest():
                return Fixed(said=Said.REFUSED_STATE)
            case _:
                return Fixed(said=Said.INTERNAL)

    # --- commands ---

    async def announce(self, grant: Grant, said: Said) -> Answering:
        """Strict: words are typed in the terminal; what comes of them is announced here."""
        channel, account = grant.bound.channel, grant.account
        newest = await self.jobs_of(grant, most=1)
        after = newest[0].id if newest else ""
        until = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=_WATCH_S)
        value = f"{after} {until.isoformat()}"
        self.store.remember(f"{_WATCH} {channel} {account}", value)
        self.desk.run(self._watch(channel, account, value))
        return self.fixed(said, grant)

    async def point(self, grant: Grant, said: Said) -> Answering:
        """Strict: where in the terminal that is done."""
        return self.fixed(said, grant)

    async def sources(self, grant: Grant, job: str, item: int | None) -> Answering:
        """The places of a reply's items, or of one."""
        wanted = await self.job(grant, job)
        if not self.desk.full(grant.bound):
            return self.fixed(Said.LOOK_THERE, grant, wanted)
        answer = await self.open_answer(grant, wanted)
        if item is not None:
            items = tuple(each for each in answer.items if each.number == item)
            if not items:
                return Answering(template=Prose(text=self.words("no_item", number=item)))
            answer = msgspec.structs.replace(answer, items=items)
        return Answering(template=shape.private(findings(answer, self.look)))

    async def jobs(self, grant: Grant) -> Answering:
        """The newest jobs of the matter."""
        found = await self.jobs_of(grant)
        matter = grant.bound.matter
        if not found:
            return self.fixed(Said.NO_JOBS, grant)
        rows = tuple(
            Status(matter=matter, job=job.id, state=shape.STATES[job.state], place=job.place)
            for job in found
        )
        return Answering(template=Listing(matter=matter, rows=rows))

    async def cancel(self, grant: Grant, job: str = "") -> Answering:
        """Stops a job; without one, those at work are offered as buttons."""
        if job:
            return await self._cancel(grant, await self.job(grant, job))
        at_work = [each.id for each in await self.jobs_of(grant) if each.state in _AT_WORK]
        return self._offer(grant, [Act.CANCEL], at_work[:_BUTTONS])

    async def export(self, grant: Grant, form: str, job: str = "") -> Answering:
        """Writes an approved reply to the matter's out folder."""
        if job:
            return await self._export(grant, await self.job(grant, job), form, f"x{job}{form}")
        done = [each.id for each in await self.jobs_of(grant) if each.state is JobState.DONE]
        return self._offer(grant, [Act(form)], done[:_BUTTONS])

    async def offer_again(self, grant: Grant) -> Answering:
        """The jobs that ended, to be made once more, as buttons."""
        ended = [each.id for each in await self.jobs_of(grant) if each.state not in _AT_WORK]
        return self._offer(grant, [Act.RETRY], ended[:_BUTTONS])

    async def state(self, grant: Grant) -> Answering:
        """The channel's matter in numbers."""
        jobs = await self.jobs_of(grant, most=_COUNTED)
        review = [job.review for job in jobs]
        count = Counted(
            matter=grant.bound.matter,
            waiting=sum(job.state is JobState.WAITING for job in jobs),
            running=sum(job.state is JobState.RUNNING for job in jobs),
            awaiting=review.count(ReviewState.AWAITING),
            approved=review.count(ReviewState.APPROVED),
        )
        return Answering(template=count)

    async def mode(self, grant: Grant) -> Answering:
        """What this server may be shown; no command changes it."""
        full = self.settings.mode is Mode.FULL
        return self.fixed(Said.MODE_FULL if full else Said.MODE_STRICT, grant)

    async def health(self, grant: Grant) -> Answering:
        """How the box's parts are, in numbers."""
        result = await self.line.call(Health(), acting_for=grant.account)
        assert isinstance(result, HealthIs)
        states = [state for state, _ in result.parts.values()]
        ok, degraded = states.count("ok"), states.count("degraded")
        parts = Parts(ok=ok, degraded=degraded, down=len(states) - ok - degraded)
        return Answering(template=parts)

    async def help(self, grant: Grant) -> Answering:
        """The commands."""
        said = Said.HELP_FULL if self.settings.mode is Mode.FULL else Said.HELP_STRICT
        return Answering(template=Fixed(said=said))

    # --- buttons ---

    async def press(self, grant: Grant, press: Press, key: str) -> Answering:
        """A button that needs no form and makes no job."""
        self.delivery(grant, press.job)
        match press.act:
            case Act.CANCEL:
                return await self._cancel(grant, press.job)
            case Act.OPEN:
                return await self.sources(grant, press.job, None)
            case Act.MD | Act.JSON:
                return await self._export(grant, press.job, press.act.value, key)
            case _:
                return self.fixed(Said.DECIDE_THERE, grant, press.job)

    def delivery(self, grant: Grant, job: JobId) -> Delivery | None:
        """The delivery of a job to this channel.

        Raises:
            NotFound: The job was delivered here for another matter.
        """
        delivery = self.store.delivery(job, grant.bound.channel)
        if delivery is not None and delivery.matter != grant.bound.matter:
            raise NotFound("no such job")
        return delivery

    async def current(self, grant: Grant, press: Press, within_s: float = 60.0) -> Answer:
        """The answer a button speaks of.

        Raises:
            Conflict: Its text is not the one that stood above the button.
            AppError: It may not be seen, or the box cannot be reached.
        """
        answer = await self.desk.answer(press.job, grant.account, within_s)
        if answer.matter != grant.bound.matter:
            raise NotFound("no such job")
        if press.version == NO_VERSION or answer.text_sha256[:VERSION_CHARS] != press.version:
            raise Conflict("the reply has changed since it was shown")
        return answer

    # --- parts of the above ---

    async def jobs_of(self, grant: Grant, most: int = LISTED) -> tuple[Job, ...]:
        """The newest jobs of the channel's matter, as this person may see them."""
        request = ListJobs(matter=grant.bound.matter, most=most)
        result = await self.line.call(request, acting_for=grant.account)
        assert isinstance(result, Jobs)
        return result.jobs

    async def documents_of(self, grant: Grant) -> Documents:
        """The record of the channel's matter."""
        request = ListDocuments(matter=grant.bound.matter)
        result = await self.line.call(request, acting_for=grant.account)
        assert isinstance(result, Documents)
        return result

    async def taken(self, request: WorkRequest, grant: Grant) -> Answering:
        """Sends a request to the box; its reply will arrive in the channel."""
        noted = not request.key.startswith(MESSAGE)
        job = await self.desk.submit(request, grant, noted=noted)
        return self.fixed(Said.TAKEN, grant, job)

    async def job(self, grant: Grant, code: str) -> JobId:
        """A job of this channel's matter; the newest one for no code."""
        known = {job.id for job in await self.jobs_of(grant, most=50)}
        if not code:
            if not known:
                raise NotFound("no such job")
            return max(known)
        try:
            wanted = job_id(code.strip().upper())
        except ValueError:
            raise NotFound("no such job") from None
        if wanted not in known and self.delivery(grant, wanted) is None:
            raise NotFound("no such job")
        return wanted

    async def open_answer(self, grant: Grant, job: JobId) -> Answer:
        answer = await self.desk.answer(job, grant.account)
        if answer.matter != grant.bound.matter or await self.desk.designated(answer, grant.account):
            raise NotFound("nothing that may be shown here")
        return answer

    async def _cancel(self, grant: Grant, job: JobId) -> Answering:
        await self.line.call(Cancel(job=job), acting_for=grant.account)
        return self.fixed(Said.CANCELLED, grant, job)

    async def _export(self, grant: Grant, job: JobId, form: str, key: str) -> Answering:
        request = Export(job=job, format=form, key=key)
        done = await self.line.call(request, acting_for=grant.account)
        assert isinstance(done, Exported)
        written = Written(matter=grant.bound.matter, job=job, size_bytes=done.size_bytes)
        return Answering(template=written)

    async def _watch(self, channel: str, account: str, value: str) -> None:
        """Looks for the job that somebody went to ask for in the terminal, and brings it here."""
        name = f"{_WATCH} {channel} {account}"
        after, _, until = value.rpartition(" ")
        asker = Asker(server=self.settings.server, channel=channel, account=account)
        while dt.datetime.now(dt.UTC) < dt.datetime.fromisoformat(until):
            await asyncio.sleep(self._watch_every_s)
            if self.store.fact(name) != value:
                return  # he asked again since; that look goes on
            try:
                bound = self.store.bound(asker.channel)
                if bound is None:
                    break
                grant = Grant(bound=bound, account=account, title="")
                new = [job for job in await self.jobs_of(grant) if job.id > after]
            except Unavailable:
                continue
            except AppError:
                break
            for job in new:
                self.desk.expect(
                    Delivery(job=job.id, channel=channel, matter=bound.matter, account=account)
                )
            if new:
                break
        self.store.forget(name)

    def _offer(self, grant: Grant, acts: list[Act], jobs: list[JobId]) -> Answering:
        """Jobs as buttons: nobody has to type a code."""
        if not jobs:
            return self.fixed(Said.NO_JOBS, grant)
        matter = grant.bound.matter
        presses = tuple(Press(act=act, job=job, named=True) for job in jobs for act in acts)
        return Answering(template=Listing(matter=matter, rows=()), presses=presses)

    def words_may_pass(self, grant: Grant) -> None:
        """Raises `NotFound` in a channel that may be shown no words."""
        if not self.desk.full(grant.bound):
            raise NotFound("no words pass here")

    def fixed(self, said: Said, grant: Grant, job: JobId | None = None) -> Answering:
        """A fixed sentence about the channel's matter."""
        return Answering(template=Fixed(said=said, matter=grant.bound.matter, job=job))


def asker_of(interaction: discord.Interaction[Any]) -> Asker:
    """Who did something where; a thread counts as the channel it hangs from."""
    channel = interaction.channel
    place = interaction.channel_id
    if isinstance(channel, discord.Thread):
        place = channel.parent_id
    return asker_from(interaction.guild_id, place, interaction.user)


def asker_from(
    server: int | None, channel: int | None, who: discord.User | discord.Member
) -> Asker:
    """Somebody in a channel of a server."""
    roles = who.roles if isinstance(who, discord.Member) else []
    return Asker(
        server=str(server or ""),
        channel=str(channel or ""),
        account=str(who.id),
        roles=frozenset(str(role.id) for role in roles),
    )
