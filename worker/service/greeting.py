"""The greeting: who is there, and which version of the protocol both ends speak."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator

from protocol import frames
from protocol.errors import BadRequest, Refused
from protocol.frames import Hello, Stamp, Welcome
from worker import access
from worker.access import Action, Identity
from worker.registry import RegistryFile
from worker.service.line import FrameLine


async def greet(
    line: FrameLine,
    lines: AsyncIterator[bytes],
    *,
    registry: RegistryFile,
    epoch: str,
    now: dt.datetime,
) -> tuple[Identity, int]:
    """Takes the gateway's stamp and the client's hello, and welcomes him.

    The stamp is checked against the registry once more: the gateway proved the key, the worker
    knows for itself what the key is worth.

    Returns:
        Who is there, and the version to speak.

    Raises:
        BadRequest: The greeting is not one, or no version is shared.
        Refused: The key is not, or no longer, in the registry.
    """
    stamp = await _next(lines)
    if not isinstance(stamp, Stamp):
        raise BadRequest("the line does not say who is there")
    who = Identity(user=stamp.user, fingerprint=stamp.fingerprint, peer=stamp.peer)
    rules = registry.current()
    user = rules.user(who.user)
    ruling = access.decide(rules, who, Action.LOOK, None, now=now)
    if user is None or not ruling.allowed:
        raise Refused("refused")
    hello = await _next(lines)
    if not isinstance(hello, Hello):
        raise BadRequest("the greeting comes first")
    if not hello.lowest <= frames.VERSION <= hello.highest:
        raise BadRequest(
            f"this worker speaks version {frames.VERSION} of the protocol",
            next_step="install the client that belongs to this worker",
        )
    await line.send(
        Welcome(
            version=frames.VERSION,
            user=who.user,
            role=user.role.value,
            matters=access.visible_matters(rules, who, now=now),
            epoch=epoch,
            max_bytes=frames.MAX_TO_WORKER_BYTES,
        )
    )
    return who, frames.VERSION


async def _next(lines: AsyncIterator[bytes]) -> frames.ToWorker:
    async for text in lines:
        return frames.decode_to_worker(text)
    raise BadRequest("the line ended before the greeting did")
