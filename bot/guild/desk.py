"""Takes requests to the box and brings back what comes of them, exactly once, across restarts.

A request is written down before it is sent, a job before its first message, a message before and
after Discord has it. Whatever was left open is taken up again when the bot starts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from bot.guild import shape
from bot.guild.buttons import NO_VERSION, VERSION_CHARS, Act, Press
from bot.guild.deliveries import PROGRESS, Bound, Deliveries, Delivery, Intake
from bot.guild.gate import Fixed, Prose, Said, State, Status, Template
from bot.guild.pacer import Newest, Pace
from bot.guild.post import Post, Undeliverable
from bot.guild.rights import ActingLine, Grant
from bot.guild.settings import Mode
from bot.look import Look
from bot.progress import Watch
from bot.words import Words
from protocol.answers import Answer
from protocol.errors import AppError, NotFound, Refused, Unavailable
from protocol.events import LAST, Completed, Event, Failed, Stopped
from protocol.ids import JobId
from protocol.jobs import (
    Accepted,
    AnswerIs,
    Documents,
    GetAnswer,
    ListDocuments,
    ListMatters,
    Matters,
    WorkRequest,
)

_WORDS: Final = ("question", "text", "about", "witness", "only")
"""The fields of requests that hold words; all others are ids and choices."""
_AGAIN_S: Final = 5.0
"""Wait before a delivery is tried again after an error that may pass."""


class Desk:
    """All deliveries of one server."""

    def __init__(
        self,
        line: ActingLine,
        post: Post,
        store: Deliveries,
        *,
        mode: Mode,
        words: Words,
        look: Look,
        pace: Pace,
        trouble: Callable[[str], None],
    ) -> None:
        """Joins the parts.

        Args:
            line: The line to the box.
            post: The hand that sends.
            store: What was bound and delivered.
            mode: What the server may be shown.
            words: The bot's sentences.
            look: How replies are built.
            pace: The pace of edits.
            trouble: Told the kind of an error that nobody expected; no words of a case.
        """
        self._line = line
        self._post = post
        self._store = store
        self._mode = mode
        self._words = words
        self._look = look
        self._pace = pace
        self._trouble = trouble
        self._tasks: set[asyncio.Task[None]] = set()
        self._working: set[tuple[JobId, str]] = set()

    # --- life ---

    def start(self) -> None:
        """Takes up what was left open; the client has logged in."""
        for intake in self._store.interrupted():
            self.run(self._tell_lost(intake))
        for bound in self._store.all_bound():
            if self.full(bound) and not bound.banner:
                self.run(self._banner(bound))
        for delivery in self._store.open_ones():
            self._deliver_later(delivery)

    async def stop(self) -> None:
        """Ends all work; what was open stays open in the file."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def run(self, doing: Coroutine[Any, Any, None]) -> None:
        """Does something beside; it ends with the desk."""
        task = asyncio.get_running_loop().create_task(self._guarded(doing))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: doing.close())  # cancelled before it began, it has not run

    def full(self, bound: Bound) -> bool:
        """Whether a channel may be shown words: a full server, and recorded consent."""
        return self._mode is Mode.FULL and bool(bound.consent_by and bound.consent_on)

    @property
    def busy(self) -> bool:
        """Whether something is being done or waited for."""
        return bool(self._tasks)

    # --- requests ---

    async def submit(self, request: WorkRequest, grant: Grant, *, noted: bool = True) -> JobId:
        """Sends a request to the box and sees to it that its reply arrives.

        Args:
            request: What is asked.
            grant: Who asks where.
            noted: Whether a start after a cut tells him that it may not have been taken; for what
                is not read again by itself.

        Raises:
            AppError: The box refused it or cannot be reached.
        """
        channel, account = grant.bound.channel, grant.account
        if noted:
            self._store.begin(Intake(key=request.key, channel=channel, account=account))
        try:
            accepted = await self._line.call(request, acting_for=account)
        except Unavailable:
            raise  # it may have been taken: the note stays until that is known
        except AppError:
            self._store.taken(request.key, None)
            raise
        assert isinstance(accepted, Accepted)
        delivery = Delivery(
            job=accepted.job,
            channel=channel,
            matter=grant.bound.matter,
            account=account,
            request=_without_words(request),
        )
        self._store.taken(request.key, delivery)
        self._deliver_later(delivery)
        return accepted.job

    def expect(self, delivery: Delivery) -> None:
        """Brings a job that was asked for elsewhere to a channel."""
        if self._store.expect(delivery):
            self._deliver_later(delivery)

    # --- one delivery ---

    def _deliver_later(self, delivery: Delivery) -> None:
        key = (delivery.job, delivery.channel)
        if key not in self._working:
            self._working.add(key)
            self.run(self._deliver(delivery))

    async def _deliver(self, delivery: Delivery) -> None:
        """Until it has ended: progress in one message, then the reply in new ones."""
        try:
            while True:
                try:
                    await self._try_to_deliver(delivery)
                except (Refused, NotFound, Undeliverable):
                    pass  # his rights or the channel are gone: silence, as for anything absent
                except AppError:
                    await asyncio.sleep(_AGAIN_S)
                    continue
                self._store.end(delivery.job, delivery.channel)
                return
        finally:
            self._working.discard((delivery.job, delivery.channel))

    async def _try_to_deliver(self, delivery: Delivery) -> None:
        bound = self._store.bound(delivery.channel)
        if bound is None or bound.matter != delivery.matter:
            return
        status = Status(matter=delivery.matter, job=delivery.job, state=State.QUEUED)
        cancel = (Press(act=Act.CANCEL, job=delivery.job),)
        message = await self._post.once(delivery, PROGRESS, status, presses=cancel)
        newest = Newest(status)

        async def edit(template: Template) -> bool:
            return await self._post.edit(delivery.channel, message, template, cancel)

        pacing = asyncio.create_task(self._pace.run(delivery.channel, newest, edit))
        try:
            last = await self._follow(delivery, bound, status, newest)
        finally:
            pacing.cancel()
            await asyncio.gather(pacing, return_exceptions=True)
        await self._reply(delivery, bound, last)
        ended = shape.status_of(delivery.matter, last, status)
        ended = msgspec.structs.replace(ended, counts=None, open_there=False)
        await self._post.edit(delivery.channel, message, ended)

    async def _follow(
        self, delivery: Delivery, bound: Bound, status: Status, newest: Newest
    ) -> Event:
        watch = Watch(self._look.words)
        async for event in self._line.follow(delivery.job, acting_for=delivery.account):
            if isinstance(event.body, LAST):
                return event
            status = shape.status_of(delivery.matter, event, status)
            watch.feed(event)
            if self.full(bound):
                newest.offer(shape.progress(watch, status, self._words))
            else:
                newest.offer(status)
        raise Unavailable("the job's events ended without an end")

    async def _reply(self, delivery: Delivery, bound: Bound, last: Event) -> None:
        """The last word on a job, in new messages that call the one who asked."""
        status = shape.status_of(delivery.matter, last, _nothing(delivery))
        if not self.full(bound):
            acts = [Act.OPEN, Act.RETRY] if isinstance(last.body, Completed) else [Act.RETRY]
            presses = tuple(Press(act=act, job=delivery.job) for act in acts)
            await self._last(delivery, shape.Reply(parts=()), presses, status)
            return
        assert isinstance(last.body, Completed | Failed | Stopped)
        version, acts = NO_VERSION, [Act.RETRY]
        if isinstance(last.body, Completed):
            answer = last.body.answer or await self.answer(delivery.job, delivery.account)
            if await self.designated(answer, delivery.account):
                held = self._words("held", matter=delivery.matter, job=delivery.job)
                reply = shape.Reply(parts=(Prose(text=held),))
            else:
                reply = shape.reply(answer, self._look, self._words, await self._title(delivery))
                version = answer.text_sha256[:VERSION_CHARS]
                acts = [Act.APPROVE, Act.RETURN, Act.OPEN, Act.RETRY]
        else:
            reply = shape.failure(delivery.matter, delivery.job, last.body, self._look, self._words)
        presses = tuple(Press(act=act, job=delivery.job, version=version) for act in acts)
        await self._last(delivery, reply, presses, status)

    async def _last(
        self,
        delivery: Delivery,
        reply: shape.Reply,
        presses: tuple[Press, ...],
        status: Status,
    ) -> None:
        templates: tuple[Template, ...] = reply.parts or (status,)
        for part, template in enumerate(templates, 1):
            await self._post.once(
                delivery,
                part,
                template,
                mention=delivery.account if part == 1 else "",
                presses=presses if part == len(templates) else (),
                file=reply.file if part == len(templates) else None,
            )

    # --- what is asked of the box on the way ---

    async def answer(self, job: JobId, account: str, within_s: float = 60.0) -> Answer:
        """The stored answer of a job, for an account. Raises `AppError`."""
        result = await self._line.call(GetAnswer(job=job), acting_for=account, within_s=within_s)
        assert isinstance(result, AnswerIs)
        return result.answer

    async def designated(self, answer: Answer, account: str) -> bool:
        """Whether a reply rests on a document that may not leave, even in a full channel."""
        result = await self._line.call(ListDocuments(matter=answer.matter), acting_for=account)
        assert isinstance(result, Documents)
        closed = {each.id for each in result.documents if each.designation or each.privileged}
        return bool(closed & shape.cited(answer))

    async def _title(self, delivery: Delivery) -> str:
        result = await self._line.call(ListMatters(), acting_for=delivery.account)
        assert isinstance(result, Matters)
        return next((each.title for each in result.matters if each.id == delivery.matter), "")

    # --- notices ---

    async def _tell_lost(self, intake: Intake) -> None:
        template = Fixed(said=Said.LOST)
        key = f"l{intake.key[-20:]}"
        if await self._post.say(intake.channel, template, key=key, mention=intake.account):
            self._store.taken(intake.key, None)

    async def _banner(self, bound: Bound) -> None:
        said = self._words("banner", matter=bound.matter, by=bound.consent_by, on=bound.consent_on)
        key = f"b{bound.channel[-20:]}"
        if await self._post.say(bound.channel, Prose(text=said), key=key):
            self._store.told(bound.channel)

    async def _guarded(self, doing: Coroutine[Any, Any, None]) -> None:
        try:
            await doing
        except AppError as error:
            self._trouble(error.code)
        except Exception as error:  # our mistake: the delivery stays open for the next start
            self._trouble(type(error).__name__)


def again(delivery: Delivery, key: str) -> WorkRequest | None:
    """The request of a delivery once more; None where it had words, which were not kept."""
    if not delivery.request:
        return None
    with contextlib.suppress(msgspec.DecodeError, msgspec.ValidationError):
        request: WorkRequest = msgspec.json.decode(delivery.request, type=WorkRequest)
        return msgspec.structs.replace(request, key=key)
    return None


def _without_words(request: WorkRequest) -> str:
    """A request as it may be kept: ids and choices; empty where it holds words."""
    if any(getattr(request, field, "") for field in _WORDS):
        return ""
    return msgspec.json.encode(msgspec.structs.replace(request, key="")).decode()


def _nothing(delivery: Delivery) -> Status:
    return Status(matter=delivery.matter, job=delivery.job, state=State.DONE)
