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

import numpy as np

from protocol.ids import DocumentId, document_id, passage_id
from protocol.record import DocumentClass
from rag import classes
from rag.cards import add_card, drop_card
from rag.chunking import chunk
from rag.dating import document_date
from rag.embedding import Vectors
from rag.matters import OpenMatter, sha256_of
from rag.paged import PagedText, Place, PlaceKind
from rag.store import Store, dump, unpack
from rag.terms import words

_HEADER_CHARS: Final = 160


def put_document(
    matter: OpenMatter,
    paged: PagedText,
    *,
    file_sha256: str,
    file_name: str,
    ordinal: int,
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
    said = classes.said(
        matter.manifest,
        paged.name,
        file_name,
        paged.text,
        own=_is_own(store, file_sha256, paged.text),
    )
    dated = document_date(paged.name, paged.text)
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
            "document_class": said.document_class.value,
            "text_sha256": text_sha,
            "chars": len(paged.text),
            "pages": len(paged.pages),
            "exhibit": said.exhibit,
            "custodian": said.custodian,
            "parent": None if paged.parent is None else _id(file_sha256, paged.parent),
            "bates_begin": stamps[0] if stamps else None,
            "bates_end": stamps[-1] if stamps else None,
            "privileged": int(said.privileged),
            "designation": said.designation,
            "dated": None if dated is None else dated.isoformat(),
            "warnings": dump(paged.warnings),
        },
    )
    store.run(
        "INSERT OR REPLACE INTO texts (document, sha256, text) VALUES (?, ?, ?)",
        (name, text_sha, paged.text),
    )
    _put_tables(matter, name, text_sha, paged)
    if said.document_class is not DocumentClass.MODEL_OUTPUT:
        put_passages(matter, name, paged)
    return name


def apply_manifest(matter: OpenMatter) -> None:
    """Brings what the manifest says to documents that are there already, if it has changed."""
    store = matter.store
    version = sha256_of(repr(matter.manifest))
    if store.meta("manifest") == version:
        return
    with store.writing():
        for row in store.rows(
            "SELECT d.id, d.name, d.file_sha256, d.document_class, d.quarantined,"
            " (SELECT min(f.name) FROM files f WHERE f.document IN (d.id, d.parent)"
            "  AND f.state <> 'duplicate') AS file_name FROM documents d ORDER BY d.id"
        ):
            name, text = DocumentId(row["id"]), store.text(DocumentId(row["id"]))
            own = _is_own(store, row["file_sha256"], text)
            said = classes.said(
                matter.manifest, row["name"], row["file_name"] or row["name"], text, own=own
            )
            drop_card(store, name)
            store.run(
                "UPDATE documents SET document_class = ?, exhibit = ?, custodian = ?,"
                " designation = ?, privileged = ? WHERE id = ?",
                (
                    said.document_class.value,
                    said.exhibit,
                    said.custodian,
                    said.designation,
                    int(said.privileged),
                    name,
                ),
            )
            was, now = row["document_class"], said.document_class.value
            model = DocumentClass.MODEL_OUTPUT.value
            if row["quarantined"] or was == now == model:
                continue
            if now == model:
                drop_passages(matter, name)
            elif was == model:
                put_passages(matter, name, stored(store, name))
            else:
                add_card(store, name)
        store.set_meta("manifest", version)
    matter.forget_texts()


def _is_own(store: Store, file_sha256: str, text: str) -> bool:
    """Whether this product wrote a file, or its words."""
    return bool(
        store.one(
            "SELECT 1 FROM own_output WHERE sha256 IN (?, ?)", (file_sha256, words_hash(text))
        )
    )


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


def put_passages(matter: OpenMatter, name: DocumentId, paged: PagedText) -> None:
    """Cuts a document's current text into passages and puts them and its card into the indexes."""
    store = matter.store
    title = store.one("SELECT title FROM documents WHERE id = ?", (name,))
    add_card(store, name)
    cuts = chunk(paged)
    store.run("UPDATE documents SET passages = ? WHERE id = ?", (len(cuts), name))
    for cut in cuts:
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
                "words": body,
                "words_sha256": sha256_of(f"{cut.heading}\n{body}"),
            },
        )
        store.add_terms(int(store.one("SELECT last_insert_rowid()")), header, body)


def words_hash(text: str) -> str:
    """A hash of the words alone, so that a copy saved in another layout is still the same."""
    return sha256_of(" ".join(words(text)))


def note_output(matter: OpenMatter, content: bytes, text: str) -> None:
    """Remembers something this product wrote, so that it never comes back as evidence.

    Args:
        matter: The open matter.
        content: The exported file.
        text: Its words.
    """
    with matter.store.writing():
        matter.store.run_many(
            "INSERT OR IGNORE INTO own_output VALUES (?)",
            [(hashlib.sha256(content).hexdigest(),), (words_hash(text),)],
        )


def stored(store: Store, document: DocumentId) -> PagedText:
    """A document's current text, pages and places as they were loaded.

    Raises:
        KeyError: No such document.
    """
    found = store.rows(
        "SELECT title, name, kind, text_sha256 FROM documents WHERE id = ?", (document,)
    )
    if not found:
        raise KeyError(document)
    row = found[0]
    places = store.rows(
        "SELECT kind, starts, ends, label FROM places WHERE document = ? AND text_sha256 = ?"
        " ORDER BY ordinal",
        (document, row["text_sha256"]),
    )
    return PagedText(
        text=store.text(document),
        pages=store.pages(document),
        kind=row["kind"],
        title=row["title"],
        name=row["name"],
        places=tuple(
            Place(kind=PlaceKind(p["kind"]), start=p["starts"], end=p["ends"], label=p["label"])
            for p in places
        ),
    )


def drop_documents_of(matter: OpenMatter, file_sha256: str) -> None:
    """Takes a file's documents out of the record; the text versions that answers cite stay."""
    for (name,) in matter.store.rows(
        "SELECT id FROM documents WHERE file_sha256 = ?", (file_sha256,)
    ):
        drop_passages(matter, DocumentId(name))
    matter.store.run("DELETE FROM documents WHERE file_sha256 = ?", (file_sha256,))


def set_aside(matter: OpenMatter, file_sha256: str) -> bool:
    """Whether the documents of a file are quarantined."""
    return bool(
        matter.store.one(
            "SELECT max(quarantined) FROM documents WHERE file_sha256 = ?", (file_sha256,)
        )
    )


def keep_aside(matter: OpenMatter, documents: Sequence[DocumentId]) -> None:
    """Quarantines documents inside a transaction."""
    for name in documents:
        drop_passages(matter, name)
        matter.store.run("UPDATE documents SET quarantined = 1 WHERE id = ?", (name,))


def drop_all_passages(matter: OpenMatter) -> dict[str, Vectors]:
    """Empties passages, terms, cards and vectors; gives the vectors by the words they stand for."""
    store = matter.store
    kept: dict[str, list[Vectors]] = {}
    for row in store.rows(
        "SELECT p.words_sha256, v.vector FROM passages p JOIN vectors v ON v.passage = p.n"
        " WHERE p.n IN (SELECT min(n) FROM passages WHERE embedded = 1 GROUP BY words_sha256)"
        " ORDER BY p.n, v.part"
    ):
        kept.setdefault(row["words_sha256"], []).append(unpack(row["vector"]))
    for table in ("passage_terms", "card_terms"):
        store.run(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")  # noqa: S608
    for table in ("passages", "cards", "vectors"):
        store.run(f"DELETE FROM {table}")  # noqa: S608
    return {name: np.stack(vectors) for name, vectors in kept.items()}


def drop_passages(matter: OpenMatter, document: DocumentId) -> None:
    """Takes one document's passages, vectors, terms and card out."""
    store = matter.store
    found = store.rows(
        "SELECT p.n, p.id, p.header FROM passages p WHERE p.document = ? ORDER BY p.n", (document,)
    )
    held = store.passages([row["n"] for row in found])
    store.run(
        "INSERT OR IGNORE INTO tombstones SELECT p.id || '#' || v.part FROM passages p"
        " JOIN vectors v ON v.passage = p.n WHERE p.document = ? AND p.indexed = 1",
        (document,),
    )
    for row in found:
        store.drop_terms(row["n"], row["header"], held[row["n"]].text)
    store.run(
        "DELETE FROM vectors WHERE passage IN (SELECT n FROM passages WHERE document = ?)",
        (document,),
    )
    store.run("DELETE FROM passages WHERE document = ?", (document,))
    store.run("UPDATE documents SET passages = 0 WHERE id = ?", (document,))
    drop_card(store, document)
