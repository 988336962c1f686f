"""A record in a folder of text files: the `Source` behind the command line.

``DIR/*.txt`` are the canonical texts (UTF-8, line ends as they are, a form feed between pages).
``DIR/index.jsonl``, where there is one, gives ``id``, ``title`` and, if known, ``class`` and
``exhibit``; otherwise the file's stem is both id and title.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from protocol.errors import BadRequest, NotFound
from protocol.ids import DocumentId
from protocol.record import DateOrder, DocumentClass, DocumentInfo, PageInfo
from verify.labels import label_pages
from verify.source import pages_of


class FolderSource:
    """The text files of one folder as a record.

    Args:
        folder: Where the texts lie.
        only: Ids to read; None for all.

    Raises:
        NotFound: There is no such folder, or no text in it.
        BadRequest: A file is not UTF-8, or the index is malformed.
    """

    def __init__(self, folder: Path, *, only: Sequence[str] | None = None) -> None:
        self.date_order = DateOrder.UNSET
        if not folder.is_dir():
            raise NotFound("There is no such folder of documents.")
        self._texts: dict[DocumentId, str] = {}
        self._pages: dict[DocumentId, tuple[PageInfo, ...]] = {}
        self._infos: dict[DocumentId, DocumentInfo] = {}
        rows = _index(folder / "index.jsonl")
        for path in sorted(folder.glob("*.txt")):
            if only is None or path.stem in only:
                self._add(path, rows.get(path.stem, {}))
        if not self._infos:
            raise NotFound("The folder holds no text files.")

    def _add(self, path: Path, row: dict[str, Any]) -> None:
        name = DocumentId(path.stem)
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as cause:
            raise BadRequest("A document is not UTF-8 text.") from cause
        pages = label_pages(text, pages_of(text))
        self._texts[name] = text
        self._pages[name] = pages
        stamps = [page.bates for page in pages if page.bates]
        self._infos[name] = DocumentInfo(
            id=name,
            title=str(row.get("title") or path.stem),
            name=path.name,
            kind="txt",
            document_class=_class_of(row.get("class")),
            text_sha256=sha256(text.encode("utf-8")).hexdigest(),
            chars=len(text),
            pages=len(pages),
            exhibit=row.get("exhibit"),
            bates_begin=stamps[0] if stamps else None,
            bates_end=stamps[-1] if stamps else None,
        )

    def documents(self) -> Sequence[DocumentInfo]:
        return tuple(self._infos.values())

    def text(self, document: DocumentId) -> str:
        return self._texts[document]

    def pages(self, document: DocumentId) -> Sequence[PageInfo]:
        return self._pages[document]

    def index_path(self, document: DocumentId) -> Path | None:
        return None


class Part:
    """Some documents of another source, in a given order: one matter of a larger folder."""

    def __init__(self, whole: FolderSource, documents: Sequence[str]) -> None:
        self._whole = whole
        known = {info.id: info for info in whole.documents()}
        self._infos = tuple(known[DocumentId(d)] for d in documents if DocumentId(d) in known)
        self.date_order = whole.date_order

    def documents(self) -> Sequence[DocumentInfo]:
        return self._infos

    def text(self, document: DocumentId) -> str:
        return self._whole.text(document)

    def pages(self, document: DocumentId) -> Sequence[PageInfo]:
        return self._whole.pages(document)

    def index_path(self, document: DocumentId) -> Path | None:
        return self._whole.index_path(document)


def _index(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    rows = {}
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            try:
                row = json.loads(line)
                rows[str(row["id"])] = row
            except (ValueError, KeyError, TypeError) as cause:
                raise BadRequest("A line of index.jsonl is not an object with an id.") from cause
    return rows


def _class_of(word: object) -> DocumentClass:
    try:
        return DocumentClass(str(word)) if word else DocumentClass.EVIDENCE
    except ValueError as cause:
        raise BadRequest("index.jsonl names a document class that does not exist.") from cause
