"""A matter's folder on disk: manifest, originals, record, index, exports, and its lock.

The wall between matters is the folder: everything of a matter lies in it, and closing the matter is
removing it. An `OpenMatter` also answers what the checker asks of a record
(`verify.source.Source`), without either room knowing the other.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from protocol.errors import Conflict, Damaged, NotFound, Unavailable
from protocol.ids import DocumentId
from protocol.record import (
    DateOrder,
    DocumentClass,
    DocumentInfo,
    Matter,
    PageInfo,
)
from rag.disk import take_lock, write_durably
from rag.embedding import Vectors
from rag.index import Index, healthy, open_index
from rag.sheets import SheetCache
from rag.store import Store, unpack

_SAMPLE: Final = 50
"""Vectors that must find themselves when an index is opened."""
_TEXTS_HELD: Final = 64


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of a matter by hand. Names are original names or patterns (``*``, ``?``)."""

    matter: Matter
    classes: dict[str, DocumentClass] = {}
    """Document classes that win over what a file's name suggests."""
    exhibits: dict[str, str] = {}
    custodians: dict[str, str] = {}
    designations: dict[str, str] = {}
    privileged: tuple[str, ...] = ()
    admitted: tuple[str, ...] = ()
    """Files that a person has admitted although they could not be looked through."""
    languages: tuple[str, ...] = ("eng",)
    """Languages of OCR, by tesseract's names."""


class OpenMatter:
    """One matter, owned by this process until `close`.

    Keeps the promise of ``verify.source.Source``: reading is repeatable and may happen from several
    threads.
    """

    def __init__(self, folder: Path, *, index_in_memory: bool = False) -> None:
        """Takes the lock and opens the record.

        Raises:
            NotFound: There is no matter in the folder.
            Unavailable: Another process has it open; the message names that process.
            Damaged: Manifest or record cannot be read.
        """
        self.folder = folder
        if not (folder / "matter.json").is_file():
            raise NotFound("no such matter")
        self._lock = take_lock(folder / "lock")
        try:
            self.manifest = _read_manifest(folder)
            self.store = Store(folder / "record.sqlite")
        except BaseException:
            os.close(self._lock)
            raise
        for stray in self.originals.glob(".incoming-*"):
            stray.unlink(missing_ok=True)
        self._in_memory = index_in_memory
        self._index: Index | None = None
        self._index_guard = threading.RLock()
        self._closed = False
        self._text = lru_cache(maxsize=_TEXTS_HELD)(self.store.text)
        self.sheets = SheetCache(self.store)

    # --- places ---

    @property
    def matter(self) -> Matter:
        """The matter as a value."""
        return self.manifest.matter

    @property
    def originals(self) -> Path:
        """The files as given, named by their SHA-256."""
        return self.folder / "originals"

    @property
    def out(self) -> Path:
        """Approved exports."""
        return self.folder / "out"

    def original(self, document: DocumentId) -> Path:
        """The file a document was read from (for an attachment, the attachment itself).

        Raises:
            NotFound: No such document.
        """
        sha = self.store.one("SELECT original_sha256 FROM documents WHERE id = ?", (document,))
        if sha is None:
            raise NotFound("no such document")
        return self.originals / str(sha)

    # --- what the checker may ask ---

    @property
    def date_order(self) -> DateOrder:
        """How all-digit dates of this matter read."""
        return self.manifest.matter.date_order

    def documents(self) -> Sequence[DocumentInfo]:
        """Every document that may be cited, by id; quarantined ones left out."""
        return self.store.infos()

    def text(self, document: DocumentId) -> str:
        """The canonical text.

        Raises:
            KeyError: No such document, or it is quarantined.
        """
        self._citable(document)
        return self._text(document)

    def pages(self, document: DocumentId) -> Sequence[PageInfo]:
        """The page table.

        Raises:
            KeyError: No such document, or it is quarantined.
        """
        self._citable(document)
        return self.store.pages(document)

    def index_path(self, document: DocumentId) -> Path | None:
        """Where the quotation index of the document's current text may lie."""
        sha = self.store.one("SELECT text_sha256 FROM documents WHERE id = ?", (document,))
        return None if sha is None else self.quotes / f"{sha}.idx"

    @property
    def quotes(self) -> Path:
        """The folder of quotation indexes; everything in it can be made anew."""
        return self.folder / "index" / "quotes"

    def _citable(self, document: DocumentId) -> None:
        if self.store.one("SELECT quarantined FROM documents WHERE id = ?", (document,)) != 0:
            raise KeyError(document)

    def text_version(self, document: DocumentId, text_sha256: str) -> str:
        """An older text that an answer was made from.

        Raises:
            KeyError: That version is not kept.
        """
        if self.store.one("SELECT quarantined FROM documents WHERE id = ?", (document,)):
            raise KeyError(document)
        return self.store.text(document, text_sha256)

    # --- the vector index ---

    def index(self) -> Index:
        """The vector index, checked against the store on first use and rebuilt when it differs."""
        with self._index_guard:
            if self._index is None:
                self._index = self._opened_index()
            return self._index

    def _opened_index(self) -> Index:
        folder = None if self._in_memory else self.folder / "index" / "chroma"
        if folder is None:
            self._mark_unindexed()
        try:
            index = open_index(folder)
            self.fill_index(index)
            if healthy(index, expected=self._vector_count(), sample=self._sample()):
                return index
            index.remove()
        except Unavailable:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        self._mark_unindexed()
        index = open_index(folder)
        self.fill_index(index)
        return index

    def _mark_unindexed(self) -> None:
        with self.store.writing():
            self.store.run("DELETE FROM tombstones")
            self.store.run("UPDATE passages SET indexed = 0 WHERE indexed = 1")

    def _vector_count(self) -> int:
        return int(self.store.one("SELECT count(*) FROM vectors") or 0)

    def _sample(self) -> list[tuple[str, Vectors]]:
        last = int(self.store.one("SELECT max(passage) FROM vectors") or 0)
        chance = random.Random(last)  # noqa: S311
        out = []
        for _ in range(min(_SAMPLE, last)):
            for row in self.store.rows(
                "SELECT p.id, v.part, v.vector FROM vectors v JOIN passages p ON p.n = v.passage"
                " WHERE v.passage >= ? ORDER BY v.passage, v.part LIMIT 1",
                (chance.randint(1, last),),
            ):
                out.append((f"{row['id']}#{row['part']}", unpack(row["vector"])))
        return out

    def fill_index(self, index: Index, *, on_progress: Callable[[int], None] | None = None) -> None:
        """Drops entries of passages that are gone, adds what is missing; harmless to repeat."""
        gone = [row["id"] for row in self.store.rows("SELECT id FROM tombstones")]
        if gone:
            index.delete(gone)
            with self.store.writing():
                self.store.run_many("DELETE FROM tombstones WHERE id = ?", [(n,) for n in gone])
        while True:
            rows = self.store.rows(
                "SELECT p.n, p.id, v.part, v.vector FROM passages p JOIN vectors v"
                " ON v.passage = p.n WHERE p.n IN (SELECT n FROM passages"
                " WHERE embedded = 1 AND indexed = 0 ORDER BY n LIMIT 1000)"
            )
            if not rows:
                return
            index.add(
                [f"{row['id']}#{row['part']}" for row in rows],
                np.stack([unpack(row["vector"]) for row in rows]),
            )
            numbers = sorted({row["n"] for row in rows})
            with self.store.writing():
                self.store.run_many(
                    "UPDATE passages SET indexed = 1 WHERE n = ?", [(n,) for n in numbers]
                )
            if on_progress is not None:
                on_progress(len(numbers))

    def drop_index(self) -> None:
        """Erases the vector index from disk; the next `index` call builds it from the store."""
        with self._index_guard:
            if self._index is not None:
                self._index.remove()
                self._index = None
            shutil.rmtree(self.folder / "index" / "chroma", ignore_errors=True)
            self._mark_unindexed()

    # --- by hand ---

    def set_manifest(self, manifest: Manifest) -> None:
        """Writes the manifest; classes and labels reach the documents with the next `ingest`."""
        if manifest.matter.id != self.matter.id:
            raise Conflict("a matter keeps its code")
        _write_manifest(self.folder, manifest)
        self.manifest = manifest

    def forget_texts(self) -> None:
        """Drops what is held in memory; after a document changed, went or got its vectors."""
        self._text.cache_clear()
        self.sheets.clear()

    def close(self) -> None:
        """Closes everything and gives the lock back; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        with self._index_guard:
            if self._index is not None:
                self._index.close()
                self._index = None
        self.forget_texts()
        self.store.close()
        os.close(self._lock)

    def __enter__(self) -> OpenMatter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create(folder: Path, matter: Matter, *, index_in_memory: bool = False) -> OpenMatter:
    """Makes a matter's folder and opens it.

    Raises:
        Conflict: There is a matter in that folder already.
    """
    if (folder / "matter.json").exists():
        raise Conflict("the matter exists already")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for part in ("originals", "index", "index/quotes", "out"):
        (folder / part).mkdir(mode=0o700, exist_ok=True)
    _write_manifest(folder, Manifest(matter=matter))
    return OpenMatter(folder, index_in_memory=index_in_memory)


def matters_in(root: Path) -> Iterator[Matter]:
    """The matters under a state folder's ``matters/``, by code; none is opened or locked."""
    for path in sorted(root.glob("*/matter.json")):
        try:
            yield _read_manifest(path.parent).matter
        except Damaged:
            continue  # opening that matter says so; the others are still to be listed


def erase(folder: Path) -> None:
    """Removes a matter's folder with everything in it; nothing of the matter stays elsewhere.

    Raises:
        NotFound: There is no matter in the folder.
        Unavailable: A process has the matter open.
    """
    if not (folder / "matter.json").is_file():
        raise NotFound("no such matter")
    lock = take_lock(folder / "lock")
    try:
        # The manifest goes first: a half-removed folder is no longer a matter.
        (folder / "matter.json").unlink(missing_ok=True)
        shutil.rmtree(folder)
    finally:
        os.close(lock)


def _read_manifest(folder: Path) -> Manifest:
    try:
        return msgspec.json.decode((folder / "matter.json").read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise Damaged("the matter's manifest cannot be read") from error


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    write_durably(folder / "matter.json", content)


def sha256_of(text: str) -> str:
    """The hash by which a text version is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
