"""One SQLite file a matter, the truth: ledger, documents, texts, pages, passages, vectors, terms.

Everything else (Chroma, the quotation index) can be made anew from it. When a method that writes
returns, its rows are on disk: write-ahead log with full sync. Deleted rows are overwritten
(``secure_delete``), so a removed document leaves none of its words once `forget` has run.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Final

import numpy as np

from protocol.errors import Conflict, Damaged, Unavailable
from protocol.ids import DocumentId, PassageId
from protocol.record import DocumentClass, DocumentInfo, PageInfo, Passage, Reading
from protocol.spans import SourceSpan
from rag.chunking import CHUNKING_VERSION
from rag.embedding import Vectors
from rag.terms import TERMS_VERSION, terms

SCHEMA_VERSION: Final = "2"
DERIVED_VERSIONS: Final[Mapping[str, str]] = {
    "chunking": CHUNKING_VERSION,
    "terms": TERMS_VERSION,
}
"""Rules by which rows were made from the text; when one changes, those rows are made anew."""

Row = Mapping[str, Any]


@cache
def statements() -> Mapping[str, str]:
    """The named statements of ``store.sql``."""
    source = package_files("rag").joinpath("store.sql").read_text("utf-8")
    parts = re.split(r"(?m)^-- name: (\w+)\n", source)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


class Store:
    """An open ``record.sqlite``. One process at a time (the matter's lock sees to that).

    Methods may be called from several threads; each runs alone. Long work belongs between calls,
    not inside a `writing` block.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file, making it when it is not there.

        Raises:
            Damaged: It is not a record of ours, or a newer version's.
        """
        self._guard = threading.RLock()
        self._infos: tuple[tuple[int, int], tuple[DocumentInfo, ...]] | None = None
        new = not path.exists()
        if new:  # a handle of the file that is closed later would drop SQLite's locks on it
            path.touch(mode=0o600)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.row_factory = sqlite3.Row
            for pragma in (
                "journal_mode = WAL",
                "synchronous = FULL",
                "secure_delete = ON",
                "busy_timeout = 2000",
                "temp_store = MEMORY",
                "foreign_keys = ON",
            ):
                self._db.execute(f"PRAGMA {pragma}")
            if new or not self._has_tables():
                self._create()
            for statement in _split_statements(statements()["additions"]):
                self._db.execute(statement)
        except sqlite3.DatabaseError as error:
            raise Damaged("the matter's record cannot be opened") from error
        if self.meta("schema") != SCHEMA_VERSION:
            self.close()
            raise Damaged(
                "the matter's record was written by another version",
                next_step="open a new matter from the same files; nothing in this one was changed",
            )

    def _has_tables(self) -> bool:
        return bool(self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone())

    def _create(self) -> None:
        with self.writing():
            for statement in _split_statements(statements()["schema"]):
                self._db.execute(statement)
            for key, value in {"schema": SCHEMA_VERSION, **DERIVED_VERSIONS}.items():
                self._db.execute("INSERT INTO meta VALUES (?, ?)", (key, value))

    def close(self) -> None:
        """Folds the log into the file and lets it go; a second call does nothing."""
        with self._guard:
            # An error means closed already, or read elsewhere: the next opener folds the log.
            with suppress(sqlite3.Error):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all of it is on disk afterwards, or none of it.

        Raises:
            Unavailable: The disk is full or failing, or another process writes.
        """
        with self._guard:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:  # SQLite takes one back by itself on a full disk
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise Unavailable(
                        "the matter's record could not be written: the disk is full or failing",
                        next_step="make room, then read the papers again: what is there stays",
                    ) from error
                raise

    def run(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> None:
        """Runs one statement (SQL, or a name from ``store.sql``) inside `writing`."""
        with self._guard:
            self._db.execute(statements().get(statement, statement), values)

    def run_many(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        """Runs one statement for each row of values, inside `writing`."""
        with self._guard:
            self._db.executemany(statements().get(statement, statement), values)

    def rows(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """All rows of a query (SQL, or a name from ``store.sql``).

        Raises:
            Unavailable: The file is busy or the disk failed.
        """
        with self._guard:
            try:
                return self._db.execute(statements().get(statement, statement), values).fetchall()
            except sqlite3.OperationalError as error:
                raise Unavailable("the matter's record could not be read") from error

    def one(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        """The first column of the first row; None when there is no row."""
        found = self.rows(statement, values)
        return found[0][0] if found else None

    # --- versions and identity ---

    def meta(self, key: str) -> str | None:
        """A value of the meta table."""
        found: str | None = self.one("SELECT value FROM meta WHERE key = ?", (key,))
        return found

    def set_meta(self, key: str, value: str) -> None:
        """Sets a value of the meta table, in a transaction of its own or the one that is open."""
        self.run(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def claim_embedder(self, identity: str) -> None:
        """Says which model makes this matter's vectors; the first call decides.

        Raises:
            Conflict: Another model's vectors are here already.
        """
        held = self.meta("embedder")
        if held is None:
            with self.writing():
                self.set_meta("embedder", identity)
        elif held != identity:
            raise Conflict(
                "the matter's vectors were made by another embedding model",
                next_step="configure that model again, or: matters read CODE --embed-again",
            )

    # --- documents ---

    def infos(self, *, quarantined: bool = False) -> tuple[DocumentInfo, ...]:
        """Every document, by id; quarantined ones only when asked for.

        Kept while no row of the file changes: a question asks for them many times.
        """
        if quarantined:
            return tuple(_info(row) for row in self.rows("infos"))
        with self._guard:
            if self._db.in_transaction:  # what it changes may be rolled back
                return self._citable()
            state = (self._db.total_changes, int(self.one("PRAGMA data_version")))
            if self._infos is None or self._infos[0] != state:
                self._infos = (state, self._citable())
            return self._infos[1]

    def _citable(self) -> tuple[DocumentInfo, ...]:
        return tuple(info for row in self.rows("infos") if not (info := _info(row)).quarantined)

    def dates(self) -> dict[DocumentId, dt.date]:
        """The day of every document that is known to have one."""
        found = self.rows("SELECT id, dated FROM documents WHERE dated IS NOT NULL")
        return {DocumentId(row["id"]): dt.date.fromisoformat(row["dated"]) for row in found}

    def text(self, document: DocumentId, text_sha256: str | None = None) -> str:
        """The canonical text, or an older version of it.

        Raises:
            KeyError: There is no such document or version.
        """
        found: str | None = self.one(
            "SELECT text FROM texts WHERE document = ? AND sha256 = coalesce(?,"
            " (SELECT text_sha256 FROM documents WHERE id = ?))",
            (document, text_sha256, document),
        )
        if found is None:
            raise KeyError(document)
        return found

    def pages(self, document: DocumentId, text_sha256: str | None = None) -> tuple[PageInfo, ...]:
        """The page table of a text version, the current one by default.

        Raises:
            KeyError: There is no such document or version.
        """
        found = self.rows(
            "SELECT * FROM pages WHERE document = ? AND text_sha256 = coalesce(?,"
            " (SELECT text_sha256 FROM documents WHERE id = ?)) ORDER BY number",
            (document, text_sha256, document),
        )
        if not found:
            raise KeyError(document)
        return tuple(_page(row) for row in found)

    # --- passages and vectors ---

    def passages(self, numbers: Sequence[int]) -> dict[int, Passage]:
        """Passages by row number."""
        found = self.rows(
            "SELECT n, id, document, starts, ends, page, heading, words FROM passages"
            " WHERE n IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return {row["n"]: _passage(row) for row in found}

    def add_terms(self, n: int, header: str, body: str) -> None:
        """Puts a passage into the keyword index."""
        self.run(
            "INSERT INTO passage_terms (rowid, header, body) VALUES (?, ?, ?)",
            (n, " ".join(terms(header)), " ".join(terms(body))),
        )

    def drop_terms(self, n: int, header: str, body: str) -> None:
        """Takes a passage out of the keyword index; header and body must be what was put in."""
        self.run(
            "INSERT INTO passage_terms (passage_terms, rowid, header, body)"
            " VALUES ('delete', ?, ?, ?)",
            (n, " ".join(terms(header)), " ".join(terms(body))),
        )

    def vectors_of(self, numbers: Sequence[int]) -> tuple[Vectors, list[int]]:
        """The vectors of passages, with the row number of the passage each belongs to."""
        found = self.rows(
            "SELECT passage, vector FROM vectors"
            " WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage, part",
            (json.dumps(list(numbers)),),
        )
        return _stacked([row["vector"] for row in found]), [row["passage"] for row in found]

    def numbers_of(self, document: DocumentId) -> list[int]:
        """The row numbers of a document's passages, in reading order."""
        found = self.rows("SELECT n FROM passages WHERE document = ? ORDER BY starts", (document,))
        return [row["n"] for row in found]

    def passage_count(self) -> int:
        """All passages."""
        return int(self.one("SELECT count(*) FROM passages") or 0)

    def passage_count_of(self, documents: Sequence[DocumentId]) -> int:
        """Passages of some documents."""
        return int(
            self.one(
                "SELECT count(*) FROM passages WHERE document IN (SELECT value FROM json_each(?))",
                (json.dumps(list(documents)),),
            )
            or 0
        )

    def document_count(self) -> int:
        """Documents that may be cited."""
        return int(self.one("SELECT count(*) FROM documents WHERE quarantined = 0") or 0)

    def numbers_by_id(self, ids: Sequence[str]) -> list[int]:
        """Row numbers for passage ids; unknown ids are left out."""
        found = self.rows(
            "SELECT n FROM passages WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return [row["n"] for row in found]

    def term_counts(self, wanted: Sequence[str]) -> dict[str, int]:
        """In how many passages each term stands."""
        found = self.rows(
            "SELECT term, doc FROM passage_vocabulary"
            " WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(list(wanted)),),
        )
        return {row["term"]: row["doc"] for row in found}

    def put_vectors(self, n: int, vectors: Vectors) -> None:
        """Stores a passage's vectors and marks it embedded; inside `writing`."""
        self.run("DELETE FROM vectors WHERE passage = ?", (n,))
        for part, vector in enumerate(vectors):
            self.run(
                "INSERT INTO vectors VALUES (?, ?, ?)",
                (n, part, vector.astype(np.float16).tobytes()),
            )
        self.run("UPDATE passages SET embedded = 1, indexed = 0 WHERE n = ?", (n,))

    # --- erasing ---

    def scrub(self) -> None:
        """Leaves nothing of deleted rows in the file: merges the keyword index, empties the log."""
        with self._guard:
            with self.writing():
                for table in ("passage_terms", "card_terms"):
                    self._db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _split_statements(script: str) -> Iterator[str]:
    """The statements of a script, each complete."""
    held = ""
    for line in script.splitlines(keepends=True):
        held += line
        if sqlite3.complete_statement(held):
            yield held
            held = ""


def _info(row: Row) -> DocumentInfo:
    return DocumentInfo(
        id=DocumentId(row["id"]),
        title=row["title"],
        name=row["name"],
        kind=row["kind"],
        document_class=DocumentClass(row["document_class"]),
        text_sha256=row["text_sha256"],
        chars=row["chars"],
        pages=row["pages"],
        exhibit=row["exhibit"],
        custodian=row["custodian"],
        parent=DocumentId(row["parent"]) if row["parent"] else None,
        bates_begin=row["bates_begin"],
        bates_end=row["bates_end"],
        privileged=bool(row["privileged"]),
        designation=row["designation"],
        quarantined=bool(row["quarantined"]),
    )


def _page(row: Row) -> PageInfo:
    return PageInfo(
        number=row["number"],
        start=row["starts"],
        end=row["ends"],
        label=row["label"],
        bates=row["bates"],
        reading=Reading(row["reading"]),
        confidence=row["confidence"],
        readers_disagree=bool(row["readers_disagree"]),
        reason=row["reason"],
    )


def _passage(row: Row) -> Passage:
    return Passage(
        id=PassageId(row["id"]),
        span=SourceSpan(
            document=DocumentId(row["document"]),
            start=row["starts"],
            end=row["ends"],
            page=row["page"],
        ),
        text=row["words"],
        heading=row["heading"],
    )


def _stacked(blobs: Sequence[bytes]) -> Vectors:
    if not blobs:
        return np.zeros((0, 0), dtype=np.float32)
    flat = np.frombuffer(b"".join(blobs), dtype=np.float16)
    return flat.reshape(len(blobs), -1).astype(np.float32)


def unpack(blob: bytes) -> Vectors:
    """A stored f16 vector as f32."""
    return np.frombuffer(blob, dtype=np.float16).astype(np.float32)


def dump(items: Iterable[str]) -> str:
    """A list of short strings as one column's value."""
    return json.dumps(list(items), ensure_ascii=False)
