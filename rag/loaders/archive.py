"""Bounded unpacking: a zip container is looked at before anything of it is unpacked."""

from __future__ import annotations

import io
import zipfile

from rag.loaders.parts import Unread

MOST_BYTES = 400 << 20
"""Unpacked size beyond which a document is not opened."""
MOST_RATIO = 400
"""Unpacked to packed size beyond which it looks made to fill a disk."""
MOST_ENTRIES = 20_000


def check(data: bytes) -> None:
    """Raise `Unread` unless ``data`` is a zip that can be unpacked in bounded space."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError) as error:
        raise Unread("the file is damaged: its container cannot be opened") from error
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries) or 1
    if len(entries) > MOST_ENTRIES or total > MOST_BYTES:
        raise Unread("the file unpacks to more than is read from one document")
    if total > 50 << 20 and total / packed > MOST_RATIO:
        raise Unread("the file unpacks to a suspicious size and was not opened")
    if any(entry.flag_bits & 1 for entry in entries):
        raise Unread("the file is locked with a password: save a copy without it")


def entry(data: bytes, name: str) -> bytes | None:
    """One file of a checked container; None when it is not there or damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(name)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError, EOFError, RuntimeError):
        return None
    except Exception:  # zlib's own error and what else damage brings
        return None
