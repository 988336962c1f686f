"""First use on a PC: a settings file that explains itself, a key of one's own, pinned host keys.

Nothing that is there is overwritten. The private key is written with mode 0600 in a folder with
mode 0700 and never leaves this machine; the public line is what the operator needs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from bot.config import Settings, config_path, explained, toml_value
from protocol.errors import BadRequest, Unavailable


def prepare(
    settings: Settings,
    config: Path | None,
    flags: Mapping[str, object],
    known_hosts_from: Path | None,
) -> Iterator[str]:
    """Makes what is missing and says each thing it did or found, in one sentence.

    Args:
        settings: What file, environment and flags say now.
        config: Where to write the settings; `config_path` when None.
        flags: Values of this command line, which are written into a new file.
        known_hosts_from: Host keys that the operator gave; copied, not changed.

    Raises:
        BadRequest: The host keys cannot be read.
        Unavailable: The disk refuses.
    """
    try:
        values = {key: getattr(settings, key) for key, flag in flags.items() if flag is not None}
        yield _settings_file(config if config is not None else config_path(), values)
        yield _key(settings.key_file)
        if known_hosts_from is not None:
            yield _pin(known_hosts_from, settings.known_hosts)
        public = settings.key_file.with_name(settings.key_file.name + ".pub")
        yield f"for the operator: secondchair-worker users add NAME --key {public.name}"
        yield public.read_text("utf-8").strip()
    except OSError as error:
        raise Unavailable(f"a file could not be written ({error.strerror})") from error


def prepare_bot(config: Path, text: str, key_file: Path) -> Iterator[str]:
    """Makes the settings file and the key of a bot, and says each thing it did or found.

    Args:
        config: Where its settings go; what is there is kept.
        text: The settings.
        key_file: Where its SSH key goes; what is there is kept.

    Raises:
        Unavailable: The disk refuses.
    """
    try:
        if config.exists():
            yield f"settings: {config} is there already, with the mode it was made with"
        else:
            config.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_private(config, text.encode())
            yield f"settings: wrote {config}"
        yield _key(key_file)
        public = key_file.with_name(key_file.name + ".pub")
        yield "for the operator: secondchair-worker users add NAME --role bot --key " + public.name
        yield public.read_text("utf-8").strip()
    except OSError as error:
        raise Unavailable(f"a file could not be written ({error.strerror})") from error


def _settings_file(path: Path, values: Mapping[str, object]) -> str:
    if path.exists():
        return f"settings: {path} is there already"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = explained().splitlines()
    for key, value in values.items():
        at = next(n for n, line in enumerate(lines) if line.startswith(f"# {key} = "))
        lines[at] = f"{key} = {toml_value(value)}"
    _write_private(path, ("\n".join(lines) + "\n").encode())
    return f"settings: wrote {path}"


def _key(path: Path) -> str:
    if path.exists():
        return f"key: {path} is there already"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_name(path.name + ".pub").write_bytes(public + b"\n")
    _write_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    return f"key: made {path}"


def _pin(source: Path, target: Path) -> str:
    if target.exists():
        return f"host keys: {target} is there already"
    if not source.is_file():
        raise BadRequest("the file with the host keys is not there")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return f"host keys: pinned in {target}"


def _write_private(path: Path, data: bytes) -> None:
    """Writes a new file that only this person may read, from its first moment on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
