"""The menu of a message: "Check citations"."""

from __future__ import annotations

from typing import Any, Final

import discord  # noqa: TID251
from discord import app_commands  # noqa: TID251

from bot.guild import orders
from bot.guild.buttons import parse
from bot.guild.counter import Counter
from protocol.ids import JobId

CHECK: Final = "Check citations"


def build(tree: app_commands.CommandTree[Any], counter: Counter) -> None:
    """Puts the menu of the server into a tree."""

    async def check(here: discord.Interaction[Any], message: discord.Message) -> None:
        key, job = f"discord-{here.id}", _job(here, message)
        text = message.content
        await counter.serve(
            here,
            lambda grant: orders.check_message(counter, grant, key, job=job, text=text),
        )

    server = discord.Object(int(counter.settings.server))
    tree.add_command(app_commands.ContextMenu(name=CHECK, callback=check), guild=server)


def _job(here: discord.Interaction[Any], message: discord.Message) -> JobId | None:
    """The job of which a message of ours speaks, by its buttons."""
    if message.author.id != here.application_id:
        return None
    for row in message.components:
        for button in getattr(row, "children", ()):
            press = parse(getattr(button, "custom_id", None) or "")
            if press is not None:
                return press.job
    return None
