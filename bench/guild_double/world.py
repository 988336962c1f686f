"""What the stand-in knows: one server with channels and people, the messages, the commands.

Everything is kept in the form in which Discord sends it.
"""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any, Final

Json = dict[str, Any]

BOT: Final = "100000000000000001"
SERVER: Final = "200000000000000001"
EVERYONE: Final = SERVER
"""The role that everybody has carries the server's id."""
_FIRST: Final = 900_000_000_000_000_000
_EPHEMERAL: Final = 64
_V2: Final = 1 << 15


def now() -> str:
    """The time as Discord writes it."""
    return dt.datetime.now(dt.UTC).isoformat()


class World:
    """One server."""

    def __init__(self) -> None:
        self._ids = itertools.count(_FIRST)
        self.users: dict[str, Json] = {}
        self.roles: dict[str, list[str]] = {}
        """Account to role ids."""
        self.channels: dict[str, Json] = {}
        self.messages: dict[str, list[Json]] = {}
        """Channel to messages, oldest first."""
        self.commands: list[Json] = []
        self.nonces: dict[tuple[str, str], str] = {}
        """Channel and nonce to the message that was made for it."""
        self.files: dict[str, bytes] = {}
        self.base = ""
        """Where files lie; set once the double listens."""
        self.add_user(BOT, bot=True)

    def new_id(self) -> str:
        """A fresh id; ids sort by the time they were made."""
        return str(next(self._ids))

    def add_user(self, account: str, *, bot: bool = False, roles: tuple[str, ...] = ()) -> Json:
        """Somebody in the server."""
        self.users[account] = {
            "id": account,
            "username": f"account{account[-4:]}",
            "avatar": None,
            "discriminator": "0",
            "public_flags": 0,
            "flags": 0,
            "global_name": None,
            "primary_guild": None,
            "bot": bot,
        }
        self.roles[account] = list(roles)
        return self.users[account]

    def add_channel(self, channel: str) -> Json:
        """A text channel."""
        self.messages[channel] = []
        self.channels[channel] = {
            "id": channel,
            "type": 0,
            "guild_id": SERVER,
            "name": f"c{channel[-4:]}",
            "position": len(self.channels),
            "permission_overwrites": [],
            "nsfw": False,
            "topic": None,
            "last_message_id": None,
            "parent_id": None,
            "rate_limit_per_user": 0,
            "flags": 0,
        }
        return self.channels[channel]

    def member(self, account: str) -> Json:
        """An account as a member of the server."""
        return {
            "user": self.users[account],
            "roles": self.roles[account],
            "nick": None,
            "avatar": None,
            "banner": None,
            "joined_at": "2026-01-01T00:00:00+00:00",
            "premium_since": None,
            "communication_disabled_until": None,
            "deaf": False,
            "mute": False,
            "pending": False,
            "flags": 0,
            "permissions": "2147483647",
        }

    def guild(self) -> Json:
        """The server as GUILD_CREATE describes it."""
        return {
            "id": SERVER,
            "name": "server",
            "icon": None,
            "splash": None,
            "owner_id": "300000000000000001",
            "afk_channel_id": None,
            "afk_timeout": 300,
            "verification_level": 0,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "roles": [self._everyone()],
            "emojis": [],
            "features": [],
            "mfa_level": 1,
            "system_channel_id": None,
            "system_channel_flags": 0,
            "rules_channel_id": None,
            "premium_tier": 0,
            "preferred_locale": "en-US",
            "nsfw_level": 0,
            "premium_progress_bar_enabled": False,
            "stickers": [],
            "joined_at": "2026-01-01T00:00:00+00:00",
            "large": False,
            "unavailable": False,
            "member_count": len(self.users),
            "members": [self.member(BOT)],
            "channels": list(self.channels.values()),
            "threads": [],
            "presences": [],
            "voice_states": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
        }

    def message(
        self,
        channel: str,
        author: str,
        body: Json,
        *,
        files: tuple[tuple[str, bytes], ...] = (),
    ) -> Json:
        """A message in Discord's form, not yet in a channel."""
        mentioned = [
            self.users[str(account)]
            for account in (body.get("allowed_mentions") or {}).get("users", [])
            if f"<@{account}>" in (body.get("content") or "") and str(account) in self.users
        ]
        message: Json = {
            "id": self.new_id(),
            "channel_id": channel,
            "author": self.users[author],
            "type": 0,
            "content": body.get("content") or "",
            "timestamp": now(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": mentioned,
            "mention_roles": [],
            "attachments": [],
            "embeds": body.get("embeds") or [],
            "pinned": False,
            "flags": body.get("flags") or 0,
            "components": _numbered(body.get("components") or []),
        }
        for name, data in files:
            number = self.new_id()
            self.files[number] = data
            message["attachments"].append(
                {
                    "id": number,
                    "filename": name,
                    "size": len(data),
                    "url": f"{self.base}/files/{number}",
                    "proxy_url": f"{self.base}/files/{number}",
                }
            )
        if body.get("nonce") is not None:
            message["nonce"] = body["nonce"]
        return message

    def application(self) -> Json:
        """The bot's application."""
        return {
            "id": BOT,
            "name": "app",
            "icon": None,
            "description": "",
            "type": None,
            "bot_public": False,
            "bot_require_code_grant": False,
            "verify_key": "0" * 64,
            "flags": 1 << 19,
            "flags_new": str(1 << 19),
            "redirect_uris": [],
            "interactions_endpoint_url": None,
            "role_connections_verification_url": None,
            "owner": self.users[BOT],
            "approximate_guild_count": 1,
            "approximate_user_install_count": 0,
            "approximate_user_authorization_count": 0,
            "explicit_content_filter": 0,
            "team": None,
            "eligible_oauth2_scopes": [],
        }

    def _everyone(self) -> Json:
        return {
            "id": EVERYONE,
            "name": "@everyone",
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "icon": None,
            "unicode_emoji": None,
            "position": 0,
            "permissions": "2147483647",
            "managed": False,
            "mentionable": False,
            "flags": 0,
        }


def _numbered(components: list[Json]) -> list[Json]:
    """Components as they come back: each with a number."""
    count = itertools.count(1)

    def one(component: Json) -> Json:
        made = {**component, "id": next(count)}
        if "components" in component:
            made["components"] = [one(inner) for inner in component["components"]]
        return made

    return [one(component) for component in components]


def limit_faults(body: Json) -> list[str]:
    """What breaks a documented limit that the description does not hold."""
    faults = []
    if len(body.get("content") or "") > 2000:
        faults.append("content over 2000 characters")
    embeds = body.get("embeds") or []
    if len(embeds) > 10 or sum(len(str(e.get("description") or "")) for e in embeds) > 6000:
        faults.append("embeds over their limit")
    parts = list(_walk(body.get("components") or []))
    if len(parts) > 40:
        faults.append("more than 40 components")
    for part in parts:
        if not 1 <= len(part.get("custom_id", "x")) <= 100:
            faults.append("custom_id over 100 characters")
        if part.get("type") == 2 and len(part.get("label") or "") > 80:
            faults.append("label over 80 characters")
        if part.get("type") == 1 and len(part.get("components", [])) > 5:
            faults.append("more than 5 buttons in a row")
    return faults


def _walk(components: list[Json]) -> list[Json]:
    found = []
    for component in components:
        found.append(component)
        found += _walk(component.get("components", []))
        if "component" in component:
            found += _walk([component["component"]])
    return found
