"""Kinds read through an outside program, and kinds that cannot be read, each with its reason.

LibreOffice turns text documents into .docx, workbooks into .xlsx and slides into PDF, which the
loaders of those kinds then read with their footnotes, comments and hidden parts; where it is absent
antiword or catdoc give the plain words of .doc (catdoc also those of .rtf).
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import olefile  # type: ignore[import-untyped]

from rag.loaders import pdf_reading, plain, sheet, word
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, Unread
from rag.loaders.tools import run_tool

_WRITER, _CALC, _IMPRESS = (f"libreoffice-{part}-nogui" for part in ("writer", "calc", "impress"))
_OFFICE = {
    "doc": ("docx", _WRITER),
    "rtf": ("docx", _WRITER),
    "odt": ("docx", _WRITER),
    "wpd": ("docx", _WRITER),
    "xls": ("xlsx", _CALC),
    "ods": ("xlsx", _CALC),
    "ppt": ("pdf", _IMPRESS),
    "pptx": ("pdf", _IMPRESS),
    "odp": ("pdf", _IMPRESS),
}
"""Kind to what LibreOffice turns it into, and the package that can."""
_NO_READER = {
    "hwp": "cannot read .hwp files: save as .hwpx, PDF or .docx in Hangul",
    "locked": "the document is locked with a password: save a copy without it",
    "ole": "cannot read this kind of file (an OLE container that is no document known here)",
    "unknown": "cannot read this kind of file: neither its content nor its suffix is known",
}
_STREAMS = (
    ("__properties_version1.0", "msg"),
    ("EncryptedPackage", "locked"),
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("BodyText", "hwp"),
)
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop>
<prop oor:name="DisableActiveContent" oor:op="fuse"><value>true</value></prop>
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop>
</item></oor:items>
"""
"""No macros, no links followed: a document must not make the box call anybody."""


def ole_kind(data: bytes) -> str:
    """The kind of an OLE container, by the streams it holds; "ole" when it is none we know."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as box:
            for stream, kind in _STREAMS:
                if box.exists(stream):
                    return kind
    except Exception:  # olefile raises what the damage happens to hit
        for stream, kind in _STREAMS:
            if stream.encode("utf-16-le") in data:
                return kind
    return "ole"


def reader(kind: str) -> Callable[[bytes, str, LoadOptions], Draft]:
    """The loader of a kind that has no reader of its own."""

    def read(data: bytes, name: str, options: LoadOptions) -> Draft:
        if kind in _OFFICE:
            return _convert(kind, data, name, options)
        raise Unread(_NO_READER.get(kind, _NO_READER["unknown"]))

    return read


def _convert(kind: str, data: bytes, name: str, options: LoadOptions) -> Draft:
    with TemporaryDirectory(prefix="convert-") as folder:
        original = Path(folder) / f"in.{kind}"
        original.write_bytes(data)
        office = shutil.which("soffice") or shutil.which("libreoffice")
        if office:
            draft = _office(office, kind, original, name, options)
        elif kind in {"doc", "rtf"}:
            draft = _words(kind, original, name, options)
        else:
            raise Unread(_missing(kind))
    draft.kind = kind
    return draft


def _missing(kind: str) -> str:
    plain = {"doc": ", antiword or catdoc", "rtf": " or catdoc"}.get(kind, "")
    return f"cannot read .{kind} files here: install {_OFFICE[kind][1]}{plain}"


def _office(office: str, kind: str, original: Path, name: str, options: LoadOptions) -> Draft:
    folder = original.parent
    target, package = _OFFICE[kind]
    settings = folder / "profile" / "user" / "registrymodifications.xcu"
    settings.parent.mkdir(parents=True)
    settings.write_text(_SETTINGS, "utf-8")
    run_tool(
        [
            office,
            f"-env:UserInstallation={(folder / 'profile').as_uri()}",
            "--headless",
            "--norestore",
            "--convert-to",
            target,
            "--outdir",
            str(folder),
            str(original),
        ],
        folder=folder,
        options=options,
    )
    made = folder / f"in.{target}"
    if not made.is_file():
        raise Unread(
            f"LibreOffice could not convert this file (damaged, locked, or {package} is missing)"
        )
    draft = _READERS[target](made.read_bytes(), name, options)
    draft.warn(f"read through a conversion to .{target} by LibreOffice")
    return draft


_READERS: dict[str, Callable[[bytes, str, LoadOptions], Draft]] = {
    "docx": word.read,
    "xlsx": sheet.read_xlsx,
    "pdf": pdf_reading.read,
}


def _words(kind: str, original: Path, name: str, options: LoadOptions) -> Draft:
    """The plain words through antiword or catdoc. Raises `Unread` when neither can."""
    tools = [("catdoc", ["-d", "utf-8", "-w"])]
    if kind == "doc":
        tools.insert(0, ("antiword", ["-m", "UTF-8.txt", "-w", "0"]))
    tried = False
    for tool, flags in tools:
        program = shutil.which(tool)
        if program is None:
            continue
        tried = True
        out = run_tool(
            [program, *flags, str(original)], folder=original.parent, options=options, check=False
        )
        if out.strip():
            draft = plain.read(out, name, options)
            draft.warn(
                f"read through {tool}: headers, comments and tracked changes are not seen; "
                "LibreOffice (libreoffice-writer-nogui) reads them"
            )
            return draft
    if tried:
        raise Unread("the converter gave no words; the file may be damaged or locked")
    raise Unread(_missing(kind))
