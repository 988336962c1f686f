"""Word documents: body, tables, headers, footers, notes, comments, tracked changes.

A .docx has no pages, so the document is one page and its paragraphs are its places. Words that were
struck out by a tracked change are no words of the text: they are listed as findings. A second
reader counts the words of the raw XML.
"""

from __future__ import annotations

import io
import re
from typing import Any

import docx  # noqa: TID251
from lxml import etree  # type: ignore[import-untyped]
from PIL import Image

from rag.loaders import archive, second, word_runs
from rag.loaders.hidden import without_unseen
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Part, Unread
from rag.loaders.word_numbers import Numbers
from rag.loaders.word_runs import MC, Looks, W
from rag.paged import FindingKind, PlaceKind

_PRINTED = re.compile(r"^\s*(?:¶\s*)?(\d{1,4}(?:\.\d{1,3}){0,4})[.)]?\s")
_LARGE_PICTURE = 300_000
"""Pixels; logos and signatures are smaller."""
_ORDINARY_NOTES = {"separator", "continuationSeparator", "continuationNotice"}
_PARSER = {"resolve_entities": False, "no_network": True, "huge_tree": False}


def read(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A .docx file. Raises `Unread` when it is damaged or locked."""
    archive.check(data)
    try:
        document = docx.Document(io.BytesIO(data))
        reading = _Reading(document)
        page = reading.page()
    except Unread:
        raise
    except Exception as error:
        raise Unread(f"the Word document is damaged ({type(error).__name__})") from error
    draft = Draft(kind="docx", pages=[page])
    draft.title = ""
    if reading.insertions:
        draft.warn(f"{reading.insertions} tracked insertions are not accepted; they are marked")
    if reading.deletions:
        draft.warn(f"{reading.deletions} tracked deletions are not accepted; kept out of the text")
    for part in document.part.package.iter_parts():
        place = str(part.partname)
        if "/embeddings/" in place or "/afchunk" in place.lower() or _is_scan(place, part.blob):
            draft.parts.append(Part(name=place.rsplit("/", 1)[-1], data=part.blob, parent_at=None))
    if draft.parts:
        draft.warn("pictures and files inside this document are documents of their own")
    if options.second_reader:
        _count_again(data, reading, page)
    return draft


def _is_scan(place: str, blob: bytes) -> bool:
    """Whether a picture in the document is large enough to hold words that matter."""
    if "/media/" not in place:
        return False
    try:
        with Image.open(io.BytesIO(blob), formats=["PNG", "JPEG", "TIFF"]) as picture:
            return picture.width * picture.height >= _LARGE_PICTURE
    except Exception:  # a drawing or a damaged picture
        return False


class _Reading:
    """One document while it is read."""

    def __init__(self, document: Any) -> None:
        self._body = document.element.body
        self._parts: dict[str, list[Any]] = {}
        for part in document.part.package.iter_parts():
            key = str(part.partname).rsplit("/", 1)[-1]
            stem = re.sub(r"\d*\.xml$", "", key)
            if str(part.partname).startswith("/word/") and key.endswith(".xml"):
                self._parts.setdefault(stem, []).append(part)
        self._looks = Looks(self._root("styles"))
        self._numbers = Numbers(self._root("numbering"))
        self._notes = self._number_notes()
        self._page = PageDraft()
        self._ordinal = self._tables = 0
        self.insertions = self.deletions = 0
        self.words = 0

    def _root(self, stem: str) -> Any | None:
        parts = self._parts.get(stem, [])
        return etree.fromstring(parts[0].blob, etree.XMLParser(**_PARSER)) if parts else None

    def page(self) -> PageDraft:
        """The whole document as one page."""
        self._repeat("header", PlaceKind.HEADER)
        self._blocks(self._body)
        for kind in ("footnote", "endnote"):
            self._note_texts(kind)
        self._repeat("footer", PlaceKind.FOOTER)
        self._comments()
        self._page.text = self._page.text.rstrip("\n")
        return self._page

    def _blocks(self, holder: Any, *, shade: bool = False, numbered: bool = True) -> None:
        for child in holder:
            if child.tag == W + "p":
                self._paragraph(child, shade=shade, numbered=numbered)
            elif child.tag == W + "tbl":
                self._table(child)
            elif child.tag in {W + "sdt", W + "sdtContent", W + "customXml", W + "ins"}:
                self._blocks(child, shade=shade, numbered=numbered)
            elif child.tag == MC + "AlternateContent":
                choice = child.find(MC + "Choice")
                if choice is not None:
                    self._blocks(choice, shade=shade, numbered=numbered)

    def _paragraph(self, element: Any, *, shade: bool = False, numbered: bool = True) -> None:
        page = self._page
        number = self._number(element)
        start = page.add(f"{number}\t" if number else "")
        paragraph = word_runs.read(element, self._looks, self._notes, shade=shade)
        self._pieces(paragraph)
        words = page.text[start:]
        page.text += "\n"
        if numbered and words.strip():
            self._ordinal += 1
            match = _PRINTED.match(words)
            label = match.group(1) if match else f"#{self._ordinal}"
            page.place(PlaceKind.PARAGRAPH, start, start + len(words), label)
            if self._style_name(element).startswith(("heading", "title")):
                page.place(PlaceKind.HEADING, start, start + len(words), words.strip())
        for box in paragraph.boxes:
            self._blocks(box, numbered=numbered)

    def _pieces(self, paragraph: word_runs.Paragraph) -> None:
        page = self._page
        for piece in paragraph.pieces:
            at = len(page.text)
            if piece.change == "deletion":
                self.deletions += 1
                reason = "struck out by a tracked change that nobody has accepted"
                page.find(FindingKind.HIDDEN_TEXT, at, reason, piece.text)
                page.place(PlaceKind.DELETION, at, at, piece.by)
                continue
            self.words += len(piece.text.split())
            if piece.hidden and piece.text.strip():
                page.find(FindingKind.HIDDEN_TEXT, at, piece.hidden, piece.text)
                continue
            page.text += without_unseen(piece.text, page, at)
            if piece.change == "insertion":
                self.insertions += 1
                page.place(PlaceKind.INSERTION, at, len(page.text), piece.by)

    def _style(self, element: Any) -> str:
        style = element.find(f"{W}pPr/{W}pStyle")
        return "" if style is None else style.get(W + "val", "")

    def _style_name(self, element: Any) -> str:
        style = self._style(element)
        return self._looks.names.get(style, style.lower())

    def _number(self, element: Any) -> str:
        number = element.find(f"{W}pPr/{W}numPr")
        if number is None:
            number = self._looks.numbering.get(self._style(element))
        if number is None:
            return ""
        key, depth = number.find(W + "numId"), number.find(W + "ilvl")
        level = "0" if depth is None else depth.get(W + "val", "0")
        if key is None or not level.isdigit():
            return ""
        return self._numbers.next(key.get(W + "val", ""), int(level))

    def _table(self, table: Any) -> None:
        self._tables += 1
        page, title = self._page, f"Table {self._tables}"
        for row, line in enumerate(table.iter(W + "tr"), 1):
            if line.getparent() is not table and _own_table(line) is not table:
                continue
            if page.text and not page.text.endswith("\n"):
                page.text += "\n"
            for column, cell in enumerate(line.findall(W + "tc")):
                if column:
                    page.text = page.text.rstrip("\n") + "\t"
                start = len(page.text)
                self._cell(cell)
                end = len(page.text.rstrip("\n"))
                page.place(
                    PlaceKind.CELL, start, max(start, end), f"{title}!{_letter(column)}{row}"
                )
            page.text = page.text.rstrip("\n") + "\n"

    def _cell(self, cell: Any) -> None:
        """A cell's paragraphs; the first one goes on in the row's line."""
        shade = word_runs.shaded(cell.find(W + "tcPr"))
        page = self._page
        for child in cell:
            if child.tag == W + "p":
                number = self._number(child)
                page.text += f"{number}\t" if number else ""
                paragraph = word_runs.read(child, self._looks, self._notes, shade=shade)
                self._pieces(paragraph)
                page.text += "\n"
                for box in paragraph.boxes:
                    self._blocks(box, numbered=False)
            elif child.tag == W + "tbl":
                self._table(child)
            elif child.tag == W + "sdt":
                content = child.find(W + "sdtContent")
                if content is not None:
                    self._cell(content)

    def _repeat(self, stem: str, kind: PlaceKind) -> None:
        """Headers or footers: each different one once."""
        seen: set[str] = set()
        for part in self._parts.get(stem, []):
            start, findings = len(self._page.text), len(self._page.findings)
            places = len(self._page.places)
            root = etree.fromstring(part.blob, etree.XMLParser(**_PARSER))
            self._blocks(root, numbered=False)
            text = self._page.text[start:]
            if not text.strip() or text.strip() in seen:
                self._page.text = self._page.text[:start]
                del self._page.findings[findings:], self._page.places[places:]
                continue
            seen.add(text.strip())
            self._page.place(kind, start, start + len(text.rstrip()), stem)

    def _number_notes(self) -> dict[str, str]:
        """Printed numbers of foot- and endnotes: they count in the order of their references."""
        out: dict[str, str] = {}
        for kind in ("footnote", "endnote"):
            references = self._body.iter(f"{W}{kind}Reference")
            for number, reference in enumerate(references, 1):
                out.setdefault(f"{kind}:{reference.get(W + 'id')}", str(number))
        return out

    def _note_texts(self, kind: str) -> None:
        root = self._root(f"{kind}s")
        for note in () if root is None else root.iter(W + kind):
            if note.get(W + "type") in _ORDINARY_NOTES:
                continue
            number = self._notes.get(f"{kind}:{note.get(W + 'id')}", "")
            start = self._page.add(f"{number} " if number else "")
            for at, element in enumerate(note.iter(W + "p")):
                self._page.text += "\n" if at else ""
                self._pieces(word_runs.read(element, self._looks, self._notes))
            self._page.place(PlaceKind.FOOTNOTE, start, len(self._page.text), number or kind)
            self._page.text += "\n"

    def _comments(self) -> None:
        root = self._root("comments")
        for comment in () if root is None else root.iter(W + "comment"):
            author = comment.get(W + "author") or "unknown"
            date = (comment.get(W + "date") or "")[:10]
            start = self._page.add(f"[Comment by {author}: ")
            for at, element in enumerate(comment.iter(W + "p")):
                self._page.text += "\n" if at else ""
                self._pieces(word_runs.read(element, self._looks, self._notes))
            self._page.text += "]"
            label = ", ".join(filter(None, [author, date]))
            self._page.place(PlaceKind.COMMENT, start, len(self._page.text), label)
            self._page.text += "\n"


def _own_table(row: Any) -> Any:
    """The table a row belongs to, whatever stands between them."""
    element = row.getparent()
    while element is not None and element.tag != W + "tbl":
        element = element.getparent()
    return element


def _letter(column: int) -> str:
    out = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        out = chr(ord("A") + rest) + out
    return out


_TEXT = re.compile(rb"<w:t(?: [^>]*)?>([^<]*)</w:t>|(</w:p>|<w:tab/>|<w:br/>|<w:tab |<w:br )")
_FALLBACK = re.compile(rb"<mc:Fallback>.*?</mc:Fallback>", re.DOTALL)


def _count_again(data: bytes, reading: _Reading, page: PageDraft) -> None:
    """The second reader: words of the raw XML of body and notes, without any Word library."""
    text = ""
    for part in ("document", "footnotes", "endnotes", "comments"):
        source = archive.entry(data, f"word/{part}.xml") or b""
        for match in _TEXT.finditer(_FALLBACK.sub(b"", source)):
            text += (match.group(1) or b"\n").decode("utf-8", "replace")
    theirs = second.count(text)
    ours = second.count(page.text)
    hidden = sum(len(found.text.split()) for found in page.findings if "struck" not in found.reason)
    letters = sum(
        sum(map(str.isalnum, found.text)) for found in page.findings if "struck" not in found.reason
    )
    if second.lacks(
        theirs, second.Count(words=ours.words + hidden, letters=ours.letters + letters)
    ):
        page.readers_disagree = True
        page.reason = "a second reader finds more words in this file than were read"
