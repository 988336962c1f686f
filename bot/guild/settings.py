"""The settings of one bot in one Discord server: a TOML file of its own, unknown keys refused.

The mode is written by ``secondchair bot init`` and never changed by a command: another mode is
another application in another server. The token is a path, never a value.
"""

from __future__ import annotations

import ipaddress
import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from bot.config import config_folder, toml_value
from bot.look import zone
from protocol.errors import BadRequest, NotFound

_KEY: Final = re.compile(r"`\$\.(\w{1,40})`")


class Mode(StrEnum):
    """What a Discord server may be shown."""

    STRICT = "strict"
    """Codes, states and counts."""
    FULL = "full"
    """Replies too, in channels whose matter's consent is recorded."""


API: Final = "https://discord.com/api/v10"
GATEWAY: Final = "wss://gateway.discord.gg/"


class GuildSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bot application in one server."""

    mode: Mode
    """strict or full."""
    server: str
    """The id of the one Discord server it serves."""
    token_file: Path
    """The file that holds the application's token and nothing else."""
    key_file: Path
    """The bot's own SSH key; its user on the box has the role bot."""
    state: Path
    """What was bound and delivered: ids and numbers, no words."""
    api: str = API
    """The base of Discord's REST side."""
    gateway: str = GATEWAY
    """The address of Discord's gateway."""
    proxy: str = ""
    """An HTTP proxy on the way to Discord; the environment's is not used."""
    language: Literal["en", "ko"] = "en"
    """The language of what the bot says."""
    zone: str = "UTC"
    """The time zone of times it shows."""
    pace_s: float = 1.5
    """Seconds between two edits of one progress message."""

    def __post_init__(self) -> None:
        if not (self.server.isascii() and self.server.isdigit()):
            raise ValueError("server takes the numeric id of a Discord server")
        _address(self.api, "api", "https", "http")
        _address(self.gateway, "gateway", "wss", "ws")
        if self.proxy:
            _address(self.proxy, "proxy", "https", "http", local=False)
        if not 0.05 <= self.pace_s <= 60:
            raise ValueError("pace_s takes 0.05 to 60 seconds")
        zone(self.zone)


def default_file(mode: Mode) -> Path:
    """Where the settings of a mode lie when no file is named."""
    return config_folder() / f"discord-{mode}.toml"


def read(path: Path) -> GuildSettings:
    """The settings in a file.

    Raises:
        NotFound: There is no such file.
        BadRequest: It is not as it must be; the message names the key, never the value.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=GuildSettings, dec_hook=_path)
    except FileNotFoundError:
        raise NotFound(
            "this bot has no settings yet", next_step="run secondchair bot init --mode strict"
        ) from None
    except OSError as error:
        raise BadRequest(f"the bot's settings cannot be read ({error.strerror})") from None
    except msgspec.ValidationError as error:
        raise BadRequest(f"the bot's settings are not as they must be: {_why(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadRequest("the bot's settings are not TOML") from None


def explained(settings: GuildSettings) -> str:
    """A settings file for a new bot."""
    return "\n".join(
        [
            "# A bot of secondchair in one Discord server. The mode belongs to the server:",
            "# strict shows codes, states, counts; full shows replies where consent is recorded.",
            f"mode = {toml_value(settings.mode)}",
            f"server = {toml_value(settings.server)}",
            "# The application's token lies in this file, readable by you alone.",
            f"token_file = {toml_value(settings.token_file)}",
            f"key_file = {toml_value(settings.key_file)}",
            f"state = {toml_value(settings.state)}",
            f"language = {toml_value(settings.language)}",
            f"zone = {toml_value(settings.zone)}",
            "# proxy: an HTTP proxy on the way to Discord.",
            '# proxy = ""',
            "",
        ]
    )


def token(settings: GuildSettings) -> str:
    """The application's token.

    Raises:
        BadRequest: The file is missing, empty, or others may read it.
    """
    path = settings.token_file
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise BadRequest(
                "others on this machine may read the bot's token",
                next_step="chmod 600 on the token file, and think about a new token",
            )
        text = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise BadRequest(
            "the bot's token cannot be read", next_step="put it alone into the token file"
        ) from None
    if not text or any(character.isspace() for character in text):
        raise BadRequest("the token file must hold the token and nothing else")
    return text


def _why(error: msgspec.ValidationError) -> str:
    """What is wrong, without the value: the library repeats unknown keys and choices."""
    said = str(error)
    key = _KEY.search(said)
    where = f"`{key[1]}`" if key is not None else "the file"
    if said.startswith("Invalid enum value"):
        return f"{where} takes one of a few words"
    if said.startswith("Object contains unknown field"):
        return "it has a key that is not known"
    return said


def _address(text: str, key: str, safe: str, plain: str, *, local: bool = True) -> None:
    """Raises `ValueError` unless ``text`` is an address; plain text only to this machine."""
    parts = urlsplit(text)
    if parts.scheme not in (safe, plain) or not parts.hostname or parts.username or parts.query:
        raise ValueError(f"{key} takes an address that begins with {safe}://")
    if local and parts.scheme == plain and not _loopback(parts.hostname):
        raise ValueError(f"{key} without encryption is for this machine only")


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str) and value:
        return Path(value).expanduser()
    raise ValueError("takes a path")
