"""Files that are attached to a message: into the matter's inbox, by the same door as SFTP.

Full channels only. A file is held in memory and written to no disk on this side; the box hashes it,
seals who put it there and through which bot, and reads it at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import aiohttp
import discord  # noqa: TID251

from bot.guild.counter import Answering, Counter
from bot.guild.gate import Prose
from bot.guild.rights import Grant
from protocol.errors import AppError
from protocol.ids import MatterId

MOST_BYTES: Final = 25 * 2**20
"""Of one file; larger ones travel over SFTP."""

Put = Callable[[str, MatterId, str, bytes], Awaitable[None]]
"""Puts a file into an inbox: for which account, where, its name, its bytes. Raises `AppError`."""


async def take(
    counter: Counter, put: Put | None, files: Sequence[discord.Attachment], grant: Grant
) -> Answering:
    """Takes what is attached to one message; says how many of it arrived."""
    if put is None or not counter.desk.full(grant.bound):
        return Answering(template=Prose(text=counter.words("files_refused")))
    taken = 0
    for file in files:
        if file.size > MOST_BYTES:
            continue
        try:
            data = await file.read()
            await put(grant.account, grant.bound.matter, file.filename, data)
            taken += 1
        except (AppError, discord.DiscordException, aiohttp.ClientError, TimeoutError) as error:
            counter.trouble(error.code if isinstance(error, AppError) else type(error).__name__)
    said = counter.words(
        "files_taken" if taken == len(files) else "files_failed",
        matter=grant.bound.matter,
        taken=taken,
        all=len(files),
        most=MOST_BYTES // 2**20,
    )
    return Answering(template=Prose(text=said))
