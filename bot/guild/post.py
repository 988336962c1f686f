"""Everything that is sent to Discord is sent from here, and every word of it comes from the gate.

A part of a reply is sent once: the try is written down first; a try whose end nobody knows is
looked for in the channel before it is made again, and made again with the same nonce.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
import discord  # noqa: TID251

from bot.guild.buttons import Press, parse, view
from bot.guild.deliveries import PROGRESS, Deliveries, Delivery, nonce
from bot.guild.gate import Gate, Template

_SEND_S: Final = 60.0
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 60.0
_LOOK_BACK: Final = 100
"""Messages of a channel that are looked through for one that may have been sent."""

Lost = (aiohttp.ClientError, discord.DiscordServerError, discord.RateLimited, OSError, TimeoutError)
"""What may pass by itself."""


class Undeliverable(Exception):
    """The channel is gone, or the bot was put out of it: nothing can be delivered there."""


class Post:
    """The bot's hand."""

    def __init__(
        self,
        client: discord.Client,
        gate: Gate,
        store: Deliveries,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Joins the parts.

        Args:
            client: A client that has logged in.
            gate: Where words come from.
            store: What was delivered.
            sleep: Waits between tries.
        """
        self._client = client
        self._gate = gate
        self._store = store
        self._sleep = sleep

    # --- interactions: their token is used for the acknowledgement and a private answer only ---

    async def acknowledge(self, interaction: discord.Interaction[Any]) -> bool:
        """Tells Discord that we heard; False when it was too late or was told already."""
        try:
            await interaction.response.defer(ephemeral=True, thinking=True)
        except (discord.HTTPException, discord.InteractionResponded, *Lost):
            return False
        return True

    async def answer(
        self,
        interaction: discord.Interaction[Any],
        template: Template,
        presses: tuple[Press, ...] = (),
    ) -> None:
        """A private answer to an acknowledged interaction; dropped when its token is dead."""
        text = self._gate.text(template)
        with contextlib.suppress(discord.HTTPException, *Lost):
            await interaction.edit_original_response(content=text, view=view(self._gate, presses))

    async def answer_at_once(
        self, interaction: discord.Interaction[Any], template: Template
    ) -> None:
        """A private answer that is the acknowledgement too."""
        text = self._gate.text(template)
        with contextlib.suppress(discord.HTTPException, discord.InteractionResponded, *Lost):
            await interaction.response.send_message(text, ephemeral=True)

    async def form(self, interaction: discord.Interaction[Any], form: discord.ui.Modal) -> None:
        """Opens a form; its sentences come from the catalogue."""
        with contextlib.suppress(discord.HTTPException, discord.InteractionResponded, *Lost):
            await interaction.response.send_modal(form)

    # --- channels ---

    async def once(
        self,
        delivery: Delivery,
        part: int,
        template: Template,
        *,
        mention: str = "",
        presses: tuple[Press, ...] = (),
        file: tuple[str, bytes] | None = None,
    ) -> str:
        """Sends a part of a reply, and never twice; gives the message's id.

        Comes back only when Discord has it; whatever passes by itself is waited for.

        Raises:
            Undeliverable: The channel is gone or closed to the bot.
        """
        text = self._gate.text(template, mention=mention)
        job, channel = delivery.job, delivery.channel
        first, known = self._store.start_part(job, channel, part)
        if known:
            return known
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                found = "" if first else await self._find(delivery, part, text, presses)
                if not found:
                    first = False
                    found = await self._send(delivery, part, text, mention, presses, file)
            except Lost:
                await self._sleep(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
                continue
            except discord.HTTPException as error:
                raise Undeliverable from error
            self._store.sent_part(job, channel, part, found)
            return found

    async def edit(
        self, channel: str, message: str, template: Template, presses: tuple[Press, ...] = ()
    ) -> bool:
        """Puts something newer into a message; False when there is no use in trying again."""
        text = self._gate.text(template)
        try:
            await (
                self._channel(channel)
                .get_partial_message(int(message))
                .edit(content=text, view=view(self._gate, presses))
            )
        except Lost:
            return True
        except discord.HTTPException:
            return False
        return True

    async def say(self, channel: str, template: Template, *, key: str, mention: str = "") -> bool:
        """A notice beside any job; sent twice with one key soon after, it is shown once.

        Returns:
            Whether Discord has it.
        """
        text = self._gate.text(template, mention=mention)
        try:
            async with asyncio.timeout(_SEND_S):
                await self._channel(channel).send(
                    text, nonce=key, allowed_mentions=_only(mention), suppress_embeds=True
                )
        except (discord.HTTPException, *Lost):
            return False
        return True

    async def _send(
        self,
        delivery: Delivery,
        part: int,
        text: str,
        mention: str,
        presses: tuple[Press, ...],
        file: tuple[str, bytes] | None,
    ) -> str:
        more: dict[str, Any] = {}
        if (buttons := view(self._gate, presses)) is not None:
            more["view"] = buttons
        if file is not None:
            more["file"] = discord.File(io.BytesIO(file[1]), filename=file[0])
        async with asyncio.timeout(_SEND_S):
            message = await self._channel(delivery.channel).send(
                text,
                nonce=nonce(delivery.job, delivery.channel, part),
                allowed_mentions=_only(mention),
                suppress_embeds=True,
                **more,
            )
        return str(message.id)

    async def _find(
        self, delivery: Delivery, part: int, text: str, presses: tuple[Press, ...]
    ) -> str:
        """The message that an earlier try may have left in the channel; empty when there is none.

        It is told by its buttons, which name the job, or else by its first line, which does too.
        """
        assert self._client.user is not None
        async for message in self._channel(delivery.channel).history(limit=_LOOK_BACK):
            if message.author.id != self._client.user.id:
                continue
            acts = {
                press.act == "cancel"
                for row in message.components
                for button in getattr(row, "children", ())
                if (press := parse(getattr(button, "custom_id", None) or "")) is not None
                and press.job == delivery.job
            }
            if presses:
                ours = acts == {part == PROGRESS}
            else:
                ours = not acts and message.content.partition("\n")[0] == text.partition("\n")[0]
            if ours:
                return str(message.id)
        return ""

    def _channel(self, channel: str) -> discord.PartialMessageable:
        return self._client.get_partial_messageable(int(channel))


def _only(mention: str) -> discord.AllowedMentions:
    """Nobody is called but the one who asked."""
    if not mention:
        return discord.AllowedMentions.none()
    return discord.AllowedMentions(
        everyone=False, roles=False, replied_user=False, users=[discord.Object(int(mention))]
    )
