"""The one function that decides whether somebody in Discord may act: server, channel, role, person.

Deny by default. Every refusal is the same one, and it reads like absence. What the person may do in
the matter is decided on the box (a call names him and is refused there); this decides whether there
is anything at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from bot.guild.deliveries import Bound, Deliveries
from protocol.errors import Refused
from protocol.events import Event
from protocol.ids import JobId
from protocol.jobs import ListMatters, Matters, Request, Result


class ActingLine(Protocol):
    """What the bot needs of the line; `bot.link.Link` is one."""

    async def call(
        self, request: Request, *, acting_for: str | None = None, within_s: float = 60.0
    ) -> Result:
        """The result of a request made for an account. Raises `AppError`."""
        ...

    def follow(
        self, job: JobId, after: int = 0, *, acting_for: str | None = None
    ) -> AsyncIterator[Event]:
        """The job's events after a number, each once, for an account. Raises `AppError`."""
        ...


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who does something where, as Discord says it."""

    server: str
    channel: str
    """The channel; for a thread, the channel it hangs from."""
    account: str
    roles: frozenset[str] = frozenset()


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """He may act here."""

    bound: Bound
    account: str
    title: str
    """The matter's title, for full text only."""


async def authorize(
    line: ActingLine, store: Deliveries, asker: Asker, *, server: str, within_s: float = 60.0
) -> Grant:
    """Lets somebody act in a channel.

    Args:
        line: The line to the box, which knows the person behind the account.
        store: The bindings.
        asker: Who, where.
        server: The one server this bot serves.
        within_s: Seconds the box may take.

    Raises:
        Refused: Server, channel, role, person and matter do not all agree.
        AppError: The box could not be asked.
    """
    bound = store.bound(asker.channel) if asker.server == server else None
    if bound is None or (bound.role and bound.role not in asker.roles):
        raise Refused("refused")
    result = await line.call(ListMatters(), acting_for=asker.account, within_s=within_s)
    assert isinstance(result, Matters)
    for matter in result.matters:
        if matter.id == bound.matter:
            return Grant(bound=bound, account=asker.account, title=matter.title)
    raise Refused("refused")
