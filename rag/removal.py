"""Takes documents out of a matter: set aside for now, or for good.

Quarantine answers a clawback: the document leaves the record, its indexes and every cache at once,
and can come back. Removal leaves none of its words in any file of the matter. Both work on whole
families: a mail goes with its attachments. Which answers used a document is the caller's to list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from protocol.errors import NotFound
from protocol.ids import DocumentId
from rag.matters import OpenMatter
from rag.record import drop_passages, keep_aside, put_passages, stored

_UNDER_WAY: Final = "removing"
"""In the record's meta table: hashes of originals whose removal has begun."""


def family(matter: OpenMatter, document: DocumentId) -> tuple[DocumentId, ...]:
    """The document and all that came in the same file, by id.

    Raises:
        NotFound: No such document.
    """
    found = matter.store.rows(
        "SELECT id FROM documents WHERE file_sha256 ="
        " (SELECT file_sha256 FROM documents WHERE id = ?) ORDER BY id",
        (document,),
    )
    if not found:
        raise NotFound("no such document")
    return tuple(DocumentId(row["id"]) for row in found)


def quarantine(matter: OpenMatter, document: DocumentId) -> tuple[DocumentId, ...]:
    """Sets a document and its family aside; doing it twice is harmless.

    Returns:
        Everything that was set aside. Text and pages are refused from now on, searches do not see
        it, and the vector index is built anew without it.

    Raises:
        NotFound: No such document.
    """
    members = family(matter, document)
    quotes = [matter.index_path(name) for name in members]
    with matter.store.writing():
        keep_aside(matter, members)
    _forget(matter, quotes)
    return members


def release(matter: OpenMatter, document: DocumentId) -> tuple[DocumentId, ...]:
    """Brings a quarantined family back from its stored text; vectors follow with the next ingest.

    Raises:
        NotFound: No such document.
    """
    members = family(matter, document)
    with matter.store.writing():
        for name in members:
            if matter.store.one("SELECT quarantined FROM documents WHERE id = ?", (name,)):
                matter.store.run("UPDATE documents SET quarantined = 0 WHERE id = ?", (name,))
                put_passages(matter, name, stored(matter.store, name))
    matter.forget_texts()
    return members


def remove(matter: OpenMatter, document: DocumentId) -> tuple[DocumentId, ...]:
    """Erases a document with its family: rows, every text version, terms, vectors, originals.

    Its bytes are not taken in again, from whatever folder they come, until `take_back`. A process
    that dies in the middle leaves a note; `finish_removal` goes on from it.

    Raises:
        NotFound: No such document.
    """
    members = family(matter, document)
    store = matter.store
    file_sha = store.one("SELECT file_sha256 FROM documents WHERE id = ?", (document,))
    quotes = [matter.index_path(name) for name in members]
    originals = {
        row["original_sha256"]
        for row in store.rows(
            "SELECT original_sha256 FROM documents WHERE file_sha256 = ?", (file_sha,)
        )
    } | {file_sha}
    with store.writing():
        for name in members:
            drop_passages(matter, name)
            for table in ("texts", "pages", "places", "findings"):
                store.run(f"DELETE FROM {table} WHERE document = ?", (name,))  # noqa: S608
        store.run("DELETE FROM documents WHERE file_sha256 = ?", (file_sha,))
        store.run("DELETE FROM files WHERE original_sha256 = ?", (file_sha,))
        store.run("DELETE FROM came_from WHERE name NOT IN (SELECT name FROM files)")
        store.run("INSERT OR IGNORE INTO removed VALUES (?)", (file_sha,))
        store.set_meta(_UNDER_WAY, json.dumps(sorted(map(str, originals))))
    for path in quotes:
        if path is not None:
            path.unlink(missing_ok=True)
    finish_removal(matter)
    return members


def finish_removal(matter: OpenMatter) -> None:
    """Ends a removal that was cut off: what was removed leaves every file; else does nothing."""
    store = matter.store
    if not (noted := store.meta(_UNDER_WAY)):
        return
    _forget(matter, [])
    for sha in json.loads(noted):
        used = store.one("SELECT 1 FROM documents WHERE original_sha256 = ?", (sha,))
        if not used and not store.one("SELECT 1 FROM files WHERE original_sha256 = ?", (sha,)):
            (matter.originals / sha).unlink(missing_ok=True)
    with store.writing():
        store.set_meta(_UNDER_WAY, "")


def take_back(matter: OpenMatter, file_sha256: str) -> bool:
    """Lets the bytes of a removed file come in again; whether they had been removed."""
    with matter.store.writing():
        if not matter.store.one("SELECT 1 FROM removed WHERE sha256 = ?", (file_sha256,)):
            return False
        matter.store.run("DELETE FROM removed WHERE sha256 = ?", (file_sha256,))
        for row in matter.store.rows(
            "SELECT name FROM files WHERE original_sha256 = ?", (file_sha256,)
        ):
            matter.store.run("DELETE FROM files WHERE name = ?", (row["name"],))
            matter.store.run("DELETE FROM came_from WHERE name = ?", (row["name"],))
    return True


def _forget(matter: OpenMatter, quotes: list[Path | None]) -> None:
    """Caches, index and the leftovers of deleted rows."""
    matter.forget_texts()
    matter.drop_index()
    for path in quotes:
        if path is not None:
            path.unlink(missing_ok=True)
    matter.store.scrub()
