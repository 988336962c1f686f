"""A record opened for checking: texts, layouts and indexes, each read once and kept while needed.

Everything is derived from the canonical text and keyed by its hash, so two checks of the same
matter may share one `OpenRecord`; nothing here is ever written back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from protocol.errors import Damaged
from protocol.ids import DocumentId
from protocol.record import DocumentInfo
from verify.frame_people import titled_words
from verify.index import DocumentIndex, build_index, open_index
from verify.layout import Layout, read_layout
from verify.locate import RecordIndex
from verify.papers import Paper
from verify.second import FoldedText
from verify.source import Source
from verify.speakers import Speakers
from verify.tables import Tables

_KEPT: Final = 96
"""Layouts and folded texts kept in memory, the last used ones."""


class OpenRecord:
    """What the checks read of a `Source`, cached by text hash.

    Raises (from any method that reads a text):
        Damaged: A document's text no longer has the hash the record states.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.infos: tuple[DocumentInfo, ...] = tuple(source.documents())
        self.by_id: dict[DocumentId, DocumentInfo] = {info.id: info for info in self.infos}
        self._layouts: dict[DocumentId, Layout] = {}
        self._folded: dict[DocumentId, FoldedText] = {}
        self._indexes: dict[DocumentId, DocumentIndex] = {}
        self.tables = Tables()
        self._speakers: dict[DocumentId, Speakers] = {}
        self._papers: dict[DocumentId, Paper] = {}
        self._titled: dict[DocumentId, frozenset[str]] = {}
        self._searchers: dict[tuple[DocumentId, ...], RecordIndex] = {}

    def text(self, document: DocumentId) -> str:
        """The canonical text of a document, proven to be the one the record states."""
        return self.layout(document).text

    def layout(self, document: DocumentId) -> Layout:
        """A document's lines and regions."""
        found = self._layouts.pop(document, None)
        if found is None:
            text = self.source.text(document)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            if digest != self.by_id[document].text_sha256:
                raise Damaged("A document's text does not match its hash.")
            found = read_layout(text, self.source.pages(document))
        self._layouts[document] = found
        while len(self._layouts) > _KEPT:
            self._layouts.pop(next(iter(self._layouts)))
        return found

    def speakers(self, document: DocumentId) -> Speakers:
        """Who speaks where in a document."""
        if document not in self._speakers:
            title = self.by_id[document].title
            self._speakers[document] = Speakers(self.layout(document), title)
        return self._speakers[document]

    def titled(self, document: DocumentId) -> frozenset[str]:
        """The words to which a document gives a person's title."""
        if document not in self._titled:
            self._titled[document] = titled_words(self.text(document))
        return self._titled[document]

    def paper(self, info: DocumentInfo) -> Paper:
        """What a document says of itself at its head and foot."""
        if info.id not in self._papers:
            self._papers[info.id] = Paper(info.title, self.source.text(info.id))
        return self._papers[info.id]

    def folded(self, document: DocumentId) -> FoldedText:
        """A document's text as the second opinion reads it."""
        found = self._folded.pop(document, None) or FoldedText(self.text(document))
        self._folded[document] = found
        while len(self._folded) > _KEPT:
            self._folded.pop(next(iter(self._folded)))
        return found

    def index(self, document: DocumentId) -> DocumentIndex:
        """A document's quotation index: the stored one, else one built in memory."""
        found = self._indexes.get(document)
        if found is None:
            info = self.by_id[document]
            path = self.source.index_path(document)
            try:
                found = open_index(path, info.text_sha256) if path is not None else None
            except (FileNotFoundError, Damaged):
                found = None
            if found is None:
                found = build_index(self.source.text(document))
            self._indexes[document] = found
        return found

    def searcher(self, documents: Sequence[DocumentId]) -> RecordIndex:
        """The indexes of some documents, searched together, in the order given."""
        key = tuple(documents)
        if key not in self._searchers:
            self._searchers[key] = RecordIndex([self.index(document) for document in key])
        return self._searchers[key]
