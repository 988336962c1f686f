"""Files that hold files: archives and mail folders, unpacked within bounds.

A zip container is looked at before anything of it is unpacked, also where it is a document.
"""

from __future__ import annotations

import io
import re
import zipfile

from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Part, Unread

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


def entries(data: bytes, folder: str) -> list[bytes]:
    """The files of one folder of a checked container that can be unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.startswith(folder)]
    return [body for name in names if (body := entry(data, name)) is not None]


def read_zip(data: bytes, name: str, options: LoadOptions) -> Draft:
    """An archive: a list of what is in it, and every file as a document of its own."""
    check(data)
    draft = Draft(kind="zip", pages=[PageDraft()])
    page = draft.pages[0]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            shown = _name(info)
            at = page.add(f"[File: {printable(shown)}]")
            content, problem = b"", ""
            try:
                content = archive.read(info)
            except Exception:  # a damaged entry breaks zlib, the checksum or the method
                problem = "it is damaged inside the archive and could not be unpacked"
            draft.parts.append(Part(name=shown, data=content, parent_at=at, problem=problem))
    if not draft.parts:
        raise Unread("the archive is empty")
    return draft


def _name(info: zipfile.ZipInfo) -> str:
    """An entry's name; old Korean archives hold it in CP949 without saying so."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        korean = info.filename.encode("cp437").decode("cp949")
    except UnicodeError:
        return info.filename
    return korean if any("가" <= char <= "힣" for char in korean) else info.filename


def printable(name: str) -> str:
    """A name as it may stand in a text: what cannot be seen is left out."""
    return "".join(char for char in name if char.isprintable())


_FROM = re.compile(rb"(?:\A|\r?\n\r?\n)(?=From [^\r\n]{3,200}\r?\n(?:[!-9;-~]+:|>))")


def read_mbox(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A mail folder in one file: every message is a document of its own (RFC 4155)."""
    starts = [match.end() for match in _FROM.finditer(data)]
    if not starts:
        raise Unread("the mail folder holds no message that begins as one should")
    draft = Draft(kind="mbox", pages=[PageDraft()])
    page = draft.pages[0]
    if data[: starts[0]].strip():
        draft.warn("bytes before the first message were not read")
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(data)], strict=True), 1):
        line_end = data.find(b"\n", start, end) + 1
        message = re.sub(rb"(?m)^>(>*From )", rb"\1", data[line_end:end])
        at = page.add(f"[Message {number}]")
        draft.parts.append(Part(name=f"message {number}.eml", data=message, parent_at=at))
    return draft
