"""The settings of this side: one TOML file, then ``SECONDCHAIR_*`` variables, then flags.

Every key has a default and one sentence; unknown keys are refused. An error names the key and what
it takes and never repeats the value, so a question or a secret pasted into the wrong place stays
out of logs. The private key is a path, never a value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_type_hints

import msgspec
import platformdirs

from bot.look import zone
from protocol.errors import BadRequest
from protocol.ids import matter_id

PREFIX: Final = "SECONDCHAIR_"
_APP: Final = "secondchair"


def config_folder() -> Path:
    """Where this person's settings, key and pinned host keys lie."""
    return Path(platformdirs.user_config_dir(_APP, appauthor=False))


def state_file(config: Path | None) -> Path:
    """Where this side counts what was shown: beside a settings file that was named."""
    if config is not None:
        return config.parent / "outbox.sqlite"
    return Path(platformdirs.user_state_dir(_APP, appauthor=False)) / "outbox.sqlite"


def config_path() -> Path:
    """The settings file that is read when none is named."""
    return config_folder() / "bot.toml"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person may set on this side."""

    host: str = "127.0.0.1"
    """The box's SSH gateway: a name or an address of the office network."""
    port: int = 8022
    """The gateway's port, 1 to 65535."""
    key_file: Path = msgspec.field(default_factory=lambda: config_folder() / "id_ed25519")
    """The private key that says who you are; made by init."""
    known_hosts: Path = msgspec.field(default_factory=lambda: config_folder() / "known_hosts")
    """The gateway's host keys, current and spare, as the operator gave them to you."""
    matter: str = ""
    """The matter that a chat opens first, such as M-7F3K; empty opens the only one or lists."""
    demo_matter: str = ""
    """A matter of invented text, for which a question may stand on a command line."""
    language: Literal["en", "ko"] = "en"
    """The language of the face: en or ko."""
    zone: str = "UTC"
    """The time zone in which times are shown, such as Asia/Seoul."""
    signs: Literal["auto", "unicode", "ascii"] = "auto"
    """Marks as signs or in ASCII; auto asks the terminal's encoding."""
    width: int = 0
    """Cells of a line, 40 or more; 0 takes the terminal's, 100 where there is none."""


_TAKES: Final = {
    "host": "a name or an address",
    "port": "a number from 1 to 65535",
    "key_file": "a path",
    "known_hosts": "a path",
    "matter": "a matter's code, such as M-7F3K, or nothing",
    "demo_matter": "a matter's code, such as M-7F3K, or nothing",
    "language": "en or ko",
    "zone": "the name of a time zone, such as Asia/Seoul",
    "signs": "auto, unicode or ascii",
    "width": "0, or a number of 40 or more",
}
"""What each key takes, for errors and for the file that init writes."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Settings and where each value came from."""

    settings: Settings
    sources: dict[str, str]
    """Key to "default", "file", "environment" or "flag"."""


def load(
    path: Path | None = None,
    *,
    environment: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """The settings of file, environment and flags, later ones winning.

    Args:
        path: The TOML file; `config_path` when None, where a missing file means defaults.
        environment: The process's environment; other ``SECONDCHAIR_*`` names are not ours.
        flags: Values from the command line; None values are left out.

    Raises:
        BadRequest: A key is unknown or a value is not what it takes; the value is not repeated.
    """
    named = path is not None
    path = path if path is not None else config_path()
    keys = Settings.__struct_fields__
    values: dict[str, Any] = {}
    sources = dict.fromkeys(keys, "default")
    if named or path.exists():
        for key, value in _read(path).items():
            if key not in keys:
                raise BadRequest(
                    f"setting `{_printable(key)}` in the file is not known",
                    next_step="see secondchair doctor for the known ones",
                )
            values[key], sources[key] = _checked(key, value, strict=True), "file"
    for key in keys:
        text = environment.get(PREFIX + key.upper())
        if text is not None:
            values[key], sources[key] = _checked(key, text, strict=False), "environment"
        flag = (flags or {}).get(key)
        if flag is not None:
            values[key], sources[key] = _checked(key, flag, strict=False), "flag"
    return Loaded(settings=Settings(**values), sources=sources)


def explained() -> str:
    """A settings file that says what every key is for, each at its default and commented out."""
    lines = ["# Settings of secondchair on this machine. Remove a # to set a value.", ""]
    for key, takes in _TAKES.items():
        default = toml_value(getattr(Settings(), key))
        lines += [f"# {key}: {takes}.", f"# {key} = {default}", ""]
    return "\n".join(lines)


def toml_value(value: object) -> str:
    """A setting's value as TOML: a number, or a string (JSON's form is one of TOML's)."""
    return str(value) if isinstance(value, int) else msgspec.json.encode(str(value)).decode()


def _checked(key: str, value: object, *, strict: bool) -> object:
    """The value as its key takes it."""
    try:
        made = msgspec.convert(value, get_type_hints(Settings)[key], strict=strict, dec_hook=_path)
        _within(key, made)
    except (msgspec.ValidationError, ValueError):
        raise BadRequest(f"setting `{key}` takes {_TAKES[key]}") from None
    return made


def _within(key: str, value: Any) -> None:
    """Raises `ValueError` for a value of the right type that makes no sense."""
    match key:
        case "port" if not 1 <= value <= 65535:
            raise ValueError
        case "width" if value != 0 and value < 40:
            raise ValueError
        case "host" if not value or any(character.isspace() for character in value):
            raise ValueError
        case "zone":
            zone(value)
        case "matter" | "demo_matter" if value:
            matter_id(value)
        case _:
            pass


def _printable(key: str) -> str:
    """An unknown key as it may be repeated: only if it looks like a key."""
    return key if key.isascii() and key.isidentifier() and len(key) <= 40 else "?"


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadRequest(f"the settings file cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise BadRequest("the settings file is not TOML") from None


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str | Path) and str(value):
        try:
            return Path(value).expanduser()
        except RuntimeError:  # "~somebody" who has no home here
            raise ValueError from None
    raise ValueError
