"""Hangul documents in their XML form (.hwpx, KS X 6101): paragraphs and tables.

Only what stands in the sections' paragraphs is read; headers, notes and tracked changes keep their
words inside the paragraph they hang on. The older binary .hwp needs a conversion.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from rag.loaders import archive
from rag.loaders.hidden import without_unseen
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Unread
from rag.paged import PlaceKind

_SECTION = re.compile(r"^Contents/section(\d+)\.xml$")


def read(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A .hwpx file; one page. Raises `Unread` when it is damaged or encrypted."""
    archive.check(data)
    if b"encryption-data" in (archive.entry(data, "META-INF/manifest.xml") or b""):
        raise Unread("the Hangul document is locked with a password: save a copy without it")
    with zipfile.ZipFile(io.BytesIO(data)) as box:
        sections = sorted(
            (int(match.group(1)), entry)
            for entry in box.namelist()
            if (match := _SECTION.match(entry))
        )
    page = PageDraft()
    for _, entry in sections:
        source = archive.entry(data, entry)
        if source is None:
            raise Unread("the Hangul document is damaged")
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
        try:
            root = etree.fromstring(source, parser)
        except etree.XMLSyntaxError as error:
            raise Unread("the Hangul document is damaged") from error
        for child in root:
            _block(child, page)
    page.text = page.text.rstrip("\n")
    draft = Draft(kind="hwpx", pages=[page])
    draft.warn("a Hangul document: page breaks and automatic numbers are not read")
    return draft


def _local(element: Any) -> str:
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""


def _block(paragraph: Any, page: PageDraft) -> None:
    if _local(paragraph) != "p":
        return
    start = page.add("")
    later: list[Any] = []
    for run in paragraph:
        for child in run:
            kind = _local(child)
            if kind == "t":
                words = "".join(_characters(child))
                page.text += without_unseen(words, page, len(page.text))
            elif kind == "tbl":
                later.append(child)
            elif kind in {"ctrl", "rect", "header", "footer", "footNote", "endNote"}:
                later += [inner for inner in child.iter() if _local(inner) == "subList"]
    if page.text[start:].strip():
        page.paragraphs += 1
        page.place(PlaceKind.PARAGRAPH, start, len(page.text), f"#{page.paragraphs}")
    for child in later:
        if _local(child) == "tbl":
            _table(child, page)
        else:
            for inner in child:
                _block(inner, page)


def _characters(text: Any) -> list[str]:
    out = [text.text or ""]
    for child in text:
        out.append({"tab": "\t", "lineBreak": "\n", "nbSpace": "\u00a0"}.get(_local(child), ""))
        out.append(child.tail or "")
    return out


def _table(table: Any, page: PageDraft) -> None:
    """One line a row; a cell's paragraphs stand on lines of their own within it."""
    for row in (child for child in table if _local(child) == "tr"):
        page.add("")
        for at, cell in enumerate(child for child in row if _local(child) == "tc"):
            if at:
                page.text += "\t"
            words = [
                "".join(
                    part
                    for text in inner.iter()
                    if _local(text) == "t"
                    for part in _characters(text)
                )
                for inner in cell.iter()
                if _local(inner) == "p"
            ]
            page.text += without_unseen("\n".join(words), page, len(page.text))
