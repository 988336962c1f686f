"""The key registry: which key is which user, in which role, on which matters.

One strict TOML file (``registry/users.toml``), read by the gateway and the worker, written by the
worker. An unknown field, a doubled key or a key of a kind we do not take makes the whole file
unreadable: a typo must never widen somebody's rights. What a role may do is decided in
`worker/access.py`, nowhere here.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import hashlib
import ipaddress
import os
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Conflict, NotFound
from protocol.ids import MatterId, UserName, matter_id, user_name

KEY_KINDS: Final = frozenset(
    {
        "ssh-ed25519",
        "sk-ssh-ed25519@openssh.com",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "ssh-rsa",
    }
)
"""Kinds of public keys that are taken; an RSA key signs with SHA-512 only."""

MIN_RSA_BITS: Final = 3072
"""NIST SP 800-57 part 1: 128 bits of strength."""


class Role(StrEnum):
    """What a user is; exactly one each."""

    LAWYER = "lawyer"
    """Asks, reads, exports what is approved."""
    REVIEWER = "reviewer"
    """A lawyer who may also decide on drafts."""
    OPERATOR = "operator"
    """Runs the box; sees health, never a matter."""
    BOT = "bot"
    """A program that acts for mapped people only."""
    BOX = "box"
    """Another box that may have calls of a model made here; nothing else."""


class Disclosure(StrEnum):
    """What a bot's chat server may be shown."""

    STRICT = "strict"
    """Codes, states and counts."""
    FULL = "full"
    """Replies too, where the matter consented."""


class Key(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One public key of a user."""

    public: str
    """As in a ``.pub`` file: kind, base64; a comment is dropped."""
    expires: dt.date | None = None
    """The last day (UTC) on which it works."""
    networks: tuple[str, ...] = ()
    """Where it may come from, as CIDR; empty means anywhere the gateway listens."""
    revoked: bool = False

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "public", " ".join(self.public.split()[:2]))
        _check_public(self.public)
        for network in self.networks:
            try:
                ipaddress.ip_network(network)
            except ValueError:
                raise ValueError("networks are written as CIDR, such as 192.168.10.0/24") from None

    @property
    def fingerprint(self) -> str:
        """``SHA256:...`` as ssh-keygen prints it."""
        return fingerprint(self.public)

    def works(self, *, peer: str, now: dt.datetime) -> bool:
        """Whether this key opens the door at ``now`` for somebody at address ``peer``."""
        if self.revoked or (self.expires is not None and now.date() > self.expires):
            return False
        return not self.networks or _within(peer, self.networks)


class User(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One user and what he is given."""

    name: str
    role: Role
    keys: tuple[Key, ...] = ()
    matters: tuple[str, ...] = ()
    discord: tuple[str, ...] = ()
    """Numeric ids of the accounts that are this person."""
    approve_from_chat: bool = False
    language: str = "en"
    disclosure: Disclosure = Disclosure.STRICT
    """For a bot: the mode of the chat server it serves."""

    def __post_init__(self) -> None:
        user_name(self.name)
        for matter in self.matters:
            matter_id(matter)
        if not all(account.isascii() and account.isdigit() for account in self.discord):
            raise ValueError("discord holds numeric account ids as text")
        if self.role in (Role.OPERATOR, Role.BOX) and self.matters:
            raise ValueError("an operator's or a box's key opens no matter")


class Wall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keeps named users out of a matter, whatever else they are given."""

    matter: str
    users: tuple[str, ...]

    def __post_init__(self) -> None:
        matter_id(self.matter)
        for name in self.users:
            user_name(name)


class Registry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All users, as the file says."""

    version: int = 1
    users: tuple[User, ...] = ()
    walls: tuple[Wall, ...] = ()

    def __post_init__(self) -> None:
        if self.version != 1:
            raise ValueError("this registry is of another version")
        _unique("user", (user.name for user in self.users))
        _unique("key", (key.fingerprint for user in self.users for key in user.keys))
        _unique("discord id", (account for user in self.users for account in user.discord))

    def user(self, name: str) -> User | None:
        """The user of that name."""
        return next((user for user in self.users if user.name == name), None)

    def by_key(self, mark: str) -> tuple[User, Key] | None:
        """The user and key behind a fingerprint, working or not."""
        return next(
            ((user, key) for user in self.users for key in user.keys if key.fingerprint == mark),
            None,
        )

    def by_discord(self, account: str) -> User | None:
        """The person behind a Discord account."""
        return next((user for user in self.users if account in user.discord), None)

    def walled(self, name: str, matter: MatterId) -> bool:
        """Whether a wall keeps the user out of the matter."""
        return any(wall.matter == matter and name in wall.users for wall in self.walls)


def fingerprint(public: str) -> str:
    """The SHA-256 fingerprint of a public key line, as ssh-keygen prints it.

    Raises:
        ValueError: The line is no public key.
    """
    digest = hashlib.sha256(_blob(public)).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def read(path: Path) -> Registry:
    """The registry in a file.

    Raises:
        NotFound: There is no such file.
        BadRequest: It cannot be read as it must be; the message names the field, not its value.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFound("there is no key registry yet", next_step="run init") from None
    try:
        return msgspec.toml.decode(data, type=Registry)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the key registry is not as it must be: {error}") from None
    except msgspec.DecodeError:
        raise BadRequest("the key registry is not TOML") from None


def write(path: Path, registry: Registry) -> None:
    """Replaces the file as a whole; readers see the old one or the new one, never a part."""
    data = msgspec.toml.encode(registry)
    msgspec.toml.decode(data, type=Registry)
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".users-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o640)  # the gateway's group reads it
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def with_user(registry: Registry, user: User) -> Registry:
    """The registry with one more user.

    Raises:
        Conflict: The name or one of the keys is taken.
    """
    if registry.user(user.name) is not None:
        raise Conflict("there is a user of that name already")
    if any(registry.by_key(key.fingerprint) for key in user.keys):
        raise Conflict("that key belongs to another user already")
    return msgspec.structs.replace(registry, users=(*registry.users, user))


def with_matter(registry: Registry, name: UserName, matter: MatterId) -> Registry:
    """The registry with a matter given to a user.

    Raises:
        NotFound: There is no such user.
    """
    user = registry.user(name)
    if user is None:
        raise NotFound("there is no such user")
    given = user.matters if matter in user.matters else (*user.matters, matter)
    return _changed(registry, msgspec.structs.replace(user, matters=given))


def without_matter(registry: Registry, matter: MatterId) -> Registry:
    """The registry in which nobody has a matter, for one that is closed. Walls stay: the matter may
    come back from a copy."""
    users = tuple(
        msgspec.structs.replace(user, matters=tuple(one for one in user.matters if one != matter))
        for user in registry.users
    )
    return msgspec.structs.replace(registry, users=users)


def with_revoked(registry: Registry, mark: str) -> Registry:
    """The registry with a key revoked; live connections that use it are closed.

    Raises:
        NotFound: No user has a key with that fingerprint.
    """
    found = registry.by_key(mark)
    if found is None:
        raise NotFound("no user has that key")
    user, _ = found
    keys = tuple(
        msgspec.structs.replace(key, revoked=True) if key.fingerprint == mark else key
        for key in user.keys
    )
    return _changed(registry, msgspec.structs.replace(user, keys=keys))


class RegistryFile:
    """The registry as it stands on disk now, read again when the file changes.

    A file that became unreadable leaves the last good registry in force and sets `broken`: the
    gateway then lets nobody new in, and those inside keep the rights they had.
    """

    def __init__(self, path: Path) -> None:
        """Reads the file.

        Raises:
            NotFound: There is no such file.
            BadRequest: It cannot be read as it must be.
        """
        self._path = path
        self._seen = _stamp(path)
        self._current = read(path)
        self.broken: BadRequest | NotFound | None = None

    def current(self) -> Registry:
        """The registry in force; costs one ``stat`` when nothing changed."""
        seen = _stamp(self._path)
        if seen != self._seen or self.broken is not None:
            self._seen = seen
            try:
                self._current = read(self._path)
                self.broken = None
            except (BadRequest, NotFound) as error:
                self.broken = error
        return self._current


def _changed(registry: Registry, user: User) -> Registry:
    users = tuple(user if old.name == user.name else old for old in registry.users)
    return msgspec.structs.replace(registry, users=users)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _unique(what: str, values: Iterator[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"a {what} stands there twice")
        seen.add(value)


def _within(peer: str, networks: tuple[str, ...]) -> bool:
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return any((mapped or address) in ipaddress.ip_network(network) for network in networks)


def _blob(public: str) -> bytes:
    parts = public.split()
    if len(parts) < 2:
        raise ValueError("a public key line holds a kind and base64 text")
    try:
        return base64.b64decode(parts[1], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a public key line holds a kind and base64 text") from None


def _check_public(public: str) -> None:
    kind = public.split(maxsplit=1)[0] if public else ""
    if kind not in KEY_KINDS:
        raise ValueError("a public key of a kind that is not taken")
    fields = list(_fields(_blob(public)))
    if not fields or fields[0] != kind.encode():
        raise ValueError("a public key whose inside is of another kind")
    if kind == "ssh-rsa" and int.from_bytes(fields[2]).bit_length() < MIN_RSA_BITS:
        raise ValueError(f"an RSA key shorter than {MIN_RSA_BITS} bits")


def _fields(blob: bytes) -> Iterator[bytes]:
    """The length-prefixed strings of an SSH blob (RFC 4251 section 5)."""
    at = 0
    while at < len(blob):
        size = int.from_bytes(blob[at : at + 4])
        if at + 4 + size > len(blob):
            raise ValueError("a public key that is cut off")
        yield blob[at + 4 : at + 4 + size]
        at += 4 + size
