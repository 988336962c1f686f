"""Kinds read through an outside program, and kinds that cannot be read yet, each with its reason.

LibreOffice turns .doc, .rtf, .odt and .wpd into .docx, which the Word loader then reads with its
footnotes and comments; where it is absent antiword or catdoc give the plain words of .doc
(catdoc also those of .rtf).
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import olefile  # type: ignore[import-untyped]

from rag.loaders import plain, word
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, Unread
from rag.loaders.tools import run_tool

_NOT_YET = {
    "doc": "cannot read .doc here: install libreoffice-writer-nogui, antiword or catdoc",
    "rtf": "cannot read .rtf here: install libreoffice-writer-nogui or catdoc",
    "odt": "cannot read .odt here: install libreoffice-writer-nogui",
    "wpd": "cannot read WordPerfect files here: install libreoffice-writer-nogui",
    "hwp": "cannot read .hwp files: save as PDF or .docx in Hangul",
    "xls": "cannot read .xls workbooks: save as .xlsx",
    "ppt": "cannot read .ppt slides: save as PDF",
    "pptx": "cannot read .pptx slides: save as PDF",
    "ole": "cannot read this kind of file (an OLE container that is no document known here)",
    "unknown": "cannot read this kind of file: neither its content nor its suffix is known",
}
_OFFICE = {"doc", "rtf", "odt", "wpd"}
_STREAMS = (
    ("__properties_version1.0", "msg"),
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("BodyText", "hwp"),
)


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
        raise Unread(_NOT_YET.get(kind, _NOT_YET["unknown"]))

    return read


def _convert(kind: str, data: bytes, name: str, options: LoadOptions) -> Draft:
    with TemporaryDirectory(prefix="convert-") as folder:
        original = Path(folder) / f"in.{kind}"
        original.write_bytes(data)
        if office := shutil.which("soffice") or shutil.which("libreoffice"):
            draft = _office(office, original, name, options)
        else:
            draft = _words(kind, original, name, options)
    draft.kind = kind
    return draft


def _office(office: str, original: Path, name: str, options: LoadOptions) -> Draft:
    folder = original.parent
    run_tool(
        [
            office,
            f"-env:UserInstallation={(folder / 'profile').as_uri()}",
            "--headless",
            "--norestore",
            "--convert-to",
            "docx",
            "--outdir",
            str(folder),
            str(original),
        ],
        folder=folder,
        options=options,
    )
    made = folder / "in.docx"
    if not made.is_file():
        raise Unread("LibreOffice could not convert this file; it may be damaged or locked")
    draft = word.read(made.read_bytes(), name, options)
    draft.warn("read through a conversion to .docx by LibreOffice")
    return draft


def _words(kind: str, original: Path, name: str, options: LoadOptions) -> Draft:
    """The plain words through antiword or catdoc. Raises `Unread` when neither can."""
    if kind not in {"doc", "rtf"}:
        raise Unread(_NOT_YET[kind])
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
    raise Unread(_NOT_YET[kind])
