"""Where Discord is: the one function that points the library at an address.

discord.py keeps its addresses in three class constants. They are set here, from settings that were
checked, and nowhere else; a test looks.
"""

from __future__ import annotations

import discord  # noqa: TID251
import yarl
from discord.asset import Asset  # noqa: TID251
from discord.gateway import DiscordWebSocket  # noqa: TID251

from bot.guild.settings import GuildSettings


def point_at(settings: GuildSettings) -> None:
    """Points the library at the addresses of the settings; before a client logs in."""
    discord.http.Route.BASE = settings.api
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(settings.gateway)
    Asset.BASE = f"{settings.api.partition('/api/')[0]}/assets"
