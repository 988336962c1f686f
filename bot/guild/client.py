"""The Discord client of one bot: what it may hear, and whom it hands what it hears to."""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import discord  # noqa: TID251
from discord import app_commands  # noqa: TID251

from bot.guild import commands, files, menu, orders, review, sentences
from bot.guild.buttons import Act, Press, PressButton, parse
from bot.guild.counter import MESSAGE, Counter, asker_from
from bot.guild.deliveries import Deliveries
from bot.guild.desk import Desk
from bot.guild.files import Put
from bot.guild.gate import Fixed, Gate, Said
from bot.guild.pacer import Pace
from bot.guild.post import Post
from bot.guild.rights import ActingLine, Asker
from bot.guild.settings import GuildSettings, Mode
from bot.look import Look, zone
from bot.words import load

_SYNCED: Final = "synced"
_SEEN: Final = "seen"
_MISSED: Final = 200
"""Messages of a channel that are caught up with after a time without a bot."""
_CELLS: Final = 60
"""Wide enough for a phone; Discord wraps lines itself."""


def intents(mode: Mode) -> discord.Intents:
    """What Discord is asked to tell us: a strict bot never sees what people write."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    if mode is Mode.FULL:
        wanted.guild_messages = True
        wanted.message_content = True
    return wanted


class GuildClient(discord.Client):
    """One client's life; a new one is made after every exit."""

    def __init__(
        self,
        settings: GuildSettings,
        line: ActingLine,
        store: Deliveries,
        *,
        trouble: Callable[[str], None],
        put: Put | None = None,
        watch_every_s: float = 3.0,
    ) -> None:
        """Joins the parts; nothing is opened yet.

        Args:
            settings: The server and its mode.
            line: The line to the box.
            store: What was bound and delivered.
            trouble: Told the kind of an error that nobody expected.
            put: Puts an attached file into a matter's inbox; None takes no files.
            watch_every_s: See `Counter`.
        """
        # The library's log prints bodies and addresses that hold tokens.
        logging.getLogger("discord").setLevel(logging.CRITICAL + 1)
        super().__init__(
            intents=intents(settings.mode),
            allowed_mentions=discord.AllowedMentions.none(),
            member_cache_flags=discord.MemberCacheFlags.none(),
            max_messages=None,
            proxy=settings.proxy or None,
        )
        words = sentences.load(settings.language)
        look = Look(words=load(settings.language), width=_CELLS, zone=zone(settings.zone))
        post = Post(self, Gate(settings.mode, words), store)
        self.settings = settings
        self.desk = Desk(
            line,
            post,
            store,
            mode=settings.mode,
            words=words,
            look=look,
            pace=Pace(settings.pace_s),
            trouble=trouble,
        )
        self.counter = Counter(
            line,
            post,
            store,
            self.desk,
            settings,
            words=words,
            look=look,
            trouble=trouble,
            watch_every_s=watch_every_s,
        )
        self._store = store
        self._trouble = trouble
        self._put = put
        self._in_order: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tree = app_commands.CommandTree(self)
        self._tree.error(self._command_failed)
        commands.build(self._tree, self.counter)
        menu.build(self._tree, self.counter)

    async def setup_hook(self) -> None:
        """Logged in: tells Discord the commands where they changed, and goes on with open work."""
        self.add_dynamic_items(PressButton)
        mark = commands.fingerprint(self._tree, self.settings.server)
        if self._store.fact(_SYNCED) != mark:
            await self._tree.sync(guild=discord.Object(int(self.settings.server)))
            self._store.remember(_SYNCED, mark)
        self.desk.start()
        self.counter.start()
        if self.settings.mode is Mode.FULL:
            for bound in self._store.all_bound():
                self.desk.run(self._catch_up(bound.channel))

    async def close(self) -> None:
        """Ends all work and the client."""
        await self.desk.stop()
        await super().close()

    # --- what is heard ---

    async def pressed(self, interaction: discord.Interaction[Any], press: Press) -> None:
        """A button of ours."""
        if press.act in (Act.APPROVE, Act.RETURN):
            await review.open_form(self.counter, interaction, press)
            return
        counter, key = self.counter, f"discord-{interaction.id}"
        if press.act is Act.RETRY:
            doing = functools.partial(orders.press_again, counter, press=press, key=key)
        else:
            doing = functools.partial(counter.press, press=press, key=key)
        await counter.serve(interaction, doing)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        """Forms, and buttons that the library does not pass on: unknown, or gone meanwhile."""
        data: Any = interaction.data or {}
        custom_id = str(data.get("custom_id", ""))
        if interaction.type is discord.InteractionType.modal_submit:
            press = review.pressed(custom_id)
            if press is not None:
                await review.submitted(self.counter, interaction, press)
                return
        elif interaction.type is discord.InteractionType.component:
            press = parse(custom_id)
            if press is not None:
                if not _stands_on(interaction.message, custom_id):
                    await self.pressed(interaction, press)
                return
        else:
            return
        gone = Fixed(said=Said.UNKNOWN_BUTTON)
        await self.counter.post.answer_at_once(interaction, gone)

    async def on_message(self, message: discord.Message) -> None:
        """A plain message in a full channel is a question; heard in order, each once."""
        if self.settings.mode is not Mode.FULL or message.guild is None:
            return
        channel = message.channel
        place = channel.parent_id if isinstance(channel, discord.Thread) else channel.id
        if self._store.bound(str(place)) is None:
            return
        async with self._in_order[str(channel.id)]:
            await self._hear(message, asker_from(message.guild.id, place, message.author))
            self._store.remember(f"{_SEEN} {channel.id}", str(message.id))

    async def _hear(self, message: discord.Message, asker: Asker) -> None:
        question = message.content.strip()
        if message.author.bot or not (question or message.attachments):
            return
        counter = self.counter
        if message.attachments:
            take = functools.partial(files.take, counter, self._put, message.attachments)
            said = (await counter.outcome(asker, take)).template
            # To somebody who has nothing here, nothing is said.
            if not (isinstance(said, Fixed) and said.said is Said.NOT_FOUND):
                await counter.post.say(
                    asker.channel, said, key=f"f{message.id}", mention=asker.account
                )
        if not question:
            return
        key = f"{MESSAGE}{message.id}"
        answering = await counter.outcome(
            asker, lambda grant: orders.ask(counter, grant, question, key)
        )
        template = answering.template
        # To somebody who has nothing here, nothing is said; a job speaks for itself.
        if isinstance(template, Fixed) and template.said in (Said.NOT_FOUND, Said.TAKEN):
            return
        await counter.post.say(asker.channel, template, key=f"e{message.id}", mention=asker.account)

    async def _catch_up(self, channel: str) -> None:
        """What was written while nobody listened."""
        place = self.get_partial_messageable(int(channel), guild_id=int(self.settings.server))
        seen = self._store.fact(f"{_SEEN} {channel}")
        if not seen:  # the first start: what was written before is not for us
            newest = [message.id async for message in place.history(limit=1)]
            self._store.remember(f"{_SEEN} {channel}", str(newest[0] if newest else 1))
            return
        after = discord.Object(int(seen))
        async for message in place.history(limit=_MISSED, after=after, oldest_first=True):
            async with self._in_order[channel]:
                asker = asker_from(int(self.settings.server), int(channel), message.author)
                await self._hear(message, asker)
                if int(self._store.fact(f"{_SEEN} {channel}")) < message.id:
                    self._store.remember(f"{_SEEN} {channel}", str(message.id))

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """A handler failed: its kind is told, never what it held."""
        kind = sys.exc_info()[0]
        self._trouble(kind.__name__ if kind is not None else "error")

    async def _command_failed(
        self, interaction: discord.Interaction[Any], error: app_commands.AppCommandError
    ) -> None:
        self._trouble(type(error).__name__)
        await self.counter.post.answer_at_once(interaction, Fixed(said=Said.INTERNAL))


def _stands_on(message: discord.Message | None, custom_id: str) -> bool:
    """Whether a message still has the button; the library passes on those only."""
    rows = message.components if message is not None else []
    return any(
        getattr(button, "custom_id", None) == custom_id
        for row in rows
        for button in getattr(row, "children", ())
    )
