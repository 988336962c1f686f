"""Puts one loaded document into the store, and takes documents out of it.

Both run inside the caller's transaction: a document is there with its pages, passages and terms, or
it is not there at all.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from protocol.ids import DocumentId, document_id, passage_id
from protocol.record import DocumentClass
from rag import classes
from rag.cards import add_card, drop_card
from rag.chunking import chunk
from rag.matters import OpenMatter, sha256_of
from rag.paged import PagedText
from rag.store import dump

_HEADER_CHARS: Final = 160


def put_document(
    matter: OpenMatter,
    paged: PagedText,
    *,
    file_sha256: str,
    ordinal: int,
    parts: Sequence[PagedText],
) -> DocumentId:
    """Writes a document with everything that hangs on it, and gives its id.

    The id comes from the file's bytes and the part's place in it, so reading the same file again
    gives the same ids.
    """
    store = matter.store
    name = DocumentId(_id(file_sha256, ordinal))
    text_sha = sha256_of(paged.text)
    title = unicodedata.normalize("NFC", paged.title.strip()) or PurePosixPath(paged.name).stem
    stamps = [page.bates for page in paged.pages if page.bates]
    rules = matter.manifest
    own = store.one("SELECT 1 FROM own_output WHERE sha256 IN (?, ?)", (file_sha256, text_sha))
    document_class = (
        DocumentClass.MODEL_OUTPUT
        if own
        else classes.by_name(rules.classes, paged.name) or classes.guess(paged.name, paged.text)
    )
    store.run(
        "put_document",
        {
            "id": name,
            "original_sha256": file_sha256
            if paged.original is None
            else hashlib.sha256(paged.original).hexdigest(),
            "file_sha256": file_sha256,
            "ordinal": ordinal,
            "title": title,
            "name": paged.name,
            "kind": paged.kind,
            "document_class": document_class.value,
            "text_sha256": text_sha,
            "chars": len(paged.text),
            "pages": len(paged.pages),
            "exhibit": classes.by_name(rules.exhibits, paged.name),
            "custodian": classes.by_name(rules.custodians, paged.name),
            "parent": None if paged.parent is None else _id(file_sha256, paged.parent),
            "bates_begin": stamps[0] if stamps else None,
            "bates_end": stamps[-1] if stamps else None,
            "privileged": int(
                classes.by_name(dict.fromkeys(rules.privileged, True), paged.name) or False
            ),
            "designation": classes.by_name(rules.designations, paged.name),
            "warnings": dump(paged.warnings),
        },
    )
    store.run(
        "INSERT OR REPLACE INTO texts (document, sha256, text) VALUES (?, ?, ?)",
        (name, text_sha, paged.text),
    )
    _put_tables(matter, name, text_sha, paged)
    if document_class is not DocumentClass.MODEL_OUTPUT:
        _put_passages(matter, name, title, paged)
        add_card(store, name)
    return name


def _id(file_sha256: str, ordinal: int) -> str:
    return document_id(f"D{file_sha256[:16]}" + (f"-{ordinal}" if ordinal else ""))


def _put_tables(matter: OpenMatter, name: DocumentId, text_sha: str, paged: PagedText) -> None:
    store = matter.store
    for page in paged.pages:
        store.run(
            "put_page",
            {
                "document": name,
                "text_sha256": text_sha,
                "number": page.number,
                "starts": page.start,
                "ends": page.end,
                "label": page.label,
                "bates": page.bates,
                "reading": page.reading.value,
                "confidence": page.confidence,
                "readers_disagree": int(page.readers_disagree),
                "reason": page.reason,
            },
        )
    store.run_many(
        "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (name, text_sha, at, place.kind.value, place.start, place.end, place.label)
            for at, place in enumerate(paged.places)
        ],
    )
    store.run_many(
        "INSERT OR REPLACE INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (name, text_sha, at, f.kind.value, f.page, f.start, f.end, f.reason, f.text)
            for at, f in enumerate(paged.findings)
        ],
    )


def _put_passages(matter: OpenMatter, name: DocumentId, title: str, paged: PagedText) -> None:
    store = matter.store
    for cut in chunk(paged):
        body = paged.text[cut.start : cut.end]
        header = f"{title} · {cut.heading}" if cut.heading else title
        header = header[:_HEADER_CHARS]
        store.run(
            "put_passage",
            {
                "id": passage_id(name, cut.start, cut.end),
                "document": name,
                "starts": cut.start,
                "ends": cut.end,
                "page": paged.page_at(cut.start).number,
                "heading": cut.heading,
                "header": header,
                "words_sha256": sha256_of(f"{cut.heading}\n{body}"),
            },
        )
        store.add_terms(int(store.one("SELECT last_insert_rowid()")), header, body)


def drop_documents_of(matter: OpenMatter, file_sha256: str) -> None:
    """Takes a file's documents out of passages and indexes; their text versions stay.

    Vectors of the old passages go too; the vector index is told by `OpenMatter.index`'s count check
    or `drop_index`.
    """
    for (name,) in matter.store.rows(
        "SELECT id FROM documents WHERE file_sha256 = ?", (file_sha256,)
    ):
        drop_passages(matter, DocumentId(name))
    matter.store.run("DELETE FROM documents WHERE file_sha256 = ?", (file_sha256,))


def drop_passages(matter: OpenMatter, document: DocumentId) -> list[str]:
    """Takes one document's passages, vectors, terms and card out; gives the index ids they had."""
    store = matter.store
    found = store.rows(
        "SELECT p.n, p.id, p.header FROM passages p WHERE p.document = ? ORDER BY p.n", (document,)
    )
    held = store.passages([row["n"] for row in found])
    ids = [
        f"{row[0]}#{row[1]}"
        for row in store.rows(
            "SELECT p.id, v.part FROM passages p JOIN vectors v ON v.passage = p.n"
            " WHERE p.document = ?",
            (document,),
        )
    ]
    for row in found:
        store.drop_terms(row["n"], row["header"], held[row["n"]].text)
    store.run(
        "DELETE FROM vectors WHERE passage IN (SELECT n FROM passages WHERE document = ?)",
        (document,),
    )
    store.run("DELETE FROM passages WHERE document = ?", (document,))
    drop_card(store, document)
    return ids
