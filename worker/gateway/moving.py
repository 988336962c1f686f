"""Files on their way through the drop: an upload that appears whole or not at all, a download.

Requests of one connection run on several threads at once. A file is closed only when none of them
is at it, and a closed one refuses: a descriptor's number may be another file's by then.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import threading
import time
from pathlib import Path
from typing import Final

from protocol.ids import MatterId
from worker.gateway.tree import INCOMING, Folder, Side, check_name

_BLOCK_BYTES: Final = 1024 * 1024
_STALE_S: Final = 24 * 3600.0
_PART: Final = "part-"


class TooMuch(Exception):
    """The upload is larger than the drop takes."""


class NameTaken(Exception):
    """There is a file of that name already; nothing is overwritten."""


class Upload:
    """A new file for a matter's inbox. Every method blocks; call them in a thread."""

    def __init__(self, matters: Path, matter: MatterId, name: str, *, most_bytes: int) -> None:
        """Opens a part file beside the inbox.

        Raises:
            BadName: No file is taken under that name.
            NameTaken: It is used already.
            NoSuchPlace: The matter has no folder.
            OSError: The disk says no.
        """
        check_name(name)
        self.matter = matter
        self._name = name
        self._most = most_bytes
        self.size_bytes = 0
        """How far it was written; after `whole`, the file's size."""
        self._busy = threading.RLock()
        self._inbox = Folder(matters, matter, Side.INBOX, make=True)
        try:
            if self._inbox.taken(name):
                raise NameTaken
            self._incoming = Folder(matters, matter, INCOMING, make=True)
        except BaseException:
            self._inbox.close()
            raise
        _sweep(self._incoming)
        self._part = _PART + secrets.token_hex(16)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._handle = os.open(self._part, flags, 0o640, dir_fd=self._incoming.handle)
        except BaseException:
            self._close_folders()
            raise

    def write(self, offset: int, data: bytes) -> None:
        """Writes at an offset.

        Raises:
            TooMuch: The file would grow over the limit.
            OSError: The disk says no.
        """
        end = offset + len(data)
        if end > self._most:
            raise TooMuch
        with self._busy:
            while data:
                done = os.pwrite(self._open(), data, offset)
                data, offset = data[done:], offset + done
            self.size_bytes = max(self.size_bytes, end)

    def resize(self, size_bytes: int) -> None:
        """Cuts or fills it to a size; scp does so at the end of an upload.

        Raises:
            TooMuch: The size is over the limit.
            OSError: The disk says no.
        """
        if size_bytes > self._most:
            raise TooMuch
        with self._busy:
            os.ftruncate(self._open(), size_bytes)
            self.size_bytes = size_bytes

    def sync(self) -> None:
        """What was written is on the disk when this returns."""
        with self._busy:
            os.fsync(self._open())

    def whole(self) -> str:
        """The SHA-256 of what was written, which is on the disk when this returns."""
        with self._busy:
            self.sync()
            self.size_bytes = os.fstat(self._open()).st_size
            return _sha256(self._open())

    def place(self) -> None:
        """Puts the file into the inbox, all at once, and lets go.

        Raises:
            NameTaken: Another upload of that name was placed meanwhile.
            OSError: The disk says no; the file is gone then.
        """
        with self._busy:
            try:
                self._open()
                os.link(
                    self._part,
                    self._name,
                    src_dir_fd=self._incoming.handle,
                    dst_dir_fd=self._inbox.handle,
                    follow_symlinks=False,
                )
                os.fsync(self._inbox.handle)
            except FileExistsError:
                raise NameTaken from None
            finally:
                self.discard()

    def discard(self) -> None:
        """Removes the part file and lets go; calling it again does nothing."""
        with self._busy:
            if self._handle < 0:
                return
            os.close(self._handle)
            self._handle = -1
            with contextlib.suppress(OSError):
                os.unlink(self._part, dir_fd=self._incoming.handle)
            self._close_folders()

    def _open(self) -> int:
        return _still_open(self._handle)

    def _close_folders(self) -> None:
        for folder in (self._inbox, self._incoming):
            folder.close()


class Download:
    """A finished file of a matter's ``out/``. Every method blocks; call them in a thread."""

    def __init__(self, matters: Path, matter: MatterId, name: str) -> None:
        """Opens and hashes it, so that what is given can be recorded before it is.

        Raises:
            NoSuchPlace: There is no such file.
            OSError: The disk says no.
        """
        self.matter = matter
        self._busy = threading.Lock()
        with Folder(matters, matter, Side.OUT) as folder:
            self._handle = folder.open(name)
        try:
            self.size_bytes = os.fstat(self._handle).st_size
            self.sha256 = _sha256(self._handle)
        except BaseException:
            self.close()
            raise

    def read(self, offset: int, size: int) -> bytes:
        """Bytes at an offset; empty at the end.

        Raises:
            OSError: It is closed, or the disk says no.
        """
        with self._busy:
            return os.pread(_still_open(self._handle), min(size, _BLOCK_BYTES), offset)

    def close(self) -> None:
        """Lets go of the file; calling it again does nothing."""
        with self._busy:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1


def _still_open(handle: int) -> int:
    if handle < 0:
        raise OSError(errno.EBADF, "the file is closed")
    return handle


def _sha256(handle: int) -> str:
    digest, offset = hashlib.sha256(), 0
    while block := os.pread(handle, _BLOCK_BYTES, offset):
        digest.update(block)
        offset += len(block)
    return digest.hexdigest()


def _sweep(incoming: Folder) -> None:
    """Removes parts that a killed gateway left behind."""
    oldest = time.time() - _STALE_S
    for name, found in list(incoming.files()):
        if name.startswith(_PART) and found.st_mtime < oldest:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=incoming.handle)
