"""The line to the worker, kept alive: connect, check the host key, send, follow, reconnect.

Every request may be sent twice without harm (it carries a key, or changes nothing), so a call that
was under way when the line broke is sent again on the next one, and a follow goes on after the last
event it gave out: each event once, none missing. The same class runs over SSH and over a numbered
descriptor, which is how a chat started by the gateway speaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Final, Self

from bot.link.given import FdWay
from bot.link.line import Line, LineLost, worth_retrying
from bot.link.ways import Target, Way
from protocol.errors import AppError, Unavailable
from protocol.events import LAST, Event
from protocol.frames import Welcome
from protocol.ids import JobId
from protocol.jobs import Follow, Request, Result

__all__ = ["Link", "Target", "Way"]

_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 10.0
_GREETING_S: Final = 15.0


class Link:
    """A line that comes back."""

    def __init__(
        self,
        way: Way,
        *,
        client: str = "secondchair",
        ping_s: float = 20.0,
        on_state: Callable[[bool], None] | None = None,
    ) -> None:
        """Joins the parts; nothing is opened yet.

        Args:
            way: How to reach the worker.
            client: What this client calls itself.
            ping_s: Seconds between heartbeats.
            on_state: Told when the line is up (True) or lost (False).
        """
        self._way = way
        self._client = client
        self._ping_s = ping_s
        self._on_state = on_state if on_state is not None else lambda _: None
        self._line: Line | None = None
        self._changed = asyncio.Condition()
        self._fatal: AppError | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.welcome: Welcome | None = None
        """Who we are to the worker, from the newest greeting."""

    @classmethod
    def over_ssh(cls, target: Target, *, client: str = "secondchair") -> Self:
        """A link to a gateway."""
        from bot.link.ssh import SshWay

        return cls(SshWay(target), client=client)

    @classmethod
    def over_fd(cls, fd: int, *, client: str = "secondchair") -> Self:
        """A link over a connected unix socket that this process was given."""
        return cls(FdWay(fd), client=client)

    async def __aenter__(self) -> Self:
        """Connects.

        Raises:
            AppError: There is no way to the worker; `Unavailable` when trying later may help.
        """
        try:
            await self._connect()
        except LineLost:
            await self._way.close()
            raise Unavailable("the line broke while connecting") from None
        except BaseException:
            await self._way.close()
            raise
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self._end(Unavailable("this link is closed"))
        await self._way.close()

    async def call(
        self, request: Request, *, acting_for: str | None = None, within_s: float = 60.0
    ) -> Result:
        """The result of a request, sent again if the line is lost meanwhile.

        Args:
            request: Anything but `Follow`.
            acting_for: For a bot's key only: the account it acts for.
            within_s: Seconds after which it is given up, lost lines included.

        Raises:
            AppError: The worker refused or failed; `Unavailable` when the time is over.
        """
        try:
            async with asyncio.timeout(within_s):
                while True:
                    with contextlib.suppress(LineLost):
                        return await self._once(await self._up(), request, acting_for)
                    await asyncio.sleep(0)  # lets the keeper see that the line is gone
        except TimeoutError:
            raise Unavailable(
                "the worker did not answer in time", next_step="try again in a minute"
            ) from None

    async def follow(
        self, job: JobId, after: int = 0, *, acting_for: str | None = None
    ) -> AsyncIterator[Event]:
        """The job's events after number ``after``, each once, until its last.

        Lost lines are bridged for as long as it takes; the caller stops by leaving the loop.

        Raises:
            AppError: The worker refused, or the link has given up.
        """
        while True:
            line = await self._up()
            try:
                pending = await line.call(Follow(job=job, after=after), acting_for)
            except LineLost:
                await asyncio.sleep(0)  # as above
                continue
            try:
                while not (pending.lagging and pending.empty()):
                    event = await pending.next()
                    if not isinstance(event, Event):
                        if pending.lagging:  # the call ended while events were left out
                            break
                        return
                    if event.seq <= after:
                        continue
                    after = event.seq
                    yield event
                    if isinstance(event.body, LAST):
                        return
            except LineLost:
                continue
            finally:
                line.forget(pending)

    @property
    def up(self) -> bool:
        """Whether the line stands now."""
        return self._line is not None

    async def _once(self, line: Line, request: Request, acting_for: str | None) -> Result:
        pending = await line.call(request, acting_for)
        try:
            result = await pending.next()
        finally:
            line.forget(pending)
        assert not isinstance(result, Event)  # only a follow has events
        return result

    async def _up(self) -> Line:
        async with self._changed:
            await self._changed.wait_for(lambda: self._line is not None or self._fatal is not None)
            if self._line is None:
                assert self._fatal is not None
                raise self._fatal
            return self._line

    async def _connect(self) -> None:
        line = Line(await self._way.open(), ping_s=self._ping_s)
        try:
            async with asyncio.timeout(_GREETING_S):
                self.welcome = await line.greet(self._client)
        except TimeoutError:
            await line.close()
            raise Unavailable("the worker did not greet us in time") from None
        except BaseException:
            await line.close()
            raise
        async with self._changed:
            self._line = line
            self._changed.notify_all()
        self._on_state(True)

    async def _keep(self) -> None:
        """Runs the line, and opens it again whenever it is lost."""
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                if self._line is None:
                    await self._connect()
                    wait_s = _FIRST_WAIT_S
                assert self._line is not None
                await self._line.run()
            except LineLost:
                pass
            except AppError as error:
                if not worth_retrying(error):
                    await self._end(error)
                    return
            await self._drop()
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    async def _drop(self) -> None:
        line, self._line = self._line, None  # first: nobody is given a line that is going
        if line is not None:
            await line.close()
            self._on_state(False)

    async def _end(self, error: AppError) -> None:
        await self._drop()
        async with self._changed:
            self._fatal = error
            self._changed.notify_all()
