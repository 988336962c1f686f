"""The list of what a backup or an exported matter holds, with the hash of each part.

The list itself is sealed: beside it lies its own SHA-256, so that a changed byte anywhere shows.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Damaged, NotFound
from worker.keeping.copies import file_sha256
from worker.keeping.version import CURRENT

FORMAT: Final = 1
NAME: Final = "manifest.json"
SEAL: Final = "manifest.json.sha256"


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One archive."""

    name: str
    """Relative to the backup's folder."""
    sha256: str
    size_bytes: int


class Journal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a journal was when it was copied."""

    matter: str
    entries: int
    head: str
    """The seal of its last whole entry: a journal that was cut off later no longer holds it."""
    whole: bool
    """Whether its chain held; a broken one is kept as it is, since it is evidence, too."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Codes, counts and hashes only; no title and no name of a file of a matter."""

    format: int
    program: str
    state_version: int
    made_at: dt.datetime
    parts: tuple[Part, ...]
    journals: tuple[Journal, ...]
    matters: tuple[str, ...]
    host_keys: bool
    """Whether the gateway's private keys are in it; only root can read them on a service box."""


def write_manifest(folder: Path, manifest: Manifest) -> str:
    """Writes list and seal, both on disk afterwards; gives the list's hash."""
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    sha256 = hashlib.sha256(content).hexdigest()
    for name, data in ((NAME, content), (SEAL, _seal_of(sha256))):
        handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    return sha256


def read_manifest(folder: Path) -> Manifest:
    """The list, after its own seal was checked.

    Raises:
        NotFound: There is no list: the folder is no backup, or one that was cut off.
        Damaged: It does not match its seal.
        BadRequest: A newer program made it.
    """
    path = folder / NAME
    if not path.is_file():
        raise NotFound("this folder holds no whole backup")
    try:
        seal = (folder / SEAL).read_bytes()
    except OSError:
        raise Damaged("the backup's list has no seal") from None
    if seal != _seal_of(file_sha256(path)):
        raise Damaged("the backup's list does not match its seal")
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.MsgspecError as error:
        raise Damaged("the backup's list cannot be read") from error
    if manifest.format > FORMAT or manifest.state_version > CURRENT:
        raise BadRequest(
            "this backup was made by a newer version", next_step="install the newer secondchair"
        )
    return manifest


def _seal_of(sha256: str) -> bytes:
    """As ``sha256sum`` writes it, so that the system's own tool can check it, too."""
    return f"{sha256}  {NAME}\n".encode("ascii")


def check_parts(folder: Path, manifest: Manifest) -> list[str]:
    """What is wrong with the parts, one sentence each; empty when all of them are as listed."""
    wrong = []
    for part in manifest.parts:
        path = folder / part.name
        if not path.is_file():
            wrong.append(f"{part.name} is missing")
        elif path.stat().st_size != part.size_bytes:
            wrong.append(f"{part.name} has another size than listed")
        elif file_sha256(path) != part.sha256:
            wrong.append(f"{part.name} does not match its hash")
    listed = {part.name for part in manifest.parts} | {NAME, SEAL}
    extra = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - listed
    wrong += [f"{name} is not listed" for name in sorted(extra)]
    return wrong
