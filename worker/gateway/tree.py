"""The drop's virtual tree: ``/<matter>/inbox`` takes new files, ``/<matter>/out`` gives exports.

A path is never handed to the system. It is cut into at most three names here; the first must be a
matter this user may see, the second one of two words, the third a file name that is safe on every
system; each is then opened by directory handle, without following links. So there is no path to
escape with.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from protocol.ids import MatterId, matter_id

NAME_BYTES: Final = 200
"""Longest file name in UTF-8: below the 255 of common file systems, with room for a suffix."""

INCOMING: Final = "incoming"
"""Beside ``inbox``: files that are still being uploaded, where no reader looks."""

_FORBIDDEN: Final = frozenset('/\\:*?"<>|')
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_SAFE_CATEGORIES: Final = frozenset("LMNPSZ")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WAY: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""To pass through a matter's folder, which the gateway's user may not read."""
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Side(StrEnum):
    """The two folders of a matter."""

    INBOX = "inbox"
    OUT = "out"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the tree: the top, a matter, one of its two folders, or a file in one."""

    matter: MatterId | None = None
    side: Side | None = None
    name: str | None = None


class NoSuchPlace(Exception):
    """The tree has no such place, whether or not something of that name exists elsewhere."""


class BadName(Exception):
    """A name under which no file is taken; the text says why, without the name."""


def normal(path: bytes) -> str:
    """The path from the top of the tree, ``.`` and ``..`` resolved in it.

    Raises:
        NoSuchPlace: It is not UTF-8.
    """
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        raise NoSuchPlace from None
    return posixpath.normpath("/" + text.lstrip("/"))


def place(path: bytes) -> Place:
    """What a path means; nothing is looked at on disk.

    Raises:
        NoSuchPlace: The tree has no place of that shape.
    """
    names = [name for name in normal(path).split("/") if name]
    if len(names) > 3:
        raise NoSuchPlace
    try:
        matter = matter_id(names[0]) if names else None
        side = Side(names[1]) if len(names) > 1 else None
    except ValueError:
        raise NoSuchPlace from None
    name = unicodedata.normalize("NFC", names[2]) if len(names) > 2 else None
    return Place(matter=matter, side=side, name=name)


def check_name(name: str) -> None:
    """Checks that a new file's name is safe here, on Windows, in a terminal and in a log viewer.

    Raises:
        BadName: It is not.
    """
    if not 0 < len(name.encode()) <= NAME_BYTES:
        raise BadName("the file name is empty or too long")
    if name.startswith((".", "~$")) or name.endswith((".", " ")) or name != name.strip():
        raise BadName("the file name begins or ends with a dot or a space")
    if _FORBIDDEN & set(name) or _RESERVED.fullmatch(name):
        raise BadName("the file name is not allowed on every system")
    if any(unicodedata.category(c)[0] not in _SAFE_CATEGORIES for c in name):
        raise BadName("the file name holds characters that cannot be seen")
    if any(unicodedata.category(c)[0] == "Z" and c != " " for c in name):
        raise BadName("the file name holds a space of an unusual kind")


class Folder:
    """One of a matter's folders, held by handle; a context that closes it."""

    def __init__(self, matters: Path, matter: MatterId, name: str, *, make: bool = False) -> None:
        """Opens ``matters/<matter>/<name>`` step by step, following no link.

        Raises:
            NoSuchPlace: It is not there, or something on the way is no real folder.
        """
        self._top = self.handle = -1
        try:
            self._top = os.open(matters / matter_id(matter), _WAY)
            try:
                self.handle = os.open(name, _FOLDER, dir_fd=self._top)
            except FileNotFoundError:
                if not make:
                    raise
                os.mkdir(name, 0o700, dir_fd=self._top)
                self.handle = os.open(name, _FOLDER, dir_fd=self._top)
        except OSError:
            self.close()
            raise NoSuchPlace from None

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the handles."""
        for handle in (self.handle, self._top):
            if handle >= 0:
                os.close(handle)
        self.handle = self._top = -1

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Its regular files, by name; links, folders and hidden files are not shown."""
        for name in self._all():
            found = self.stat(name)
            if found is not None:
                yield name, found

    def _all(self) -> list[str]:
        return sorted(os.listdir(self.handle))  # noqa: PTH208 - by handle, which pathlib cannot

    def stat(self, name: str) -> os.stat_result | None:
        """What a regular file of that name is like; None when there is none."""
        if name.startswith("."):
            return None
        try:
            found = os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        return found if stat.S_ISREG(found.st_mode) else None

    def open(self, name: str) -> int:
        """A handle for reading a regular file.

        Raises:
            NoSuchPlace: There is none.
        """
        if self.stat(name) is None:
            raise NoSuchPlace
        try:
            handle = os.open(name, _FILE, dir_fd=self.handle)
        except OSError:
            raise NoSuchPlace from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise NoSuchPlace
        return handle

    def taken(self, name: str) -> bool:
        """Whether a name is used, in any case or composition of its letters."""
        folded = _folded(name)
        return any(_folded(other) == folded for other in self._all())


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())
