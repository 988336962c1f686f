"""Which loader reads a file: by its content first, then by its suffix.

Also the one place where a loader's failure becomes an unreadable document instead of a crash, and
where the parts that came inside a file (attachments) are read in turn.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePath

from protocol.errors import AppError, NotFound, Refused
from rag.loaders import archive, legacy, names, plain
from rag.loaders.options import MAX_DEPTH, LoadOptions
from rag.loaders.parts import Draft, Part, Unread
from rag.loaders.textual import decode
from rag.paged import PagedText

Reader = Callable[[bytes, str, LoadOptions], Draft]
"""Bytes, name as given and options in; a draft out. Raises `Unread` when it cannot."""

_HEAD = 4096
MOST_FILE_BYTES = 2 << 30
MOST_INSIDE_BYTES = 1 << 30
"""Bytes of all files inside one file, at every depth, that are read."""
_MAIL_HEADER = re.compile(r"\A(?:From |(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){2,})", re.MULTILINE)
_MAIL_NAMES = re.compile(
    r"^(?:from|to|date|subject|received|message-id|mime-version|return-path|x-[a-z-]+):",
    re.IGNORECASE | re.MULTILINE,
)
_TRANSPORT = re.compile(r"^(?:mime-version|received|message-id|content-type):", re.I | re.M)
_HTML = re.compile(r"\A\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
)


def load(path: Path, *, name: str, options: LoadOptions) -> tuple[PagedText, ...]:
    """Read one file and everything inside it; the document itself stands first."""
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            raise Refused(f"files over {MOST_FILE_BYTES >> 30} GiB are not read: split it")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound("there is no such file") from error
    except IsADirectoryError as error:
        raise NotFound("this is a folder, not a file") from error
    except OSError as error:
        raise Refused("the file may not be opened") from error
    return load_bytes(data, name=name, options=options)


def load_bytes(data: bytes, *, name: str, options: LoadOptions) -> tuple[PagedText, ...]:
    """The same for bytes that are in memory already (an attachment)."""
    out: list[PagedText] = []
    gaps: list[PagedText] = []
    room, places = MOST_INSIDE_BYTES, options.max_parts
    waiting: list[tuple[Part, int | None, int]] = [
        (Part(name=name, data=data, parent_at=None), None, 0)
    ]
    while waiting:
        part, parent, depth = waiting.pop(0)
        text, parts, left = _read(part, parent, depth, room, places, options)
        room -= sum(len(inner.data) for inner in parts)
        places -= len(parts)
        out.append(text)
        at = len(out) - 1
        waiting += [(inner, at, depth + 1) for inner in parts]
        if left is not None:
            title = _left_name(part)
            gaps.append(left.finish(name=title, original=b"", parent=at, parent_at=None))
        if waiting:
            options.done(len(out), len(out) + len(waiting))
    return (*out, *gaps)  # last, so that the others keep their places and their ids


def _left_name(part: Part) -> str:
    return f"{PurePath(part.name).name} (files inside it)"


def _read(
    part: Part, parent: int | None, depth: int, room: int, places: int, options: LoadOptions
) -> tuple[PagedText, tuple[Part, ...], Draft | None]:
    """A file, the files inside it that are read in turn, and a document for those that are not.

    What is left out must count as unread, or the coverage under a reply would call it read.
    """
    kind = kind_of(part.data, part.name)
    try:
        if part.problem:
            raise Unread(part.problem)
        draft = _reader(kind)(part.data, part.name, options)
    except Unread as error:
        draft = Draft.unread(kind, str(error))
    except (AppError, MemoryError):
        raise
    except Exception as error:  # a damaged file may break a library anywhere
        draft = Draft.unread(kind, f"the file is damaged ({type(error).__name__})")
    kept = _within(draft.parts, depth, room, places)
    unread = None
    if left := len(draft.parts) - len(kept) + draft.unread_parts:
        why = "too deep inside other files" if depth >= MAX_DEPTH else "beyond the limit"
        draft.warn(f"{left} files inside this one were not read: {why}")
        unread = Draft.unread(kind, f"{left} files inside were not read: {why}")
    draft.findings[:0] = names.findings(part.name)
    original = part.data if parent is not None else None
    text = draft.finish(name=part.name, original=original, parent=parent, parent_at=part.parent_at)
    return text, tuple(kept), unread


def _within(parts: list[Part], depth: int, room: int, places: int) -> list[Part]:
    """The parts that are read: not too deep, not too many, not too large together."""
    if depth >= MAX_DEPTH:
        return []
    kept: list[Part] = []
    for part in parts[:places]:
        room -= len(part.data)
        if room < 0:
            break
        kept.append(part)
    return kept


def kind_of(data: bytes, name: str) -> str:
    """The file kind, from the first bytes, then from what is inside, then from the suffix."""
    head = data[:_HEAD]
    suffix = PurePath(name).suffix.lower().lstrip(".")
    if (at := head[:1024].find(b"%PDF-")) >= 0 and not _is_header(head[:at]):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _zip_kind(data)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return legacy.ole_kind(data)
    if head.startswith(b"\xffWPC"):
        return "wpd"
    if head.lstrip().startswith(b"{\\rtf"):
        return "rtf"
    for magic, kind in _IMAGES:
        if head.startswith(magic):
            return kind
    found = decode(data[: _HEAD * 4], whole=False)
    if found is None:
        # A message may carry raw bytes after its header.
        kind = _text_kind(head.decode("latin-1"), suffix)
        return kind if kind in {"eml", "mbox"} else "unknown"
    return _text_kind(found.text.lstrip("\ufeff"), suffix)


def _is_header(before: bytes) -> bool:
    """Whether bytes are the header of a message, whose body may speak of anything."""
    text = before.decode("latin-1").replace("\r\n", "\n")
    return bool(_MAIL_HEADER.match(text)) and len(_MAIL_NAMES.findall(text)) >= 2


def _text_kind(text: str, suffix: str) -> str:
    if _HTML.match(text):
        return "html"
    if suffix == "mbox" or (text.startswith("From ") and _MAIL_NAMES.search(text)):
        return "mbox"
    block = text.replace("\r\n", "\n")
    if _MAIL_HEADER.match(block):
        header = block.split("\n\n", 1)[0]
        # A message that somebody saved or printed as text is a text: its lines are its places.
        printed = suffix in {"txt", "text", "md"} and not _TRANSPORT.search(header)
        if suffix == "eml" or (len(_MAIL_NAMES.findall(header)) >= 3 and not printed):
            return "eml"
    if suffix in {"htm", "html"}:
        return "html"
    if suffix in {"csv", "tsv"}:
        return "csv"
    if suffix == "eml":
        return "eml"
    return "md" if suffix in {"md", "markdown"} else "txt"


def _zip_kind(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inside = set(archive.namelist())
            if "word/document.xml" in inside:
                return "docx"
            if "xl/workbook.xml" in inside:
                return "xlsx"
            if "ppt/presentation.xml" in inside:
                return "pptx"
            if "Contents/section0.xml" in inside or "Contents/content.hpf" in inside:
                return "hwpx"
            if "mimetype" in inside:
                kind = archive.read("mimetype")[:80]
                if kind.startswith(b"application/vnd.oasis.opendocument.text"):
                    return "odt"
                if kind.startswith(b"application/hwp+zip"):
                    return "hwpx"
                if kind.startswith(b"application/vnd.oasis.opendocument.spreadsheet"):
                    return "ods"
                if kind.startswith(b"application/vnd.oasis.opendocument.presentation"):
                    return "odp"
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, EOFError, KeyError):
        if b"word/document.xml" in data:
            return "docx"
        if b"xl/workbook.xml" in data:
            return "xlsx"
    return "zip"


def _reader(kind: str) -> Reader:
    """The loader of a kind, imported only when one is needed: some bring large libraries."""
    if kind == "pdf":
        from rag.loaders import pdf_reading

        return pdf_reading.read
    if kind == "docx":
        from rag.loaders import word

        return word.read
    if kind in {"eml", "msg"}:
        from rag.loaders import mail

        return mail.read_eml if kind == "eml" else mail.read_msg
    if kind == "html":
        from rag.loaders import markup

        return markup.read
    if kind in {"xlsx", "csv"}:
        from rag.loaders import sheet

        return sheet.read_xlsx if kind == "xlsx" else sheet.read_csv
    if kind in {"png", "jpeg", "tiff"}:
        from rag.loaders import image

        return image.read
    if kind == "hwpx":
        from rag.loaders import hangul

        return hangul.read
    if kind in {"zip", "mbox"}:
        return archive.read_zip if kind == "zip" else archive.read_mbox
    if kind in {"txt", "md"}:
        return plain.read
    return legacy.reader(kind)
